"""Measurements of gradients: one JSON file each, written once, and their table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from policylearn.data import DataError
from policylearn.data.atomic import write_text
from policylearn.policies import Estimator
from policylearn.studies.theory.gradients import GradientConfig, Push, measure
from policylearn.studies.theory.learning import LearningConfig
from policylearn.studies.theory.records import commit, machine, versions
from policylearn.studies.theory.summary import markdown

HEADINGS = (
    "estimator",
    "tau",
    "after",
    "share of the true gradient, by seed",
    "right way",
    "wrong way",
    "scatter of one step",
)
SURE = 2.0
"""Standard errors from which a direction counts."""


@dataclass(frozen=True)
class GradientRecord:
    """One measurement: what was asked for, what was measured, and with what."""

    config: GradientConfig
    pushes: tuple[Push, ...]
    machine: str = field(default_factory=machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str | None = field(default_factory=commit)


def measure_all(
    configs: Sequence[GradientConfig], folder: Path, report: Callable[[float], None] | None = None
) -> list[GradientRecord]:
    """Make the measurements that have no file yet, and return them all.

    Args:
        configs: which.
        folder: of the files.
        report: told of the share that is done.
    """
    found = []
    for number, config in enumerate(configs):
        learning = config.learning
        path = folder / f"gradients-{learning.n}-{learning.components}-{learning.steps}-{learning.seed}.json"
        if path.exists():
            record = load_gradients(path)
            if record.config != config:
                raise DataError(
                    f"{path}: was measured with other settings ({record.config}); choose another folder or remove it"
                )
        else:

            def part(share: float, number: int = number) -> None:
                if report is not None:
                    report((number + share) / len(configs))

            record = GradientRecord(config, tuple(measure(config, part)))
            write_text(path, json.dumps(asdict(record), indent=1) + "\n")
        found.append(record)
    return found


def load_gradients(path: Path) -> GradientRecord:
    """Read a measurement back."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        learning = LearningConfig(**content["config"].pop("learning"))
        content["config"] = GradientConfig(learning, **content["config"])
        content["pushes"] = tuple(Push(**push) for push in content["pushes"])
        return GradientRecord(**content)
    except (OSError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a measurement ({error}); remove it to measure again") from error


def gradient_rows(records: Iterable[GradientRecord]) -> list[tuple[str, ...]]:
    """A row an estimator, temperature and number of steps, in the order of `HEADINGS`."""
    groups: dict[tuple[Estimator, float, int], list[Push]] = {}
    for record in records:
        for push in record.pushes:
            groups.setdefault((push.estimator, push.tau, record.config.learning.steps), []).append(push)
    return [
        (
            estimator,
            "" if estimator == "rloo" else f"{tau:g}",
            f"{steps} steps",
            ", ".join(f"{push.along:.2f} ± {push.error:.2f}" for push in pushes),
            f"{sum(push.along > SURE * push.error for push in pushes)} of {len(pushes)}",
            f"{sum(push.along < -SURE * push.error for push in pushes)} of {len(pushes)}",
            f"{median(push.scatter for push in pushes):.1f}",
        )
        for (estimator, tau, steps), pushes in groups.items()
    ]


def gradient_table(records: Iterable[GradientRecord]) -> str:
    """The same as a markdown table."""
    return markdown(HEADINGS, gradient_rows(records))
