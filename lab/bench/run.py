"""A whole run of the benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime

import torch

from lab.bench.ablation import ablation_parts, measure_ablation
from lab.bench.cases import Settings, plan
from lab.bench.groups import Tell, count_steps, measure_group, wants_peak, with_peak
from lab.bench.growth import growth_steps, measure_growth, measure_over_once, over_once_steps
from lab.bench.record import BenchReport, Growth, OverOnce, Timing
from lab.bench.systems import SystemSettings, measure_system_peaks, measure_systems, system_steps
from policylearn.fast import has_numba, wanted_kernels
from policylearn.settings import DataConfig
from policylearn.settings.provenance import commit, describe_machine, versions
from policylearn.training import load_source

CONE_FAMILIES = ("path", "grid")
QUICK_PEAK = "learned-t2"


def run_bench(settings: Settings, command: str, tell: Tell, expect: Callable[[int], None]) -> BenchReport:
    """Measure everything that the settings name.

    Args:
        settings: what.
        command: how it was asked for, for the record.
        tell: told of every step.
        expect: told how many steps are still to come, as soon as that is known.
    """
    begun, load = _now(), os.getloadavg()[0]
    groups = plan(settings)
    sources = {name: load_source(DataConfig(name=name)) for name in settings.datasets}
    families = settings.families if settings.growth_nodes else ()
    cone = [family for family in families if family in CONE_FAMILIES]
    expect(
        sum(count_steps(group, settings) for group in groups)
        + len(families) * growth_steps(settings)
        + len(cone) * over_once_steps(settings)
    )
    with threads(settings.threads):
        timings = [t for group in groups for t in measure_group(group, sources[group.dataset], settings, tell)]
        growth: list[Growth] = [measure_growth(family, settings, tell) for family in families]
        over: list[OverOnce] = [measure_over_once(family, settings, tell) for family in cone]
        timings = measure_peaks(timings, settings, tell, expect) if settings.memory else timings
        report = _report(settings, command, begun, load, timings)
    return replace(report, growth=tuple(growth), over_once=tuple(over))


def run_ablation(settings: Settings, command: str, tell: Tell, expect: Callable[[int], None]) -> BenchReport:
    """Measure what each part of the acceleration is worth, on the first of the datasets; see `run_bench`."""
    begun, load = _now(), os.getloadavg()[0]
    source = load_source(DataConfig(name=settings.datasets[0]))
    expect(len(ablation_parts(settings)) * (1 + settings.rounds))
    with threads(settings.threads):
        timings = measure_ablation(source, settings, tell)
        torch.set_num_threads(settings.threads)
        return _report(settings, command, begun, load, timings)


def run_systems(settings: SystemSettings, command: str, tell: Tell, expect: Callable[[int], None]) -> BenchReport:
    """Measure what every system costs beside the policies; see `run_bench`."""
    begun, load = _now(), os.getloadavg()[0]
    source = load_source(DataConfig(name=settings.dataset))
    expect(system_steps(settings) + (len(settings.chosen) if settings.memory else 0))
    with threads(settings.threads):
        memory = measure_system_peaks(settings, tell) if settings.memory else None
        timings, share = measure_systems(source, settings, tell, memory)
        return replace(_report(settings, command, begun, load, timings), processor_share=share)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _report(
    settings: Settings | SystemSettings, command: str, begun: str, load: float, timings: list[Timing]
) -> BenchReport:
    return BenchReport(
        command=command,
        date=begun,
        machine=describe_machine(),
        versions=versions("numba"),
        commit=commit(),
        kernels=f"{wanted_kernels()}, numba {'there' if has_numba() else 'absent'}",
        load=(load, os.getloadavg()[0]),
        settings=asdict(settings),
        timings=tuple(timings),
    )


def measure_peaks(timings: list[Timing], settings: Settings, tell: Tell, expect: Callable[[int], None]) -> list[Timing]:
    """The timings with their peak memory; a quick run has that of one case alone, as each takes its own process."""
    wanted = [t for t in timings if wants_peak(t) and (not settings.quick or t.case == QUICK_PEAK)]
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
