"""A whole run of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from lab.bench.record import BenchReport, Timing
from lab.bench.steps import CASES, CONTENDERS, PHASES, SYSTEM, StepSpec, entrant_names
from lab.bench.worker import PEAK, NotRunError, Worker
from lab.provenance import commit, describe_machine, versions
from policylearn.cli.options import Flag, Words
from policylearn.fast import wanted_kernels
from policylearn.settings import DataConfig
from policylearn.training import load_source
from policylearn.wording import hint

BATCH_SIZES = {"zinc": 128, "ogbg-molhiv": 128, "reddit-binary": 32}
"""Graphs of a batch, of the datasets that are measured unless others are named; any other dataset has `BATCH_SIZE`."""
BATCH_SIZE = 128
QUICK_CASES = ("none", "random-t2", "learned-t2", "straight-t2", "full")
NO_TRAINING = (("reddit-binary", "full"),)
"""The full bag of its graphs is only streamed: the gradients of a batch would need hundreds of gigabytes."""


@Parameter(name="*")
@dataclass(frozen=True)
class BenchSettings:
    """One run of the benchmark."""

    datasets: Words = ()
    """zinc, ogbg-molhiv and reddit-binary by default."""
    cases: Words = ()
    """Such as learned-t2 or full; with --systems also names of systems. All by default."""
    systems: Flag = False
    """Measure instead the processor time that every system takes beside the policies; on ZINC by default."""
    rounds: int = 5
    """How often each is timed."""
    threads: int = 1
    """Of torch and of our own kernels; with one, a busy machine disturbs least."""
    layers: int = 6
    """Of both networks; a system has its own."""
    channels: int = 64
    """Of both networks; a system has its own."""
    batch_size: int | None = None
    """Graphs of a batch."""
    memory: bool = True
    """Measure peak memory too."""
    seconds: Annotated[float, Parameter(parse=False)] = 120.0
    """How long the rounds of one contender may take together; slower ones get fewer rounds."""

    def __post_init__(self) -> None:
        for name in self.cases:
            if name not in self.known:
                way_out = hint(name, self.known, f"the cases are {', '.join(self.known)}")
                raise ValueError(f"there is no case '{name}'; {way_out}")
        for field, bound in {"rounds": 1, "threads": 1, "layers": 1, "channels": 2, "batch_size": 1}.items():
            value = getattr(self, field)
            if value is not None and value < bound:
                raise ValueError(f"'{field.replace('_', '-')}' must be >= {bound} (got {value})")

    @property
    def known(self) -> tuple[str, ...]:
        """What may be measured."""
        return entrant_names() if self.systems else tuple(CASES)


def plan(settings: BenchSettings) -> Iterator[tuple[StepSpec, ...]]:
    """The contenders that take turns, case by case."""
    for dataset in settings.datasets:
        size = settings.batch_size or BATCH_SIZES.get(dataset, BATCH_SIZE)
        for phase in PHASES:
            for case in settings.cases or settings.known:
                unmeasured = (dataset, case) in NO_TRAINING if phase == "train" else "estimator" in CASES.get(case, {})
                of_networks = size, settings.rounds, settings.threads, settings.layers, settings.channels
                if not unmeasured:
                    contenders = (SYSTEM,) if settings.systems else CONTENDERS
                    yield tuple(StepSpec(dataset, case, contender, phase, *of_networks) for contender in contenders)


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


def measure_group(group: tuple[StepSpec, ...], settings: BenchSettings) -> list[Timing]:
    """Peak memory of each contender, then their times, turn by turn; or why one was not run."""
    peaks: dict[str, int] = {}
    notes: dict[str, str] = {}
    weights: dict[str, int] = {}
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
        for turn in range(-1, settings.rounds):  # the first answers say how many weights there are
            for name, worker in list(workers.items()):
                try:
                    if turn < 0:
                        weights[name] = worker.answer()
                    elif sum(ms[name]) < 1000 * settings.seconds:
                        clock, processor = worker.ask(turn)
                        ms[name].append(processor if settings.systems else clock)
                except NotRunError as error:
                    notes[name] = f"not run: {error}"
                    del workers[name]
    found = []
    for spec in group:
        name = spec.contender
        figures = tuple(ms[name]), peaks.get(name), notes.get(name, ""), weights.get(name)
        found.append(Timing(spec.dataset, spec.case, spec.phase, name, spec.batch_size, *figures))
    return found
