"""A benchmark's record as tables for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from lab.bench.ablation import HEADINGS, ablation_rows
from lab.bench.cases import CASES
from lab.bench.paper import method_ratios
from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.system_tables import HEADINGS as SYSTEM_HEADINGS
from lab.bench.system_tables import PAPER_HEADINGS, paper_rows, system_rows, where_measured
from lab.bench.systems import SYSTEM

MIB = 2**20


def make_tables(report: BenchReport) -> Iterator[Table]:
    """Times and memory, cost against size, and the paper's ratios; those without a row are left out."""
    if any(t.contender == "plain" for t in report.timings):
        yield ablation_table(report)
        return
    if any(t.contender == SYSTEM for t in report.timings):
        yield from systems_tables(report)
        return
    groups = dict.fromkeys((t.dataset, t.phase, t.deterministic) for t in report.timings)
    for dataset, phase, deterministic in groups:
        yield times_table(report, dataset, phase, deterministic)
    if report.growth:
        yield growth_table(report)
    if report.over_once:
        yield over_once_table(report)
    if method_ratios(report):
        yield paper_table(report)


def times_table(report: BenchReport, dataset: str, phase: str, deterministic: bool) -> Table:
    """Everybody's times on a dataset in one phase."""
    settings = report.settings
    what = "a training step" if phase == "train" else "inference"
    title = (
        f"{what} on {dataset}{', deterministic algorithms' if deterministic else ''}: {settings['layers']} layers,"
        f" {settings['channels']} channels, {settings['threads']} threads; ms per batch, median (quartiles)"
    )
    table = _table(
        title, "method", "graphs", "ours", "replicated", "faster by", "products alone", "over them", "over random T=2",
        "peak MiB: ours", "replicated",
    )  # fmt: skip
    for t in report.timings:
        if (t.dataset, t.phase, t.deterministic, t.contender) != (dataset, phase, deterministic, "ours"):
            continue
        peer = report.find(dataset, t.case, phase, "replicated", deterministic=deterministic)
        limit = report.find(dataset, t.case, phase, "limit", estimator=t.estimator, deterministic=deterministic)
        random = report.find(dataset, "random-t2", phase, "ours", deterministic=deterministic)
        table.add_row(
            CASES[t.case].title + (f", {t.estimator}" if t.estimator else ""),
            str(t.graphs),
            spread(t),
            spread(peer) if peer else "",
            f"{paired_ratio(peer.ms, t.ms):.2f} x" if peer and peer.ms else "",
            spread(limit) if limit else "",
            f"{paired_ratio(t.ms, limit.ms):.2f} x" if limit else "",
            f"{paired_ratio(t.ms, random.ms):.2f} x" if random and CASES[t.case].learns else "",
            mebibytes(t),
            mebibytes(peer) if peer else "",
        )
    return table


def spread(timing: Timing) -> str:
    """Median and quartiles, or why there are none."""
    if not timing.ms:
        return timing.note
    low, high = timing.quartiles
    return f"{_short(timing.median)} ({_short(low)} to {_short(high)})"


def mebibytes(timing: Timing) -> str:
    """Peak memory where it was measured."""
    return "" if timing.peak_bytes is None else f"{timing.peak_bytes / MIB:,.0f}"


def ablation_table(report: BenchReport) -> Table:
    """What each part of the acceleration is worth."""
    settings = report.settings
    size = f"{settings['layers']} layers, {settings['channels']} channels"
    title = f"{report.timings[0].dataset}: {size}; median ms per batch, and how many times as fast as plain PyTorch"
    table = _table(title, *HEADINGS)
    for row in ablation_rows(report):
        table.add_row(*row)
    return table


def systems_tables(report: BenchReport) -> Iterator[Table]:
    """What every system costs beside the policies; and, where the paper has a pair of them, its ratio beside ours."""
    table = _table(where_measured(report), *SYSTEM_HEADINGS)
    for row in system_rows(report):
        table.add_row(*row)
    yield table
    beside = list(paper_rows(report))
    if beside:
        paper = _table("what a method costs in units of another: the paper's GPU times, and ours", *PAPER_HEADINGS)
        for row in beside:
            paper.add_row(*row)
        yield paper


def growth_table(report: BenchReport) -> Table:
    """Cost of inference against the number of nodes."""
    first = report.growth[0]  # a grid has as many nodes as a square near that number
    table = _table(
        f"inference at T={first.picks} on one graph of n nodes, ms; time grows like n to the exponent",
        "graph", *(f"n ≈ {nodes:,}" for nodes in first.nodes), "exponent",
    )  # fmt: skip
    for growth in report.growth:
        table.add_row(growth.family, *map(_short, growth.medians), f"{growth.exponent:.3f}")
    return table


def over_once_table(report: BenchReport) -> Table:
    """T picks against one look at the unmarked graph."""
    table = _table("T picks against both networks once on the unmarked graph, ms", "graph", "T", "picks", "once", "x")
    for over in report.over_once:
        ms = (sorted(values)[len(values) // 2] for values in (over.ms, over.once_ms))
        table.add_row(f"{over.family} of {over.nodes:,} nodes", str(over.picks), *map(_short, ms), f"{over.ratio:.2f}")
    return table


def paper_table(report: BenchReport) -> Table:
    """Ratios between methods: the paper's on a GPU, ours and the replicated model's here."""
    title = "what a method costs in units of another: the paper's GPU times, ours, the replicated model's"
    table = _table(title, "table of the paper", "phase", "method over method", "paper", "ours", "replicated")
    for ratio in method_ratios(report):
        phase = ratio.phase + (", deterministic" if ratio.deterministic else "")
        pair = f"{CASES[ratio.case].title} / {CASES[ratio.base].title}"
        measured = ("" if value is None else f"{value:.2f}" for value in (ratio.ours, ratio.replicated))
        table.add_row(ratio.table, phase, pair, f"{ratio.paper:.2f}", *measured)
    return table


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if at else "left")
    return table


def _short(ms: float) -> str:
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"
