"""What a run of the benchmark leaves behind: raw times, where they were taken, and what they come to."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

FORMAT = 1


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one contender in one case, a number per round.

    Args:
        dataset: by name.
        case: by name.
        phase: `train` (a step) or `infer`.
        deterministic: under torch's deterministic algorithms.
        contender: `ours`, `replicated`, or `limit` (the matrix multiplications of ours alone); of an ablation a `Form`;
            `system` in a table of the systems, whose case is a system's name.
        estimator: of a learned policy's training step; None elsewhere.
        graphs: of a batch.
        ms: of every round; empty if it was not run.
        peak_bytes: most memory that it needed beyond program, data and model; None if that was not measured.
        note: why it was not run; empty if it was.
        threads: where they differ within a run; None elsewhere.
        parameters: number of weights; None if it was not counted.
    """

    dataset: str
    case: str
    phase: str
    deterministic: bool
    contender: str
    estimator: str | None
    graphs: int
    ms: tuple[float, ...]
    peak_bytes: int | None = None
    note: str = ""
    threads: int | None = None
    parameters: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The spread: a quarter of the rounds is faster than the first, a quarter slower than the second."""
        low, high = np.percentile(self.ms, [25, 75])
        return float(low), float(high)


@dataclass(frozen=True)
class Growth:
    """Milliseconds of inference on single graphs of rising size.

    Args:
        family: of the graphs.
        picks: T.
        nodes: of each graph.
        ms: of every round of each graph.
    """

    family: str
    picks: int
    nodes: tuple[int, ...]
    ms: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> list[float]:
        return [statistics.median(rounds) for rounds in self.ms]

    @property
    def exponent(self) -> float:
        """Of the power of n that the times follow."""
        return fit_exponent(self.nodes, self.medians)


@dataclass(frozen=True)
class OverOnce:
    """Milliseconds of inference with T picks, and of both networks once on the unmarked graph alone.

    Args:
        family: of the graph.
        picks: T.
        nodes: of the graph.
        ms: of every round, with T picks.
        once_ms: of every round, on the unmarked graph.
    """

    family: str
    picks: int
    nodes: int
    ms: tuple[float, ...]
    once_ms: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return paired_ratio(self.ms, self.once_ms)


@dataclass(frozen=True)
class BenchReport:
    """One run of the benchmark.

    Args:
        command: what was typed.
        date: when it began, UTC.
        machine: what it ran on, with the threads it used.
        versions: of the packages.
        commit: of the code.
        kernels: how sums over neighbours were computed.
        load: the machine's load average over a minute, before and after.
        settings: of the run.
        timings: every contender of every case.
        growth: cost against size.
        over_once: T picks against one look at the unmarked graph.
        processor_share: how much of a processor the process had while times were taken; None if that was not asked.
        format: of this file.
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
    growth: tuple[Growth, ...] = ()
    over_once: tuple[OverOnce, ...] = ()
    processor_share: float | None = None
    format: int = FORMAT

    def find(
        self,
        dataset: str,
        case: str,
        phase: str,
        contender: str,
        *,
        estimator: str | None = None,
        deterministic: bool = False,
    ) -> Timing | None:
        """One contender's timing, also where it was not run; None if there is none."""
        wanted = (dataset, case, phase, contender, estimator, deterministic)
        for t in self.timings:
            if (t.dataset, t.case, t.phase, t.contender, t.estimator, t.deterministic) == wanted:
                return t
        return None

    def to_json(self) -> str:
        """The whole record, with medians, quartiles and exponents beside the raw times."""
        content = asdict(self)
        for timing, of in zip(content["timings"], self.timings, strict=True):
            if of.ms:
                timing |= {"median": of.median, "quartiles": of.quartiles}
        for growth, of_growth in zip(content["growth"], self.growth, strict=True):
            growth["exponent"] = of_growth.exponent
        for over, of_over in zip(content["over_once"], self.over_once, strict=True):
            over["ratio"] = of_over.ratio
        return json.dumps(content, indent=1) + "\n"

    @staticmethod
    def from_json(text: str) -> BenchReport:
        """Read back what `to_json` wrote."""
        content = json.loads(text)
        if content.get("format") != FORMAT:
            raise ValueError(
                f"the record is of format {content.get('format')}, and this version reads {FORMAT}; run the benchmark"
                " again"
            )
        parts: dict[str, Any] = {"timings": Timing, "growth": Growth, "over_once": OverOnce}
        for name, kind in parts.items():
            known = [field.name for field in fields(kind)]
            content[name] = [
                kind(**{key: as_tuples(part[key]) for key in known if key in part}) for part in content[name]
            ]
        return BenchReport(**as_tuples(content))


def as_tuples(value: Any) -> Any:
    """JSON's lists as tuples, all the way down."""
    if isinstance(value, dict):
        return {name: as_tuples(part) for name, part in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """How many times as long the first took: the median over the rounds that both were in."""
    return statistics.median(a / b for a, b in zip(first, second, strict=False))


def fit_exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The slope of a least-squares line through log time against log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
