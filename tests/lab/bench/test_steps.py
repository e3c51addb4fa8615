"""Every contender takes its steps on the same batches, turn by turn, in this process or in one of its own."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from lab.bench.run import BenchSettings, run_bench
from lab.bench.steps import CONTENDERS, Steps, StepSpec, batch_rows
from lab.bench.worker import PEAK, NotRunError, Worker
from policylearn.settings import DataConfig
from policylearn.training import load_source
from tests.errors import raises_naming
from tests.training.tiny import write_graphs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_graphs(tmp_path_factory.mktemp("bench") / "tiny.npz", 60))


def spec(data: str, case: str, contender: str = "ours", phase: str = "train") -> StepSpec:
    return StepSpec(data, case, contender, phase, 8, 2, layers=2, channels=8)


class InProcess:
    """A worker without a process."""

    built: list[Steps] = []

    def __init__(self, spec: StepSpec, *, tight: bool = False) -> None:
        self.steps = Steps(spec)
        self.built.append(self.steps)

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def answer(self) -> str:
        return "ready"

    def ask(self, turn: int) -> Any:
        if turn == PEAK and self.steps.is_short:
            return 3 * 2**20
        return self.steps.milliseconds(turn)


def test_every_contender_is_timed(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.bench.run.Worker", InProcess)
    cases = ("learned-t2", "straight-t2", "full", "none")
    settings = BenchSettings((data,), cases, rounds=2, layers=2, channels=8, batch_size=8)
    report = run_bench(settings, "bench")
    assert [(t.case, t.contender) for t in report.timings if t.phase == "train"] == [
        (case, contender) for case in cases for contender in CONTENDERS
    ]
    assert "straight-t2" not in {t.case for t in report.timings if t.phase == "infer"}
    assert all(len(t.ms) == 2 and min(t.ms) > 0 and t.graphs == 8 and t.peak_bytes for t in report.timings)
    for first, *others in zip(*[iter(InProcess.built)] * 3, strict=True):
        for other in others:
            assert torch.equal(first.batches[1].edge_index, other.batches[1].edge_index), "the same batches for all"


@pytest.mark.parametrize("contender", CONTENDERS)
def test_training_moves_weights_and_inference_does_not(contender: str, data: str) -> None:
    for phase in ("infer", "train"):
        steps = Steps(spec(data, "learned-t2", contender, phase))
        before = [weight.clone() for weight in steps.model.parameters()]
        steps.milliseconds(0)
        same = all(map(torch.equal, before, steps.model.parameters()))
        assert same == (phase == "infer")
        assert steps.model.training == (phase == "train")
        assert all(weight.isfinite().all() for weight in steps.model.parameters())


def test_a_process_of_its_own_answers_or_says_why_not(data: str) -> None:
    wide = replace(spec(data, "random-t2"), channels=256)  # so that a step needs more than pages that are there
    with Worker(wide, tight=True) as worker:
        assert worker.answer() == "ready"
        assert 0 < worker.ask(PEAK) < 2**30
        clock, processor = worker.ask(1)
        assert min(clock, processor) > 0
        worker.most_bytes = 0
        with pytest.raises(NotRunError):
            worker.answer()  # none comes without a question, so that there is time to look
    with Worker(replace(spec(data, "random-t2"), dataset="absent.npz")) as worker, pytest.raises(RuntimeError):
        worker.answer()


def test_batches_that_cannot_be_made_are_refused(data: str, tmp_path: Any) -> None:
    with raises_naming(ValueError, "--batch-size"):
        batch_rows(load_source(DataConfig(name=data)), 37, 1)
    nodes = load_source(DataConfig(name=str(write_graphs(tmp_path / "nodes.npz", node_level=True))))
    with raises_naming(ValueError, "'nodes'"):
        batch_rows(nodes, 4, 1)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"cases": ("learned-t3",)}, "'learned-t"),
        ({"rounds": 0}, "got 0"),
        ({"batch_size": 0}, "got 0"),
    ],
)
def test_bad_settings_are_named(changes: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        BenchSettings(**changes)
