"""What got slower since the last record: ratios within a run are compared, never times of different days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lab.bench.cases import CASES
from lab.bench.record import BenchReport, paired_ratio
from lab.bench.tables import WORDS

ALLOWED = 0.1
"""The share that a ratio may fall by before it is told of."""


@dataclass(frozen=True)
class Fall:
    """A ratio that fell, with its value in the last record and now."""

    name: str
    before: float
    now: float

    @property
    def share(self) -> float:
        """How much of it is gone."""
        return 1 - self.now / self.before

    def __str__(self) -> str:
        return f"{self.name}: {self.before:.2f} -> {self.now:.2f} (-{self.share:.0%})"


def find_falls(now: Mapping[str, float], before: Mapping[str, float], allowed: float = ALLOWED) -> list[Fall]:
    """The ratios of both records that fell by more than is allowed, the worst first.

    Args:
        now: ratios by name; more is better.
        before: those of the last record.
        allowed: the share that they may fall by.
    """
    falls = [Fall(name, before[name], value) for name, value in now.items() if name in before]
    return sorted((fall for fall in falls if fall.share > allowed), key=lambda fall: -fall.share)


def speed_ratios(report: BenchReport) -> dict[str, float]:
    """What a record says of our speed and memory in units of its other contenders; more is better."""
    found: dict[str, float] = {}
    for ours in report.timings:
        if ours.contender != "ours" or not ours.ms:
            continue
        title = f"{ours.dataset}, {WORDS[ours.phase]}, {CASES[ours.case].title}"
        for contender in ("plain", "replicated"):
            other = report.find(ours.dataset, ours.case, ours.phase, contender)
            if other is not None and other.ms:
                found[f"{title}: time of {contender} over ours"] = paired_ratio(other.ms, ours.ms)
            if other is not None and other.peak_bytes and ours.peak_bytes:
                found[f"{title}: memory of {contender} over ours"] = other.peak_bytes / ours.peak_bytes
    return found
