"""Several trainings that differ by their seed alone, in one folder; they predict as their mean."""

from __future__ import annotations

import json
from pathlib import Path

from policylearn.data.atomic import write_text
from policylearn.settings.run_config import RunConfig
from policylearn.settings.run_files import ENSEMBLE, FACTS, RunError
from policylearn.training.data_source import Source
from policylearn.training.fitting import Fitted, fit
from policylearn.training.folds import CallbacksOf
from policylearn.training.processes import is_first_process
from policylearn.training.run_folder import new_folder


def train_ensemble(
    config: RunConfig,
    source: Source,
    folder: str | Path,
    members: int,
    *,
    resume: bool = False,
    callbacks_of: CallbacksOf = lambda _title: (),
) -> tuple[Fitted, ...]:
    """Train members with the seeds ``seed``, ``seed + 1``, ..., each a run folder below ``folder``.

    Args:
        config: of the first member.
        source: the data of all.
        folder: the ensemble's; it must be new, unless ``resume``.
        members: how many, at least two.
        resume: keep the members that are there, whole or begun, and train the rest; more members than before are added.
        callbacks_of: makes the callbacks of each training, given its title.
    """
    folder, splits, fold = Path(folder), source.dataset.splits, config.data.fold
    if members < 2:
        raise ValueError(f"'ensemble' must be >= 2 (got {members}); leave it out to train one model")
    if len(splits) > 1 and fold is None:
        raise ValueError(
            f"an ensemble learns from one split, and {source.dataset.name} is split into {len(splits)} folds;"
            " choose one with --fold, or another split with --data.split"
        )
    if (folder / FACTS).exists():
        raise RunError(f"{folder}: holds one run and no ensemble; choose another folder with -o")
    runs = []
    with new_folder(folder, resume=resume):
        for number in range(members):
            one = config.replace(fit=config.fit.replace(seed=config.fit.seed + number))
            inner, callbacks = folder / f"member-{number + 1}", callbacks_of(f"member {number + 1} of {members}")
            runs.append(fit(one, source, inner, fold=fold or 0, resume=inner.exists(), callbacks=callbacks))
    if is_first_process():
        names = [run.folder.name for run in runs]
        write_text(folder / ENSEMBLE, json.dumps({"members": names}, indent=2) + "\n")
    return tuple(runs)
