"""Every system is measured beside the policies, on graphs small enough for a test."""

from __future__ import annotations

import pytest
import torch

from lab.bench import BenchReport, SystemSettings, run_systems
from lab.bench.record import Timing
from lab.bench.systems import SYSTEM, Entrant, entrant_config, entrant_names, entrant_title, measure_system
from lab.bench.tables import report_markdown, system_rows
from policylearn.models import SYSTEMS
from policylearn.settings import DataConfig, with_setting
from policylearn.training import Source, load_source
from tests.training.tiny import write_graphs

MIB = 2**20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_graphs(tmp_path_factory.mktemp("systems") / "tiny.npz", 60))


@pytest.fixture(scope="module")
def source(data: str) -> Source:
    return load_source(DataConfig(name=data))


def timing(case: str, phase: str, ms: tuple[float, ...] = (), **more: object) -> Timing:
    return Timing("zinc", case, phase, SYSTEM, 128, ms, **({"parameters": 1234, "peak_bytes": 3 * MIB} | more))


def report(*timings: Timing) -> BenchReport:
    settings = {"dataset": "zinc", "rounds": 2, "threads": 1}
    machine = {"processor": "a processor", "cores": 2}
    return BenchReport(
        "python -m lab bench --systems",
        "2026-01-02T03:04:05",
        machine,
        {},
        "0123456",
        "",
        (0.5, 1.25),
        settings,
        timings,
    )


def test_every_system_and_the_policies_take_part() -> None:
    names = entrant_names()
    assert {"random-t2", "random-t5", "learned-t2", "learned-t5", "full", "none"} < set(names)
    assert {*SYSTEMS} - {"policy-learn"} < set(names)
    assert len({entrant_title(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", ["learned-t2", "cin", "osan"])
def test_training_moves_weights_and_inference_does_not(name: str, data: str, source: Source) -> None:
    entrant = Entrant(entrant_config(name, data), source, 8, 1)
    before = [weight.clone() for weight in entrant.model.parameters()]
    entrant.run("infer", entrant.batches[0])
    assert not entrant.model.training
    assert all(map(torch.equal, before, entrant.model.parameters()))
    entrant.run("train", entrant.batches[0])
    assert entrant.model.training
    assert any(not torch.equal(*pair) for pair in zip(before, entrant.model.parameters(), strict=True))
    assert all(weight.isfinite().all() for weight in entrant.model.parameters())


def test_all_see_the_same_graphs(data: str, source: Source) -> None:
    marks, rings = (Entrant(entrant_config(name, data), source, 8, 2) for name in ("random-t2", "cin"))
    for turn in range(2):
        assert torch.equal(marks.batches[turn].edge_index, rings.batches[turn].edge_index)
        assert torch.equal(marks.batches[turn].y, rings.batches[turn].y)
    assert not torch.equal(marks.batches[0].x, marks.batches[1].x)


def test_a_bag_that_does_not_fit_says_so(data: str, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.bench import systems

    narrow = with_setting(entrant_config("sun", data), "max_rows", 10)
    monkeypatch.setattr(systems, "entrant_config", lambda _name, _dataset: narrow)
    words = {
        "system": "sun",
        "dataset": data,
        "batch_size": 8,
        "rounds": 1,
        "seconds": 9.0,
        "phases": ["train", "infer"],
    }
    for memory in (True, False):
        found = systems.system_costs(words | {"memory": memory}, source)
        assert all("'max_rows' is 10" in found[phase]["note"] for phase in ("train", "infer"))
        assert not any("ms" in found[phase] for phase in ("train", "infer"))


def test_what_needs_too_much_memory_is_not_run(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SystemSettings(data, names=("pna",), rounds=2, batch_size=32)
    made = run_systems(settings, "bench --systems", lambda _title, _steps: None, lambda _steps: None)
    train, infer = made.timings
    assert train.peak_bytes > infer.peak_bytes > 0
    assert all(len(t.ms) == 2 and min(t.ms) > 0 and t.parameters == train.parameters > 0 for t in made.timings)
    monkeypatch.setattr("lab.bench.systems.available", lambda: 100 * MIB)  # less than the program
    assert [t.note for t in measure_system("pna", settings)] == 2 * ["not run: needs more than 0.0 GiB of memory"]


def test_the_table_has_medians_and_ratios_of_the_rounds() -> None:
    made = report(
        timing("random-t2", "train", (10.0, 20.0)),
        timing("random-t2", "infer", (2.0, 2.0)),
        timing("sun", "train", (40.0, 60.0), parameters=527225),
        timing("sun", "infer", note="not run: too many rows", peak_bytes=None),
        timing("ngnn", "train", (10.0, 20.0)),
        timing("ngnn", "infer", (1.0, 1.0)),
    )
    rows = {row[0]: row[1:] for row in system_rows(made)}
    assert rows["Random T=2"] == ("1,234", "15 (12.5 to 17.5)", "1.00", "3", "2 (2 to 2)", "1.00", "3")
    sun = rows[entrant_title("sun")]
    assert sun == ("527,225", "50 (45 to 55)", "3.50", "3", "not run: too many rows", "", "")
    assert f"{entrant_title('ngnn')} *" in rows  # no settings of its own for ZINC
    assert "load 0.5 before and 1.2 after on 2 cores" in report_markdown(made)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("sunn",)}, "did you mean 'sun'"),
        ({"rounds": 0}, r"'rounds' must be >= 1 \(got 0\)"),
        ({"batch_size": 0}, r"'batch-size' must be >= 1 \(got 0\)"),
    ],
)
def test_settings_that_make_no_sense_are_named(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SystemSettings(**changes)
