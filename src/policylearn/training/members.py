"""The runs that a folder answers with, whether it holds one or an ensemble."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from policylearn.settings.run_files import ENSEMBLE, RunError
from policylearn.training.runs import Run, load_run


def load_members(folder: str | Path) -> tuple[Run, ...]:
    """The runs that a folder answers with: those of an ensemble, or the one that it holds itself.

    Args:
        folder: what ``policylearn train`` printed.
    """
    folder = Path(folder)
    listed = folder / ENSEMBLE
    if not listed.is_file():
        begun = sorted(path.name for path in folder.glob("member-*"))
        if begun:
            raise RunError(
                f"{folder}: the ensemble has not finished ({len(begun)} members begun); continue with 'policylearn"
                f" train ... -o {folder} --resume', or give one of them, such as {folder / begun[0]}"
            )
        return (load_run(folder),)
    content: dict[str, Any] = json.loads(listed.read_text(encoding="utf-8"))
    runs = tuple(load_run(folder / Path(name).name) for name in content["members"])
    first = runs[0].facts
    for run in runs[1:]:
        same = run.facts.task == first.task and run.facts.transforms == first.transforms
        if not same or run.facts.dataset["fingerprint"] != first.dataset["fingerprint"]:
            raise RunError(
                f"{run.folder}: was trained on other data than {runs[0].folder}, so their mean has no meaning;"
                f" take it out of {listed}, or train it again"
            )
    return runs
