"""The record of a run over the systems as a table, and beside the paper's own times."""

from __future__ import annotations

from collections.abc import Iterator

from lab.bench.paper import method_ratios
from lab.bench.record import BenchReport, Timing, paired_ratio
from lab.bench.systems import POLICIES, SYSTEM, UNIT, entrant_title
from policylearn.training.presets import preset_names
from policylearn.wording import markdown_table

MIB = 2**20
HEADINGS = (
    "method", "weights", "training step", f"over {entrant_title(UNIT)}", "peak MiB", "inference",
    f"over {entrant_title(UNIT)}", "peak MiB",
)  # fmt: skip
PAPER_HEADINGS = ("table of the paper", "phase", "method over method", "paper", "ours")
UNPUBLISHED = "*"
"""Marks systems without settings for the dataset."""


def system_rows(report: BenchReport) -> Iterator[tuple[str, ...]]:
    """The table's rows, under `HEADINGS`: times in ms with their quartiles, and in units of the unit's time."""
    dataset = report.settings["dataset"]
    shipped = preset_names()
    for name in dict.fromkeys(timing.case for timing in report.timings):
        own = name in POLICIES or f"{dataset}/{name}" in shipped
        train, infer = (report.find(dataset, name, phase, SYSTEM) for phase in ("train", "infer"))
        assert train is not None, f"{name} has no entry for training"
        assert infer is not None, f"{name} has no entry for inference"
        cells = [*_cells(report, train), *_cells(report, infer)]
        yield entrant_title(name) + ("" if own else f" {UNPUBLISHED}"), f"{train.parameters:,}", *cells


def _cells(report: BenchReport, timing: Timing) -> tuple[str, str, str]:
    """Time, ratio and peak memory, or why there are none."""
    if not timing.ms:
        return timing.note, "", ""
    low, high = timing.quartiles
    quartiles = f" ({short_ms(low)} to {short_ms(high)})" if len(timing.ms) > 1 else ""
    unit = report.find(timing.dataset, UNIT, timing.phase, SYSTEM)
    ratio = f"{paired_ratio(timing.ms, unit.ms):.2f}" if unit and unit.ms else ""
    memory = "" if timing.peak_bytes is None else f"{timing.peak_bytes / MIB:,.0f}"
    return f"{short_ms(timing.median)}{quartiles}", ratio, memory


def paper_rows(report: BenchReport) -> Iterator[tuple[str, ...]]:
    """Under `PAPER_HEADINGS`: what a method costs in units of another, by the paper's GPU times and by ours here."""
    for ratio in method_ratios(report):
        if ratio.ours is not None:
            pair = f"{entrant_title(ratio.case)} / {entrant_title(ratio.base)}"
            phase = "training" if ratio.phase == "train" else "inference"
            yield ratio.table, phase, pair, f"{ratio.paper:.2f}", f"{ratio.ours:.2f}"


def where_measured(report: BenchReport) -> str:
    """One paragraph: command, commit, machine, and how busy it was."""
    settings, machine = report.settings, report.machine
    graphs = max(timing.graphs for timing in report.timings)
    share = "" if report.processor_share is None else f"; the process had {report.processor_share:.2f} of a processor"
    rounds = f"{settings['rounds']} round{'s' if settings['rounds'] > 1 else ''}"
    threads = f"{settings['threads']} thread{'s' if settings['threads'] > 1 else ''}"
    commit = report.commit[:7] + report.commit[40:]
    return (
        f"`{report.command}`, commit {commit}, {report.date[:10]}, {machine['processor']}, {threads},"
        f" {rounds} on batches of {graphs} graphs of {settings['dataset']}. Load"
        f" {report.load[0]:.1f} before and {report.load[1]:.1f} after on {machine['cores']} cores{share}. ms of"
        " processor time per batch, median (quartiles)."
    )


def systems_markdown(report: BenchReport) -> str:
    """All of it as documents hold it."""
    parts = [where_measured(report), markdown_table(HEADINGS, system_rows(report))]
    beside = list(paper_rows(report))
    if beside:
        parts += [
            "The paper's times are those of a GPU; what one method costs in units of another:",
            markdown_table(PAPER_HEADINGS, beside),
        ]
    return "\n\n".join(parts)


def short_ms(ms: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"
