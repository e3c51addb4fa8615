"""Records of the paper's tables say all that is needed, and are read back as they were."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.errors import read_errors
from lab.ledger import Ledger, LedgerError, read_record
from lab.reproduce.plan import plan
from lab.reproduce.records import Record, load_records, upgrade
from lab.settings import open_ledger
from tests.lab.reproduce.tiny import tiny_table, tiny_wish


@dataclass(frozen=True)
class Place:
    """A job that is but a place in a ledger."""

    record: str = "data/experiment/seed0-0123abcd"
    settings: dict[str, Any] = field(default_factory=dict)


def add(record: Record, root: Path) -> tuple[Ledger, Path]:
    ledger = open_ledger(root)
    return ledger, ledger.add(Place(), record)


def test_round_trip(tiny_record: Record, tmp_path: Path) -> None:
    ledger, path = add(tiny_record, tmp_path)
    assert path == tmp_path / "data" / "experiment" / "seed0-0123abcd.json"
    assert read_record(path, Record, upgrade) == tiny_record
    assert load_records(ledger) == [tiny_record]


def test_what_is_no_record_is_passed_over(tiny_record: Record, tmp_path: Path) -> None:
    ledger, _ = add(tiny_record, tmp_path)
    (tmp_path / "data" / "experiment" / "notes.json").write_text("{}")
    (tmp_path / "theory").mkdir()
    (tmp_path / "theory" / "other-0.json").write_text("{}")
    assert load_records(ledger) == [tiny_record]


def test_a_record_says_all_that_is_needed_to_repeat_it(tiny_record: Record, tiny_data: Path) -> None:
    record = tiny_record
    assert (record.mode, record.estimator) == ("incremental", "reinforce")
    assert (record.epochs, record.paper_epochs) == (1, 100)
    assert "instead of 300" in (record.schedule or "")
    assert record.changed == {
        "prediction.channels": 4,
        "prediction.layers": 1,
        "fit.batch_size": 12,
    }
    assert list(record.curve) == ["epoch", "loss", "valid"]
    assert len(record.curve["valid"]) == 1
    assert record.valid == pytest.approx(record.curve["valid"][0], rel=1e-6)
    assert len(record.dataset["fingerprint"]) == 64
    assert set(record.machine) == {"processor", "cores", "threads", "system"}
    assert record.versions["torch"]
    assert record.command.startswith(
        "python -m lab reproduce tiny --columns tiny --rows learned-t2 --only 0 --epochs 1"
    )
    assert record.parameters["prediction"] > 0


def test_errors_of_graphs_lie_beside_a_record(tiny_record: Record) -> None:
    for part, figure in (("valid", tiny_record.valid), ("test", tiny_record.test)):
        errors = read_errors(tiny_record.file, part)
        assert errors is not None
        assert (errors.dtype, errors.shape) == (np.float32, (8, 1))
        assert np.abs(errors).mean() == pytest.approx(figure, rel=1e-5)


def test_another_configuration_is_another_file(tiny_data: Path, tmp_path: Path) -> None:
    table, ledger = tiny_table(tiny_data), open_ledger(tmp_path)
    wishes = [tiny_wish(1), tiny_wish(2), tiny_wish(1, settings={"prediction.channels": 8})]
    paths = {ledger.path(plan(table, wish)[0]) for wish in wishes}
    assert len(paths) == 3
    assert len({path.parent for path in paths}) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:200],
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"seconds"', '"hours"'),
    ],
)
def test_a_spoiled_record_is_named(spoil, tiny_record: Record, tmp_path: Path) -> None:
    ledger, path = add(tiny_record, tmp_path)
    path.write_text(spoil(path.read_text()))
    with pytest.raises(LedgerError) as error:
        load_records(ledger)
    assert str(path) in str(error.value)
