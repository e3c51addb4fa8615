"""A whole run of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime

import torch

from lab.bench.cases import BenchSettings, plan
from lab.bench.groups import Tell, count_steps, measure_group, with_peak
from lab.bench.growth import growth_steps, measure_growth
from lab.bench.record import BenchReport, Growth, Timing
from lab.bench.systems import SystemSettings, measure_system
from policylearn.fast import has_numba, wanted_kernels
from policylearn.settings import DataConfig
from policylearn.settings.provenance import commit, describe_machine, versions
from policylearn.training import load_source

QUICK_PEAK = "learned-t2"


def run_bench(settings: BenchSettings, command: str, tell: Tell, expect: Callable[[int], None]) -> BenchReport:
    """Measure everything that the settings name.

    Args:
        settings: what.
        command: how it was asked for, for the record.
        tell: told of every step.
        expect: told how many steps are still to come, as soon as that is known.
    """
    begun = now()
    groups = plan(settings)
    sources = {name: load_source(DataConfig(name=name)) for name in settings.datasets}
    families = settings.families if settings.growth_nodes else ()
    expect(sum(count_steps(group, settings) for group in groups) + len(families) * growth_steps(settings))
    with threads(settings.threads):
        timings = [t for group in groups for t in measure_group(group, sources[group.dataset], settings, tell)]
        growth = tuple(measure_growth(family, settings, tell) for family in families)
        timings = measure_peaks(timings, settings, tell, expect) if settings.memory else timings
        return make_report(settings, command, begun, timings, growth)


def run_systems(settings: SystemSettings, command: str, tell: Tell, expect: Callable[[int], None]) -> BenchReport:
    """Measure what every system costs beside the policies; see `run_bench`."""
    begun = now()
    expect(len(settings.chosen))
    timings: list[Timing] = []
    with threads(settings.threads):
        for name in settings.chosen:
            timings += measure_system(name, settings)
            tell(name, 1)
        return make_report(settings, command, begun, timings)


def now() -> tuple[str, float, str]:
    """Date, load and commit; a checkout may move on while something is measured."""
    return datetime.now(UTC).isoformat(timespec="seconds"), os.getloadavg()[0], commit()


def make_report(
    settings: BenchSettings | SystemSettings,
    command: str,
    begun: tuple[str, float, str],
    timings: list[Timing],
    growth: tuple[Growth, ...] = (),
) -> BenchReport:
    """What was measured, with how and where."""
    date, load, code = begun
    return BenchReport(
        command=command,
        date=date,
        machine=describe_machine(),
        versions=versions("numba"),
        commit=code,
        kernels=f"{wanted_kernels()}, numba {'there' if has_numba() else 'absent'}",
        load=(load, os.getloadavg()[0]),
        settings=asdict(settings),
        timings=tuple(timings),
        growth=growth,
    )


def measure_peaks(
    timings: list[Timing], settings: BenchSettings, tell: Tell, expect: Callable[[int], None]
) -> list[Timing]:
    """The timings with their peak memory; a quick run has that of one case alone, as each takes its own process."""
    wanted = [t for t in timings if t.ms and (not settings.quick or t.case == QUICK_PEAK)]
    expect(len(wanted))
    measured = list(timings)
    for timing in wanted:
        tell(f"memory of {timing.dataset}, {timing.phase}: {timing.case} {timing.contender}", 1)
        measured[timings.index(timing)] = with_peak(timing, settings)
    return measured


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for torch, and for our kernels, which ask torch, for the length of a block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
