"""A benchmark's record as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.bench.cases import CASES
from lab.bench.record import BenchReport
from policylearn.data.pictures import new_picture

COLOURS = {"ours": "tab:blue", "replicated": "tab:gray", "limit": "tab:orange"}
LABELS = {"ours": "policylearn", "replicated": "replicated edge_index", "limit": "matrix products of policylearn alone"}


def draw_report(report: BenchReport, path: Path) -> None:
    """A panel per dataset and phase, a bar per contender; one more panel for cost against size. Writes a PNG."""
    groups = list(dict.fromkeys((t.dataset, t.phase) for t in report.timings if not t.deterministic))
    panels = len(groups) + bool(report.growth)
    columns = min(2, panels)
    rows = -(-panels // columns)
    with new_picture(path, 6.5 * columns, 3.4 * rows) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).flatten()
        for axis, (dataset, phase) in zip(axes, groups, strict=False):
            draw_bars(axis, report, dataset, phase)
        if report.growth:
            draw_growth(axes[len(groups)], report)
        for axis in axes[panels:]:
            axis.set_axis_off()
        handles = {
            label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        shared = {name: handles[name] for name in LABELS.values() if name in handles}
        figure.legend(shared.values(), shared.keys(), loc="outside lower center", ncols=3, fontsize=8)
        cores = f"{report.settings['threads']} threads of {report.machine['processor']}"
        figure.suptitle(
            f"{cores}, {report.settings['layers']} layers, {report.settings['channels']} channels", fontsize=9
        )


def draw_bars(axis: Any, report: BenchReport, dataset: str, phase: str) -> None:
    """Medians with quartiles, a group of bars per case."""
    chosen = [t for t in report.timings if (t.dataset, t.phase, t.deterministic) == (dataset, phase, False) and t.ms]
    keys = [(t.case, t.estimator) for t in chosen if t.contender == "ours"]
    for offset, contender in enumerate(COLOURS):
        bars = {
            at: t
            for at, (case, estimator) in enumerate(keys)
            for t in chosen
            if t.case == case and t.contender == contender and t.estimator in (estimator, None)
        }
        medians = [t.median for t in bars.values()]
        low, high = ([abs(t.quartiles[side] - t.median) for t in bars.values()] for side in (0, 1))
        places = [at + 0.27 * (offset - 1) for at in bars]
        axis.barh(places, medians, 0.25, xerr=[low, high], color=COLOURS[contender], label=LABELS[contender])
    names = [CASES[case].title + (f", {estimator}" if estimator else "") for case, estimator in keys]
    axis.set_yticks(range(len(keys)), names, fontsize=8)
    axis.invert_yaxis()
    what = "a training step" if phase == "train" else "inference"
    axis.set(xscale="log", xlabel="ms per batch", title=f"{what} on {dataset}")
    axis.grid(alpha=0.3, axis="x")


def draw_growth(axis: Any, report: BenchReport) -> None:
    """Time against nodes, both logarithmic."""
    for growth in report.growth:
        axis.plot(growth.nodes, growth.medians, "o-", label=f"{growth.family}: exponent {growth.exponent:.2f}")
    axis.set(xscale="log", yscale="log", xlabel="nodes of one graph", ylabel="ms", title="inference at T=2")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
