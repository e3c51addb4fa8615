"""A benchmark's record as tables."""

from __future__ import annotations

from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.steps import title_of
from policylearn.wording import markdown_table

MIB = 2**20
WORDS = {"train": "training step", "infer": "inference"}


def report_markdown(report: BenchReport) -> str:
    """The record as the page and the terminal show it: times and memory per dataset and phase."""
    phases = dict.fromkeys((t.dataset, t.phase) for t in report.timings)
    return "\n\n".join([where_measured(report), *(times_table(report, *one) for one in phases)])


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
