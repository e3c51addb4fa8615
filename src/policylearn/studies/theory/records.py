"""What a training on (n, l)-CSL graphs leaves behind: one JSON file a run, written once."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from policylearn.data import DataError
from policylearn.data.atomic import write_text
from policylearn.studies.theory.learning import METHODS, Evaluation, LearningConfig, Method, first_settled, learn

FORMAT = 1
ROOMS = ("bags", "data", "kernels", "models", "nn", "policies", "studies/theory")
"""Folders of the package that the figures depend on."""
PACKAGES = ("policylearn", "torch", "torch-geometric", "numpy")
StepListener = Callable[[LearningConfig, int, float, Evaluation | None], None]


def versions() -> dict[str, str]:
    """Of Python and the packages that the figures depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def machine() -> str:
    """What the training ran on."""
    model = ""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        names = [line.split(":", 1)[1].strip() for line in facts.read_text().splitlines() if "model name" in line]
        model = names[0] if names else ""
    return f"{platform.system()} {platform.machine()} {model}, {torch.get_num_threads()} thread(s)"


def commit() -> str | None:
    """The commit that is checked out, marked where `ROOMS` differ from it; None outside a checkout."""
    package, git = Path(__file__).parents[2], shutil.which("git")
    if git is None:
        return None

    def ask(*words: str) -> str | None:
        answer = subprocess.run([git, *words], cwd=package, capture_output=True, text=True, check=False)
        return answer.stdout.strip() if answer.returncode == 0 else None

    found = ask("rev-parse", "HEAD")
    return found and found + (" with changes" if ask("status", "--porcelain", "--", *ROOMS) else "")


@dataclass(frozen=True)
class Record:
    """One run: what was asked for, what was measured, and with what.

    Args:
        config: the settings.
        curve: the evaluations, in the order of steps.
        machine: what it ran on.
        versions: of the packages.
        commit: of the source; None outside a checkout.
        format: of the file.
    """

    config: LearningConfig
    curve: tuple[Evaluation, ...]
    machine: str = field(default_factory=machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str | None = field(default_factory=commit)
    format: int = FORMAT

    @property
    def reached(self) -> Evaluation | None:
        """Where the goal was reached to stay, see `first_settled`."""
        return first_settled(self.curve, self.config)


def record_path(folder: Path, config: LearningConfig) -> Path:
    """The file of a run."""
    return folder / f"csl-{config.n}-{config.components}-{config.method}-{config.seed}.json"


def save_record(record: Record, path: Path) -> None:
    """Write a run's file, whole or not at all; one that exists is never replaced."""
    if path.exists():
        raise DataError(f"{path}: exists already and is not overwritten; choose another folder or remove the file")
    content = asdict(record)
    curve = ",\n".join("    " + json.dumps(point) for point in content.pop("curve"))  # an evaluation a line
    text = json.dumps(content, indent=2)[: -len("\n}")] + f',\n  "curve": [\n{curve}\n  ]\n}}\n'
    write_text(path, text)


def load_record(path: Path) -> Record:
    """Read a run's file back."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] > FORMAT:
            raise DataError(f"{path}: has format {content['format']}, and this version reads up to {FORMAT}")
        content["config"] = LearningConfig(**content["config"])
        content["curve"] = tuple(Evaluation(**point) for point in content["curve"])
        return Record(**content)
    except (OSError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: cannot be read as the record of a run ({error}); remove it to run again") from error


def load_records(folder: Path) -> list[Record]:
    """All runs of a folder, by family of graphs, method and seed."""
    records = [load_record(path) for path in sorted(folder.glob("csl-*.json"))]
    if not records:
        raise DataError(f"{folder}: holds no runs; make some with 'policylearn theory learn -o {folder}'")

    def place(record: Record) -> tuple[int, int, int, int]:
        config = record.config
        return config.n, config.components, METHODS.index(config.method), config.seed

    return sorted(records, key=place)


def run_all(configs: Iterable[LearningConfig], folder: Path, report: StepListener | None = None) -> list[Record]:
    """Make every run that has no file yet, each saved as soon as it has ended, and give all records.

    Args:
        configs: the runs.
        folder: where the files are.
        report: told of each step of each run.
    """
    wanted = list(configs)
    for config in wanted:  # what does not fit is said before hours are spent
        path = record_path(folder, config)
        if path.exists():
            check_same(load_record(path).config, config, path)
    source = commit()  # now, since a checkout may move on while the runs are made
    records = []
    for config in wanted:
        path = record_path(folder, config)
        if not path.exists():
            told = None if report is None else tell_of(config, report)
            save_record(Record(config, learn(config, told).curve, commit=source), path)
        records.append(load_record(path))
    return records


def tell_of(config: LearningConfig, report: StepListener) -> Callable[[int, float, Evaluation | None], None]:
    """A report that knows its run."""
    return lambda step, loss, newest: report(config, step, loss, newest)


def check_same(stored: LearningConfig, wanted: LearningConfig, path: Path) -> None:
    """Raise unless a stored run was made with the settings that are wanted now."""
    for name in (part.name for part in fields(LearningConfig)):
        old, new = getattr(stored, name), getattr(wanted, name)
        if old != new:
            raise DataError(
                f"{path}: was run with {name}={old}, and {name}={new} is wanted now;"
                " choose another folder, or the settings of that run"
            )


def runs_of(records: Iterable[Record]) -> dict[tuple[int, int, Method], list[Record]]:
    """Records by family of graphs and method, in the order in which they come."""
    groups: dict[tuple[int, int, Method], list[Record]] = {}
    for record in records:
        config = record.config
        groups.setdefault((config.n, config.components, config.method), []).append(record)
    return groups
