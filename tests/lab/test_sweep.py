"""Sweeps: every combination once, whoever runs it, and nothing lost when a process dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import sweep as sweeping
from lab.grid import read_grid
from lab.sweep import sweep
from policylearn.settings import ConfigError, RunConfig, changed, read_config
from policylearn.training import FittedFolds, Source, load_source, run_config

LONGEST = 300.0  # seconds
GRID = {"selection.node_dropout": [0.0, 0.5], "optim.learning_rate": [0.01, 0.001]}


def configuration(**fit: Any) -> RunConfig:
    return changed(
        RunConfig(),
        {
            "data": {"name": "csl-13"},
            "prediction": {"channels": 8, "layers": 2},
            "selection": {"picks": 1},
            "fit": {"epochs": 1, "batch_size": 60, "threads": 1} | fit,
            "grid": GRID,
        },
    )


@pytest.fixture(scope="module")
def source() -> Source:
    return load_source(configuration().data)


def dropout(config: RunConfig) -> float:
    return config.system["selection"]["node_dropout"]


class Trainer:
    """Stands in for `train`: a metric that is a known function of the settings."""

    def __init__(self) -> None:
        self.calls: list[RunConfig] = []

    def __call__(self, config: RunConfig, source: Source, folder: Path, **_options: Any) -> FittedFolds:
        self.calls.append(config)
        return FittedFolds(folder, {"valid": self.value(config), "test": 0.5}, ())

    def value(self, config: RunConfig) -> float:
        return dropout(config) + config.optim.learning_rate


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    trainer = Trainer()
    monkeypatch.setattr(sweeping, "train", trainer)
    return trainer


@pytest.mark.parametrize("higher", [True, False])
def test_every_combination_is_trained_once_and_the_best_is_written(
    higher: bool, source: Source, trainer: Trainer, tmp_path: Path
) -> None:
    if not higher:
        task = replace(source.dataset.task, metric="mae")
        source = replace(source, dataset=replace(source.dataset, task=task))
    assert source.dataset.task.higher_is_better is higher
    done = sweep(configuration(), source, tmp_path)
    seen = {(dropout(call), call.optim.learning_rate) for call in trainer.calls}
    assert seen == {(0.0, 0.01), (0.0, 0.001), (0.5, 0.01), (0.5, 0.001)}
    assert len(trainer.calls) == 4
    assert all(call.grid == {} for call in trainer.calls)
    best = (0.5, 0.01) if higher else (0.0, 0.001)
    assert done.best is not None
    assert (dropout(done.best), done.best.optim.learning_rate) == best
    assert read_config(tmp_path / "best.yaml") == done.best
    assert list(done.standing.values.values()) == sorted(done.standing.values.values(), reverse=higher)
    assert len(list((tmp_path / "trials").glob("*.json"))) == 4


def test_a_sweep_goes_on_where_it_stopped(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    first = sweep(configuration(), source, tmp_path, trials=3)
    assert (len(trainer.calls), len(first.standing.values)) == (3, 3)
    done = sweep(configuration(threads=2), source, tmp_path)
    assert len(trainer.calls) == 4
    assert len(done.standing.values) == 4
    sweep(configuration(), source, tmp_path)
    assert len(trainer.calls) == 4, "there was nothing left to do"


def test_a_failure_stops_the_sweep_and_is_tried_again(
    source: Source, trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "value", lambda config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sweep(configuration(), source, tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(sweeping, "train", trainer)
    done = sweep(configuration(), source, tmp_path)
    assert len(done.standing.values) == 4


def test_a_diverged_trial_is_never_the_best(
    source: Source, trainer: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trainer.value
    monkeypatch.setattr(trainer, "value", lambda config: float("nan") if whole(config) > 0.505 else whole(config))
    done = sweep(configuration(), source, tmp_path)
    assert done.standing.best == "selection.node_dropout=0.5,optim.learning_rate=0.001"
    assert len(done.standing.values) == 4
    sweep(configuration(), source, tmp_path)
    assert len(trainer.calls) == 4, "it is not tried again"


def test_other_settings_are_other_trials(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    sweep(configuration(), source, tmp_path)
    other = sweep(configuration(epochs=2), source, tmp_path)
    assert (len(trainer.calls), len(other.standing.values)) == (8, 4)
    wider = configuration().replace(grid=GRID | {"optim.learning_rate": [0.01, 0.001, 0.1]})
    assert len(sweep(wider, source, tmp_path).standing.values) == 6
    assert len(trainer.calls) == 10, "only what is new"
    split = source.dataset.splits[0]
    other_split = replace(split, valid=split.test, test=split.valid)
    data = replace(source, dataset=replace(source.dataset, splits=(other_split,)))
    sweep(configuration(), data, tmp_path, trials=1)
    assert len(trainer.calls) == 11, "other data are another sweep"


def test_a_grid_must_fit_the_settings() -> None:
    def grid(**values: list[Any]) -> RunConfig:
        return configuration().replace(grid=values)

    with pytest.raises(ConfigError, match="no grid; add one"):
        read_grid(grid())
    with pytest.raises(ConfigError, match=r"selection\.tua"):
        read_grid(grid(**{"selection.tua": [1.0]}))
    with pytest.raises(ConfigError, match="has no values"):
        read_grid(grid(**{"selection.tau": []}))
    with pytest.raises(ConfigError, match=r"plain values \(got \[1\]\)"):
        read_grid(grid(**{"data.target": [[1]]}))


@pytest.mark.parametrize(("estimator", "combinations"), [("reinforce", 3), ("straight_through", 12)])
def test_settings_of_other_estimators_are_left_out(estimator: str, combinations: int) -> None:
    config = run_config("zinc", {"selection.estimator": estimator})
    assert len(read_grid(config).combinations) == combinations
    assert read_grid(config).without_effect == (("selection.tau",) if estimator == "reinforce" else ())
    both = config.replace(grid={"selection.estimator": ["reinforce", "straight_through"], "selection.tau": [1.0, 2.0]})
    assert list(read_grid(both).combinations) == [
        "selection.estimator=reinforce",
        "selection.estimator=straight_through,selection.tau=1.0",
        "selection.estimator=straight_through,selection.tau=2.0",
    ]


RUN = """
import sys, time
from pathlib import Path
import lightning
from policylearn.training import load_source
from lab.sweep import sweep
from tests.lab.test_sweep import configuration

class Stall(lightning.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch == 1:
            print("stalled", flush=True)
            time.sleep(600)

config = configuration(epochs=4, checkpoint_seconds=0.0)
stalled = [Stall()] if sys.argv[2:] else []
done = sweep(config, load_source(config.data), Path(sys.argv[1]), callbacks_of=lambda title: stalled)
print(done.standing.best)
"""


def test_two_processes_share_a_sweep_and_one_is_killed(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", RUN, str(tmp_path)]
    options: dict[str, Any] = {"cwd": Path(__file__).parents[2], "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "stall"], **options) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "stalled\n"
        (begun,) = (folder.name for folder in (tmp_path / "trials").iterdir())
        with subprocess.Popen(command, **options) as other:
            try:
                wait_for(lambda: len(finished(tmp_path)) == 3)
                assert begun not in finished(tmp_path), "each has been taken once"
                victim.send_signal(signal.SIGKILL)
                output, _ = other.communicate(timeout=LONGEST)
            finally:
                victim.kill()
                other.kill()
    assert other.returncode == 0
    assert begun in finished(tmp_path)
    history = (tmp_path / "trials" / begun / "history.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in history] == ["epoch", "1", "2", "3", "4"], "it went on from its checkpoint"
    done = sweep(configuration(epochs=4, checkpoint_seconds=0.0), source, tmp_path)
    assert trainer.calls == [], "all trials were kept"
    assert output.splitlines()[-1] == done.standing.best


def finished(folder: Path) -> list[str]:
    """The names of the trials that have a record."""
    return sorted(path.stem for path in (folder / "trials").glob("*.json"))


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)
