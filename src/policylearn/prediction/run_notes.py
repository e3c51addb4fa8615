"""What the command knows of a training and the run folder should remember: its words and warnings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from policylearn.data.atomic import write_text

NOTES = "notes.json"


@dataclass(frozen=True)
class RunNotes:
    """Remarks on a run.

    Args:
        command: as it was typed; empty where the run was trained from Python.
        warnings: on the data: dropped rows, duplicates, salts, caveats.
    """

    command: str = ""
    warnings: Sequence[str] = field(default_factory=tuple)

    def save(self, folder: Path) -> None:
        """Write them into a run folder."""
        write_text(folder / NOTES, json.dumps(asdict(self), indent=2) + "\n")


def read_notes(folder: Path) -> RunNotes:
    """Read them back; empty ones where the folder has none."""
    path = folder / NOTES
    if not path.is_file():
        return RunNotes()
    content = json.loads(path.read_text(encoding="utf-8"))
    return RunNotes(content["command"], tuple(content["warnings"]))
