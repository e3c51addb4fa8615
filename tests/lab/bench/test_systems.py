"""Every system takes its turn beside the policies, on graphs small enough for a test."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from lab.bench import BenchReport, SystemSettings, Timing, systems_markdown
from lab.bench.paper import method_ratios
from lab.bench.system_tables import paper_rows, system_rows
from lab.bench.systems import (
    SYSTEM,
    Entrant,
    EntrantPhase,
    entrant_config,
    entrant_names,
    entrant_title,
    measure_system_peaks,
    measure_systems,
)
from policylearn.models import SYSTEMS
from policylearn.settings import DataConfig, RunConfig, with_setting
from policylearn.training import Source, load_source
from tests.training.tiny import write_graphs

MIB = 2**20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_graphs(tmp_path_factory.mktemp("systems") / "tiny.npz", 60))


@pytest.fixture(scope="module")
def source(data: str) -> Source:
    return load_source(DataConfig(name=data))


def timing(case: str, phase: str, ms: tuple[float, ...], **more: object) -> Timing:
    made = Timing("zinc", case, phase, False, SYSTEM, None, 128, ms, parameters=1234, peak_bytes=3 * MIB)
    return replace(made, **more)


def report(*timings: Timing) -> BenchReport:
    settings = {"dataset": "zinc", "rounds": 2, "threads": 1}
    machine = {"processor": "a processor", "cores": 2}
    return BenchReport(
        "python -m lab bench --systems", "2026-01-02T03:04:05", machine, {}, "0123456" + 33 * "f" + " with changes", "",
        (0.5, 1.25), settings, timings, processor_share=0.987,
    )  # fmt: skip


def test_every_system_and_the_policies_of_the_issue_take_part() -> None:
    names = entrant_names()
    assert {"random-t2", "random-t5", "learned-t2", "learned-t5", "full", "none"} < set(names)
    assert set(SYSTEMS) < set(names)
    assert len({entrant_title(name) for name in names}) == len(names)


@pytest.mark.parametrize("name", entrant_names())
def test_each_takes_a_step_that_moves_its_weights_and_predicts_without(name: str, data: str, source: Source) -> None:
    entrant = Entrant(name, source, SystemSettings(data, batch_size=8), 1)
    entrant.begin()
    before = [weight.detach().clone() for weight in entrant.model.parameters()]
    assert entrant.parameters == sum(weight.numel() for weight in before)
    entrant.run("infer", 0)
    assert not entrant.model.training
    assert all(map(torch.equal, before, entrant.model.parameters()))
    entrant.run("train", 0)
    assert entrant.model.training
    moved = [not torch.equal(*pair) for pair in zip(before, entrant.model.parameters(), strict=True)]
    assert any(moved)
    assert all(weight.isfinite().all() for weight in entrant.model.parameters())


def test_all_see_the_same_graphs(data: str, source: Source) -> None:
    settings = SystemSettings(data, batch_size=8)
    marks, rings = (Entrant(name, source, settings, 2) for name in ("random-t2", "cin"))
    for turn in range(2):
        assert torch.equal(marks.batches[turn].edge_index, rings.batches[turn].edge_index)
        assert torch.equal(marks.batches[turn].y, rings.batches[turn].y)
    assert not torch.equal(marks.batches[0].x, marks.batches[1].x)


def test_a_bag_that_does_not_fit_says_so_and_the_others_go_on(
    data: str, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(name: str, dataset: str) -> RunConfig:
        config = entrant_config(name, dataset)
        return with_setting(config, "system.max_rows", 10) if name == "sun" else config

    monkeypatch.setattr("lab.bench.systems.entrant_config", narrow)
    settings = SystemSettings(data, names=("random-t2", "sun"), rounds=2, batch_size=8)
    timings, share = measure_systems(source, settings, quiet)
    found = {(t.case, t.phase): t for t in timings}
    assert [len(found["random-t2", phase].ms) for phase in ("train", "infer")] == [2, 2]
    assert all("'max_rows' is 10" in found["sun", phase].note for phase in ("train", "infer"))
    assert not any(found["sun", phase].ms for phase in ("train", "infer"))
    assert 0 < share <= 1.5


def quiet(_title: str, _steps: int) -> None:
    """Nobody is told."""


def test_memory_is_measured_alone_and_what_does_not_fit_is_not_run(
    data: str, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SystemSettings(data, names=("pna",), rounds=1, batch_size=32)
    found = measure_system_peaks(settings, quiet)
    train, infer = (found.peaks[EntrantPhase("pna", phase)] for phase in ("train", "infer"))
    assert train > infer > 0
    monkeypatch.setattr("lab.bench.systems.available", lambda: 100 * MIB)  # less than the program
    refused = measure_system_peaks(settings, quiet)
    assert refused.peaks == {}
    timings, _ = measure_systems(source, settings, quiet, refused)
    assert [t.note for t in timings] == 2 * ["not run: needs more than 0.0 GiB of memory"]
    assert not any(t.ms for t in timings)


def test_the_table_has_medians_and_ratios_of_the_rounds() -> None:
    made = report(
        timing("random-t2", "train", (10.0, 20.0)),
        timing("random-t2", "infer", (2.0, 2.0)),
        timing("sun", "train", (40.0, 60.0), parameters=527225),
        timing("sun", "infer", (), note="not run: too many rows", peak_bytes=None),
        timing("ngnn", "train", (10.0, 20.0)),
        timing("ngnn", "infer", (1.0, 1.0)),
    )
    rows = {row[0]: row[1:] for row in system_rows(made)}
    assert rows["Random T=2"] == ("1,234", "15 (12.5 to 17.5)", "1.00", "3", "2 (2 to 2)", "1.00", "3")
    sun = rows[entrant_title("sun")]
    assert sun == ("527,225", "50 (45 to 55)", "3.50", "3", "not run: too many rows", "", "")
    assert f"{entrant_title('ngnn')} *" in rows  # no settings of its own for ZINC
    text = systems_markdown(made)
    assert "commit 0123456 with changes" in text
    assert "Load 0.5 before and 1.2 after on 2 cores; the process had 0.99 of a processor" in text
    assert BenchReport.from_json(made.to_json()) == made


def test_the_papers_own_times_stand_beside_ours() -> None:
    names = {"none": 10.0, "random-t2": 20.0, "learned-t2": 30.0, "osan": 80.0, "full": 100.0, "cin": 40.0}
    made = report(*(timing(name, phase, (ms,)) for name, ms in names.items() for phase in ("train", "infer")))
    rows = {(table, phase, pair): (paper, ours) for table, phase, pair, paper, ours in paper_rows(made)}
    osan = f"{entrant_title('osan')} / Random T=2"
    assert rows["zinc-timing", "training", osan] == (f"{2964.46 / 2114.00:.2f}", "4.00")
    assert rows["zinc-timing-cin", "inference", f"{entrant_title('cin')} / GIN (no marks)"] == ("3.71", "4.00")
    assert all(ratio.replicated is None for ratio in method_ratios(made))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("sunn",)}, "there is no case 'sunn'; did you mean 'sun'"),
        ({"rounds": 0}, "'rounds' must be >= 1 (got 0)"),
        ({"batch_size": 0}, "'batch-size' must be >= 1 (got 0)"),
    ],
)
def test_settings_that_make_no_sense_are_named(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        SystemSettings(**changes)


def test_the_record_is_json(data: str, source: Source) -> None:
    timings, _ = measure_systems(source, SystemSettings(data, names=("none",), rounds=1, batch_size=8), quiet)
    assert json.loads(report(*timings).to_json())["timings"][0]["parameters"] == timings[0].parameters
