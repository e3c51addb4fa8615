"""What a run of the benchmark leaves behind: raw times, where they were taken, and what they come to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np


class Timing(msgspec.Struct, frozen=True):
    """Milliseconds of one contender in one case, a number per round.

    Args:
        case: a name of `steps.CASES`.
        contender: of `steps.CONTENDERS`.
        ms: of every round; empty if it was not run.
        peak_bytes: most memory that it needed beyond program, data and model; None if that was not measured.
        note: why it was not run; empty if it was.
    """

    dataset: str
    case: str
    phase: str
    contender: str
    graphs: int
    ms: tuple[float, ...] = ()
    peak_bytes: int | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The spread: a quarter of the rounds is faster than the first, a quarter slower than the second."""
        low, high = np.percentile(self.ms, [25, 75])
        return float(low), float(high)


class BenchReport(msgspec.Struct, frozen=True):
    """One run of the benchmark.

    Args:
        kernels: how sums over neighbours were computed.
        load: the machine's load average over a minute, before and after.
    """

    command: str
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    commit: str
    kernels: str
    load: tuple[float, ...]
    settings: dict[str, Any]
    timings: tuple[Timing, ...]
    format: Literal[2] = 2

    def find(self, dataset: str, case: str, phase: str, contender: str) -> Timing | None:
        """One contender's timing, also where it was not run; None if there is none."""
        wanted = (dataset, case, phase, contender)
        return next((t for t in self.timings if (t.dataset, t.case, t.phase, t.contender) == wanted), None)

    def to_json(self) -> str:
        """The whole record."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode() + "\n"

    @staticmethod
    def from_json(text: str) -> BenchReport:
        """Read back what `to_json` wrote."""
        return msgspec.json.decode(text, type=BenchReport)


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """How many times as long the first took: the median over the rounds that both were in."""
    return statistics.median(a / b for a, b in zip(first, second, strict=False))
