"""The shared record of a sweep: an Optuna study whose trials are queued, claimed once, and queued again when lost."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from policylearn.training.grid import Combination
from policylearn.training.parsing import ConfigError

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

# Attributes of a trial: its combination, the process that has begun it, whether it is one too many, the test metric.
LABEL, BEGUN, SURPLUS, TEST = "combination", "begun by", "surplus", "test"
SILENT_BEATS = 6
"""A trial whose process has not shown a sign of life for so many heartbeats is run again."""


@dataclass(frozen=True)
class Standing:
    """How far a sweep is.

    Args:
        total: number of combinations.
        values: the validation metric of each finished one by its label, best first; NaN for those that diverged.
        tests: their test metrics.
        running: labels of those that run now, here or elsewhere.
    """

    total: int
    values: dict[str, float]
    tests: dict[str, float]
    running: tuple[str, ...]

    @property
    def best(self) -> str | None:
        """The label of the best combination so far."""
        return next((name for name, value in self.values.items() if not math.isnan(value)), None)


def open_study(url: str, name: str, *, higher: bool, heartbeat: int) -> Study:
    """Create the sweep in its storage, or join it."""
    optuna = import_optuna()
    from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    for attempt in range(10):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                storage = optuna.storages.RDBStorage(
                    url, options, heartbeat_interval=heartbeat, grace_period=heartbeat * SILENT_BEATS
                )
                study = optuna.create_study(
                    storage=storage,
                    study_name=name,
                    direction="maximize" if higher else "minimize",
                    sampler=optuna.samplers.RandomSampler(seed=0),  # never asked: all trials come from the queue
                    load_if_exists=True,
                )
            break
        except DBAPIError as error:
            # Of several processes that create the tables of a new database at once, all but one fail, and try again.
            raced = isinstance(error, IntegrityError) or "already exists" in str(error)
            if not raced or attempt == 9:
                raise ConfigError(f"the storage {url} cannot be used ({error.orig}); check the URL") from error
            time.sleep(0.2)
        except (ArgumentError, ImportError) as error:
            raise ConfigError(f"{url} is no storage ({error}); write it such as sqlite:///sweep.db") from error
    return study


def claim(study: Study, trial: Trial, combinations: dict[str, Combination]) -> Combination:
    """The combination of a trial that was taken from the queue; a trial too many is given up.

    Two processes may have queued the same combination at the same time: the lower number counts. And where another
    process took the last one first, Optuna makes a trial without any.
    """
    optuna = import_optuna()
    name = trial.user_attrs.get(LABEL)
    if name is None or live_trials(study)[name].number < trial.number:
        trial.set_user_attr(SURPLUS, True)
        raise optuna.TrialPruned("another process has it")
    for key in combinations[name]:
        choices = list(dict.fromkeys(combination[key] for combination in combinations.values()))
        trial.suggest_categorical(key, choices)  # the value is given by the queue; this shows it to Optuna's tools
    return combinations[name]


def live_trials(study: Study) -> dict[str, FrozenTrial]:
    """The trial of each combination that waits, runs or has ended well, by label."""
    from optuna.trial import TrialState

    found: dict[str, FrozenTrial] = {}
    for trial in study.get_trials(deepcopy=False):
        if trial.state != TrialState.FAIL and LABEL in trial.user_attrs and SURPLUS not in trial.user_attrs:
            found.setdefault(trial.user_attrs[LABEL], trial)
    return found


def queue_missing(study: Study, combinations: dict[str, Combination], *, silent: int) -> None:
    """Give up trials whose process is silent, and queue every combination that no live trial stands for."""
    optuna = import_optuna()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        # Killed after it was taken and before its first sign of life, which Optuna does not count as silent.
        if BEGUN not in trial.user_attrs and datetime.now() - trial.datetime_start > timedelta(seconds=silent):
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    live = live_trials(study)
    for name, combination in combinations.items():
        if name not in live:
            study.enqueue_trial(combination, user_attrs={LABEL: name})


def standing_of(study: Study, combinations: dict[str, Combination], *, higher: bool) -> Standing:
    """How far the sweep is, over all processes."""
    from optuna.trial import TrialState

    live = {name: trial for name, trial in live_trials(study).items() if name in combinations}
    ended = {name: trial for name, trial in live.items() if trial.state.is_finished()}
    values = {name: math.nan if trial.value is None else trial.value for name, trial in ended.items()}
    order = sorted(values, key=lambda name: (math.isnan(values[name]), -values[name] if higher else values[name]))
    return Standing(
        total=len(combinations),
        values={name: values[name] for name in order},
        tests={name: trial.user_attrs[TEST] for name, trial in ended.items() if TEST in trial.user_attrs},
        running=tuple(name for name, trial in live.items() if trial.state == TrialState.RUNNING),
    )


def import_optuna() -> Any:
    """Optuna, or how to get it."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise ConfigError("a sweep needs Optuna; install it with: pip install 'policylearn[sweep]'") from error
    return optuna
