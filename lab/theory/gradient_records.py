"""Measurements of gradients: one record each in a ledger, and their table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from lab.ledger import Ledger, read_record, run_jobs
from lab.theory.gradients import GradientConfig, Push, measure
from policylearn.demo.learning import LearningConfig
from policylearn.models import EstimatorName
from policylearn.settings.provenance import commit, describe_machine, versions
from policylearn.wording import markdown_table

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
    machine: dict[str, Any] | str = field(default_factory=describe_machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str | None = field(default_factory=commit)

    @classmethod
    def of(cls, content: dict[str, Any]) -> GradientRecord:
        """From the fields of a file."""
        config = dict(content.pop("config"))
        learning = LearningConfig(**config.pop("learning"))
        pushes = tuple(Push(**push) for push in content.pop("pushes"))
        return cls(config=GradientConfig(learning, **config), pushes=pushes, **content)


def measure_all(
    configs: Sequence[GradientConfig], folder: Path, report: Callable[[float], None] | None = None
) -> list[GradientRecord]:
    """Make the measurements that have no record yet, and return them all.

    Args:
        configs: which.
        folder: of the records.
        report: told of the share that is done.
    """
    ledger = Ledger(folder, GradientConfig(LearningConfig()))

    def perform(config: GradientConfig) -> GradientRecord:
        def part(share: float) -> None:
            if report is not None:
                report((configs.index(config) + share) / len(configs))

        return GradientRecord(config, tuple(measure(config, part)))

    run_jobs(ledger, configs, perform, wait=True)
    return [load_gradients(ledger.path(config)) for config in configs]


def load_gradients(path: Path) -> GradientRecord:
    """Read a measurement back."""
    return read_record(path, GradientRecord.of)


def gradient_rows(records: Iterable[GradientRecord]) -> list[tuple[str, ...]]:
    """A row per estimator, temperature and number of steps, in the order of `HEADINGS`."""
    groups: dict[tuple[EstimatorName, float, int], list[Push]] = {}
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
    return markdown_table(HEADINGS, gradient_rows(records))
