"""Sweeps: every combination once, whoever runs it, and nothing lost when a process dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policylearn.training import ConfigError, RunConfig, Source, Trained, changed, load_source, read_config
from policylearn.training import sweep as sweeping
from policylearn.training.grid import read_grid
from policylearn.training.parsing import with_setting
from policylearn.training.presets import preset
from policylearn.training.sweep import sweep
from policylearn.training.sweep_trials import BEGUN, LABEL, SURPLUS, claim, live_trials, open_study, queue_missing

optuna = pytest.importorskip("optuna", reason="the extra 'sweep' is not installed")

LONGEST = 300.0  # seconds
GRID = {"selection.node_dropout": [0.0, 0.5], "optim.learning_rate": [0.01, 0.001]}


def configuration(**fit: Any) -> RunConfig:
    return changed(
        RunConfig(),
        {
            "data": {"name": "csl-13"},
            "prediction": {"channels": 8, "layers": 2},
            "selection": {"picks": 1, "samples": 2},
            "fit": {"epochs": 1, "batch_size": 60, "threads": 1} | fit,
            "grid": GRID,
        },
    )


@pytest.fixture(scope="module")
def source() -> Source:
    return load_source(configuration().data)


class Trainer:
    """Stands in for `train`: a metric that is a known function of the settings."""

    def __init__(self) -> None:
        self.calls: list[RunConfig] = []

    def __call__(self, config: RunConfig, source: Source, folder: Path, **_options: Any) -> Trained:
        self.calls.append(config)
        return Trained(folder, {"valid": self.value(config), "test": 0.5})

    def value(self, config: RunConfig) -> float:
        return config.selection.node_dropout + config.optim.learning_rate


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    trainer = Trainer()
    monkeypatch.setattr(sweeping, "train", trainer)
    return trainer


def joined(folder: Path) -> Any:
    return optuna.load_study(study_name="sweep", storage=f"sqlite:///{folder / 'sweep.db'}")


def states(folder: Path) -> Counter[str]:
    return Counter(trial.state.name for trial in joined(folder).trials)


@pytest.mark.parametrize("higher", [True, False])
def test_every_combination_is_trained_once_and_the_best_is_written(
    higher: bool, source: Source, trainer: Trainer, tmp_path: Path
) -> None:
    if not higher:
        task = replace(source.dataset.task, metric="mae")
        source = replace(source, dataset=replace(source.dataset, task=task))
    assert source.dataset.task.higher_is_better is higher
    done = sweep(configuration(), source, tmp_path)
    seen = {(call.selection.node_dropout, call.optim.learning_rate) for call in trainer.calls}
    assert seen == {(0.0, 0.01), (0.0, 0.001), (0.5, 0.01), (0.5, 0.001)}
    assert len(trainer.calls) == 4
    assert all(call.grid == {} for call in trainer.calls)
    best = (0.5, 0.01) if higher else (0.0, 0.001)
    assert done.best is not None
    assert (done.best.selection.node_dropout, done.best.optim.learning_rate) == best
    assert read_config(tmp_path / "best.yaml") == done.best
    assert list(done.standing.values.values()) == sorted(done.standing.values.values(), reverse=higher)
    assert states(tmp_path) == {"COMPLETE": 4}


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
    assert states(tmp_path) == {"COMPLETE": 4, "FAIL": 1}


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


def test_what_two_processes_queued_at_once_is_run_once(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    combinations = read_grid(configuration()).combinations()
    study = open_study(f"sqlite:///{tmp_path / 'sweep.db'}", "sweep", higher=True, heartbeat=1)
    for _ in range(2):
        for name, combination in combinations.items():
            study.enqueue_trial(combination, user_attrs={LABEL: name})
    assert len(sweep(configuration(), source, tmp_path).standing.values) == 4
    assert len(trainer.calls) == 4
    late = joined(tmp_path).ask()  # by a process that finds the queue empty
    with pytest.raises(optuna.TrialPruned):
        claim(study, late, combinations)
    assert SURPLUS in late.user_attrs
    assert set(live_trials(study)) == set(combinations)


@pytest.mark.filterwarnings("ignore")  # the filters that Optuna needs are not safe in threads
def test_many_may_begin_a_sweep_at_once(tmp_path: Path) -> None:
    combinations = read_grid(configuration()).combinations()
    url = f"sqlite:///{tmp_path / 'sweep.db'}"

    def begin(_number: int) -> None:
        queue_missing(open_study(url, "sweep", higher=True, heartbeat=1), combinations, silent=60)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(begin, range(4)))
    assert set(live_trials(joined(tmp_path))) == set(combinations)


def test_a_trial_taken_by_a_process_that_died_at_once_is_queued_again(tmp_path: Path) -> None:
    combinations = read_grid(configuration()).combinations()
    study = open_study(f"sqlite:///{tmp_path / 'sweep.db'}", "sweep", higher=True, heartbeat=1)
    queue_missing(study, combinations, silent=60)
    taken = joined(tmp_path).ask()
    queue_missing(study, combinations, silent=60)
    assert len(study.trials) == 4, "it may be alive"
    queue_missing(study, combinations, silent=0)
    assert len(study.trials) == 5
    assert study.trials[taken.number].state.name == "FAIL"
    assert study.trials[4].user_attrs[LABEL] == taken.user_attrs[LABEL]


def test_other_settings_are_refused(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    sweep(configuration(), source, tmp_path / "a", trials=1)
    with pytest.raises(ConfigError, match=r"a was begun with other settings \(fit.epochs is 1 there and 2 here\)"):
        sweep(configuration(epochs=2), source, tmp_path / "a")
    storage = f"sqlite:///{tmp_path / 'a' / 'sweep.db'}"
    with pytest.raises(ConfigError, match=r"the sweep 'sweep' in .* \(fit.seed is 0 there and 1 here\)"):
        sweep(configuration(seed=1), source, tmp_path / "b", storage=storage)
    wider = replace(configuration(), grid=GRID | {"selection.samples": [2, 4]})
    with pytest.raises(ConfigError, match=r"grid.selection.samples is None there and \[2, 4\] here"):
        sweep(wider, source, tmp_path / "a")
    assert len(sweep(wider, source, tmp_path / "a", name="wider").standing.values) == 8


def test_a_grid_must_fit_the_settings() -> None:
    def grid(**values: list[Any]) -> RunConfig:
        return replace(configuration(), grid=values)

    with pytest.raises(ConfigError, match="no grid; add one"):
        read_grid(grid())
    with pytest.raises(ConfigError, match=r"no setting 'selection.tua'; did you mean 'selection.tau'\?"):
        read_grid(grid(**{"selection.tua": [1.0]}))
    with pytest.raises(ConfigError, match="has no values"):
        read_grid(grid(**{"selection.tau": []}))
    with pytest.raises(ConfigError, match=r"plain values \(got \[1\]\)"):
        read_grid(grid(**{"data.target": [[1]]}))


def test_a_storage_that_is_none_is_named(source: Source, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere is no storage"):
        sweep(configuration(), source, tmp_path, storage="nowhere")
    with pytest.raises(ConfigError, match="cannot be used"):
        sweep(configuration(), source, tmp_path, storage=f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}")


@pytest.mark.parametrize(("estimator", "combinations"), [("rloo", 3), ("straight_through", 12), ("gapped", 12)])
def test_the_temperature_counts_unless_the_gradient_is_a_score_function(estimator: str, combinations: int) -> None:
    config = with_setting(preset("zinc", "learned", 2), "selection.estimator", estimator)
    assert len(read_grid(config).combinations()) == combinations
    assert read_grid(config).without_effect == (("selection.tau",) if estimator == "rloo" else ())


def test_without_optuna_it_says_how_to_get_it(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"install it with: pip install 'policylearn\[sweep\]'"):
        sweep(configuration(), source, tmp_path)


RUN = """
import sys, time
from pathlib import Path
import lightning
from policylearn.training import load_source
from policylearn.training.sweep import sweep
from tests.training.test_sweep import configuration

class Stall(lightning.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.current_epoch == 1:
            time.sleep(600)

config = configuration(epochs=4, checkpoint_seconds=0.0)
stalled = [Stall()] if sys.argv[2:] else []
done = sweep(config, load_source(config.data), Path(sys.argv[1]), heartbeat=2, callbacks_of=lambda title: stalled)
print(done.standing.best)
"""


def test_two_processes_share_a_sweep_and_one_is_killed(source: Source, trainer: Trainer, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", RUN, str(tmp_path)]
    options: dict[str, Any] = {"cwd": Path(__file__).parents[2], "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "stall"], **options) as victim:
        wait_for(lambda: len(belongs(tmp_path, victim, "RUNNING")) == 1)
        with subprocess.Popen(command, **options) as other:
            try:
                wait_for(lambda: len(belongs(tmp_path, other, "COMPLETE")) == 3)
                assert states(tmp_path) == {"RUNNING": 1, "COMPLETE": 3}, "each has been taken once"
                victim.send_signal(signal.SIGKILL)
                output, _ = other.communicate(timeout=LONGEST)
            finally:
                victim.kill()
                other.kill()
    assert other.returncode == 0
    assert states(tmp_path) == {"FAIL": 1, "COMPLETE": 4}
    assert belongs(tmp_path, other, "COMPLETE") == sorted(read_grid(configuration()).combinations())
    (lost,) = belongs(tmp_path, victim, "FAIL")
    history = (tmp_path / "trials" / lost / "history.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in history] == ["epoch", "0", "1", "2", "3"], "it went on from its checkpoint"
    done = sweep(configuration(epochs=4, checkpoint_seconds=0.0), source, tmp_path)
    assert trainer.calls == [], "all trials were kept"
    assert output.strip() == done.standing.best


def belongs(folder: Path, process: subprocess.Popen[str], state: str) -> list[str]:
    """The combinations that a process has brought into a state."""
    trials = joined(folder).trials if (folder / "trials").exists() else []
    mine = [trial for trial in trials if trial.user_attrs.get(BEGUN, "").endswith(f" {process.pid}")]
    return sorted(trial.user_attrs[LABEL] for trial in mine if trial.state.name == state)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)
