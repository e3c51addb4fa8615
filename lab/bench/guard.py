"""What got slower since the last record: ratios within a run are compared, never times of different days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lab.bench.cases import CASES
from lab.bench.record import BenchReport, Timing, paired_ratio

ALLOWED = 0.1
"""The share that a ratio may fall by before it is told of."""


@dataclass(frozen=True)
class Fall:
    """A ratio that fell.

    Args:
        name: of what.
        before: in the last record.
        now: in this one.
    """

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
    for timing in report.timings:
        if timing.contender != "ours" or not timing.ms:
            continue
        title = _title(timing)
        peer = _beside(report, timing, "replicated", None)
        if peer is not None and peer.ms:
            found[f"{title}: speed over replicated"] = paired_ratio(peer.ms, timing.ms)
        if peer is not None and peer.peak_bytes and timing.peak_bytes:
            found[f"{title}: memory of replicated over ours"] = peer.peak_bytes / timing.peak_bytes
        limit = _beside(report, timing, "limit", timing.estimator)
        if limit is not None and limit.ms:
            found[f"{title}: products alone over ours"] = paired_ratio(limit.ms, timing.ms)
    return found


def _beside(report: BenchReport, timing: Timing, contender: str, estimator: str | None) -> Timing | None:
    return report.find(
        timing.dataset, timing.case, timing.phase, contender, estimator=estimator, deterministic=timing.deterministic
    )


def _title(timing: Timing) -> str:
    words = [timing.dataset, "training" if timing.phase == "train" else "inference", CASES[timing.case].title]
    words += [timing.estimator] if timing.estimator else []
    return ", ".join([*words, "deterministic"] if timing.deterministic else words)
