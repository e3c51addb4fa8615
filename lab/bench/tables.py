"""A benchmark's record as tables."""

from __future__ import annotations

from collections.abc import Iterator

from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.steps import CASES, NAMES, SYSTEM, title_of
from policylearn.training.presets import preset_names
from policylearn.wording import markdown_table

MIB = 2**20
WORDS = {"train": "training step", "infer": "inference"}
UNIT = "random-t2"
"""In units of whose time systems are given."""
UNPUBLISHED = "*"
"""Marks systems without settings for the dataset."""


def report_markdown(report: BenchReport) -> str:
    """The record as the page and the terminal show it."""
    return "\n\n".join([where_measured(report), *report_tables(report)])


def report_tables(report: BenchReport) -> Iterator[str]:
    """Times and memory per dataset and phase, or the table of systems."""
    if any(t.contender == SYSTEM for t in report.timings):
        unit = f"over {title_of(UNIT, NAMES)}"
        headings = ("method", "weights", "training step", unit, "peak MiB", "inference", unit, "peak MiB")
        table = markdown_table(headings, system_rows(report))
        yield f"ms of processor time per batch, median (quartiles)\n\n{table}"
        return
    for dataset, phase in dict.fromkeys((t.dataset, t.phase) for t in report.timings):
        yield times_table(report, dataset, phase)


def times_table(report: BenchReport, dataset: str, phase: str) -> str:
    """Everybody's times on a dataset in one phase."""
    rows = []
    for ours in report.timings:
        if (ours.dataset, ours.phase, ours.contender) != (dataset, phase, "ours"):
            continue
        cells = [spread(ours)]
        others = [report.find(dataset, ours.case, phase, contender) for contender in ("plain", "replicated")]
        for other in others:
            cells += ["", ""] if other is None else [spread(other), ratio(other, ours)]
        cells += [mebibytes(timing) for timing in (ours, *others)]
        rows.append((title_of(ours.case), *cells))
    headings = ("method", "ours", "plain", "over ours", "replicated", "over ours", "MiB: ours", "plain", "replicated")
    graphs = next(t.graphs for t in report.timings if t.dataset == dataset)
    title = f"{dataset}, {WORDS[phase]}, {graphs} graphs: ms per batch, median (quartiles), and times as long as ours"
    return f"{title}\n\n{markdown_table(headings, rows)}"


def system_rows(report: BenchReport) -> Iterator[tuple[str, ...]]:
    """Times with their quartiles, and in units of the unit's time."""
    dataset, shipped = report.timings[0].dataset, preset_names()
    for name in dict.fromkeys(timing.case for timing in report.timings):
        own = name in CASES or f"{dataset}/{name}" in shipped
        cells, weights = [], None
        for phase in WORDS:
            timing, unit = (report.find(dataset, case, phase, SYSTEM) for case in (name, UNIT))
            assert timing is not None, f"{name} has no entry for {phase}"
            weights = weights or timing.parameters
            cells += [spread(timing), ratio(timing, unit) if unit else "", mebibytes(timing)]
        yield title_of(name, NAMES) + ("" if own else f" {UNPUBLISHED}"), f"{weights:,}" if weights else "", *cells


def where_measured(report: BenchReport) -> str:
    """One paragraph: command, commit, machine, and how busy it was."""
    settings, machine = report.settings, report.machine
    counts = (f"{settings[name]} {name[:-1] if settings[name] == 1 else name}" for name in ("threads", "rounds"))
    commit = report.commit[:7] + report.commit[40:]
    return (
        f"`{report.command}`, commit {commit}, {report.date[:10]}, {machine['processor']}, {', '.join(counts)};"
        f" load {report.load[0]:.1f} before and {report.load[1]:.1f} after on {machine['cores']} cores."
    )


def spread(timing: Timing) -> str:
    """Median and quartiles, or why there are none."""
    if not timing.ms:
        return timing.note
    quartiles = f" ({' to '.join(map(short_ms, timing.quartiles))})" if len(timing.ms) > 1 else ""
    return short_ms(timing.median) + quartiles


def ratio(timing: Timing, unit: Timing) -> str:
    """One's time in units of another's; empty where one was not run."""
    return f"{paired_ratio(timing.ms, unit.ms):.2f}" if timing.ms and unit.ms else ""


def mebibytes(timing: Timing | None) -> str:
    """Peak memory where it was measured."""
    return "" if timing is None or timing.peak_bytes is None else f"{timing.peak_bytes / MIB:,.0f}"


def short_ms(ms: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"
