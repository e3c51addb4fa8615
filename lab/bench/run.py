"""A whole run of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Annotated

from cyclopts import Parameter

from lab.bench.record import BenchReport, Timing
from lab.bench.steps import CASES, CONTENDERS, PHASES, StepSpec
from lab.bench.worker import PEAK, NotRunError, Worker
from lab.provenance import commit, describe_machine, versions
from lab.settings import look_up
from policylearn.cli.options import Words
from policylearn.fast import wanted_kernels
from policylearn.settings import DataConfig
from policylearn.training import load_source

QUICK_CASES = ("none", "random-t2", "learned-t2", "straight-t2", "full")


@Parameter(name="*")
@dataclass(frozen=True)
class BenchSettings:
    """One run of the benchmark."""

    datasets: Words = ("zinc",)
    """Of graphs."""
    cases: Words = ()
    """Such as learned-t2 or full; all by default."""
    rounds: int = 5
    """How often each is timed."""
    threads: int = 1
    """Of torch and of our own kernels; with one, a busy machine disturbs least."""
    layers: int = 6
    """Of both networks."""
    channels: int = 64
    """Of both networks."""
    batch_size: int = 128
    """Graphs of a batch."""
    memory: bool = True
    """Measure peak memory too."""
    seconds: Annotated[float, Parameter(parse=False)] = 120.0
    """How long the rounds of one contender may take together; slower ones get fewer rounds."""

    def __post_init__(self) -> None:
        for name in self.cases:
            look_up("case", name, CASES)
        for field, bound in {"rounds": 1, "threads": 1, "layers": 1, "channels": 2, "batch_size": 1}.items():
            if getattr(self, field) < bound:
                raise ValueError(f"'{field.replace('_', '-')}' must be >= {bound} (got {getattr(self, field)})")


def plan(settings: BenchSettings) -> Iterator[list[StepSpec]]:
    """The contenders that take turns, case by case."""
    of_networks = settings.batch_size, settings.rounds, settings.threads, settings.layers, settings.channels
    for dataset, phase, case in product(settings.datasets, PHASES, settings.cases or CASES):
        if phase == "train" or "estimator" not in CASES[case]:  # which inference does not know
            yield [StepSpec(dataset, case, contender, phase, *of_networks) for contender in CONTENDERS]


def run_bench(
    settings: BenchSettings,
    command: str,
    report: Callable[[str, float], None] = lambda _title, _share: None,
) -> BenchReport:
    """Measure everything that the settings name, each contender in a `Worker`.

    ``report`` is told what is measured, and the share that is done.
    """
    date, load, code = datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0], commit()
    for name in settings.datasets:
        load_source(DataConfig(name=name))  # says what is missing before anything is measured
    groups = list(plan(settings))
    timings: list[Timing] = []
    for done, group in enumerate(groups):
        report(f"{group[0].dataset}, {group[0].phase}: {group[0].case}", done / len(groups))
        timings += measure_group(group, settings)
    return BenchReport(
        command=command,
        date=date,
        machine=describe_machine() | {"threads": settings.threads},
        versions=versions("numba"),
        commit=code,
        kernels=wanted_kernels(),
        load=(load, os.getloadavg()[0]),
        settings=asdict(settings),
        timings=tuple(timings),
    )


def measure_group(group: Sequence[StepSpec], settings: BenchSettings) -> list[Timing]:
    """Peak memory of each contender, then their times, turn by turn; or why one was not run."""
    peaks: dict[str, int] = {}
    notes: dict[str, str] = {}
    ms: dict[str, list[float]] = {spec.contender: [] for spec in group}
    for spec in group if settings.memory else ():
        try:
            with Worker(spec, tight=True) as worker:
                worker.answer()
                peaks[spec.contender] = worker.ask(PEAK)
        except NotRunError as error:
            notes[spec.contender] = f"not run: {error}"
    with ExitStack() as stack:
        workers = {spec.contender: stack.enter_context(Worker(spec)) for spec in group if spec.contender not in notes}
        for turn in range(-1, settings.rounds):  # first each says that it is ready
            for name, worker in list(workers.items()):
                try:
                    if turn < 0:
                        worker.answer()
                    elif sum(ms[name]) < 1000 * settings.seconds:
                        clock, _ = worker.ask(turn)
                        ms[name].append(clock)
                except NotRunError as error:
                    notes[name] = f"not run: {error}"
                    del workers[name]
    found = []
    for spec in group:
        name, of_step = spec.contender, (spec.dataset, spec.case, spec.phase, spec.contender, spec.batch_size)
        found.append(Timing(*of_step, tuple(ms[name]), peaks.get(name), notes.get(name, "")))
    return found
