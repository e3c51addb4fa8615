"""Records are written once, whole, and read back as they were."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from policylearn.studies.experiments import Ledger, LedgerError, Record, plan
from policylearn.studies.experiments.ledger import read_record
from tests.studies.experiments.tiny import tiny_table, tiny_wish


def test_round_trip(tiny_record: Record, tmp_path: Path) -> None:
    path = Ledger(tmp_path).add(tiny_record, tmp_path / "data" / "experiment" / "seed0-0123abcd.json")
    assert read_record(path) == tiny_record
    assert Ledger(tmp_path).records() == [tiny_record]


def test_what_is_no_record_is_passed_over(tiny_record: Record, tmp_path: Path) -> None:
    Ledger(tmp_path).add(tiny_record, tmp_path / "data" / "experiment" / "seed0-0123abcd.json")
    (tmp_path / "data" / "experiment" / "notes.json").write_text("{}")
    (tmp_path / "theory").mkdir()
    (tmp_path / "theory" / "other-0.json").write_text("{}")
    assert Ledger(tmp_path).records() == [tiny_record]


def test_a_record_says_all_that_is_needed_to_repeat_it(tiny_record: Record, tiny_data: Path) -> None:
    record = tiny_record
    assert (record.mode, record.estimator) == ("incremental", "rloo")
    assert (record.epochs, record.paper_epochs) == (1, 100)
    assert "instead of 300" in (record.schedule or "")
    assert record.changed == {
        "prediction.channels": 4,
        "prediction.layers": 1,
        "selection.samples": 2,
        "fit.batch_size": 12,
    }
    assert list(record.curve) == ["epoch", "loss", "valid"]
    assert len(record.curve["valid"]) == 1
    assert record.valid == pytest.approx(record.curve["valid"][0], rel=1e-6)
    assert len(record.dataset["fingerprint"]) == 64
    assert set(record.machine) == {"processor", "cores", "threads", "system"}
    assert record.versions["torch"]
    assert record.command.startswith("policylearn reproduce tiny --columns tiny --rows learned-t2 --only 0 --epochs 1")
    assert record.parameters["prediction"] > 0


def test_nothing_is_overwritten(tiny_record: Record, tmp_path: Path) -> None:
    path = tmp_path / "data" / "experiment" / "seed0-0123abcd.json"
    Ledger(tmp_path).add(tiny_record, path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is there already, and records are not overwritten"):
        Ledger(tmp_path).add(replace(tiny_record, test=-1.0), path)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name], "no part is left behind"


def test_another_configuration_is_another_file(tiny_data: Path, tmp_path: Path) -> None:
    table, ledger = tiny_table(tiny_data), Ledger(tmp_path)
    wishes = [tiny_wish(1), tiny_wish(2), tiny_wish(1, settings={"prediction.channels": 8})]
    paths = {ledger.path(plan(table, wish)[0]) for wish in wishes}
    assert len(paths) == 3
    assert len({path.parent for path in paths}) == 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: text[:200], "is no valid JSON"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "is not a record of format 1"),
        (lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "seconds"}), "of seconds"),
    ],
)
def test_a_spoiled_record_is_named(spoil, message: str, tiny_record: Record, tmp_path: Path) -> None:
    path = Ledger(tmp_path).add(tiny_record, tmp_path / "data" / "experiment" / "seed0-0123abcd.json")
    path.write_text(spoil(path.read_text()))
    with pytest.raises(LedgerError, match=message) as error:
        Ledger(tmp_path).records()
    assert str(path) in str(error.value)
