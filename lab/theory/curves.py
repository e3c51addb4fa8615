"""Curves of several runs in one picture: a line per run, a bold one for the mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policylearn.data.pictures import new_picture

Curve = Sequence[tuple[float, float]]
"""Points (x, y) of one run, x rising."""

PALETTE = ("#6b7a8f", "#d1495b", "#1b6ca8", "#edae49", "#3a7d44", "#8e5ea2", "#00798c")


@dataclass(frozen=True)
class Chart:
    """One panel: its title, and the runs of each name, which has the same colour in all panels."""

    title: str
    curves: Mapping[str, Sequence[Curve]]


def draw_charts(charts: Sequence[Chart], path: Path) -> Path:
    """Draw shares (0 to 1) over steps, panels side by side, and write a PNG."""
    from matplotlib.ticker import PercentFormatter

    if not charts:
        raise ValueError("there is nothing to draw; give at least one chart")
    names = list(dict.fromkeys(name for chart in charts for name in chart.curves))
    colour = {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}
    with new_picture(path, 4.6 * len(charts), 3.4, dpi=110) as figure:
        for chart, axes in zip(charts, figure.subplots(1, len(charts), squeeze=False)[0], strict=True):
            for name, runs in chart.curves.items():
                for run in runs:
                    axes.plot(
                        *zip(*run, strict=True), color=colour[name], alpha=0.3 if len(runs) > 1 else 1, linewidth=1
                    )
                middle = mean_curve(runs)
                dot = "o" if len(middle) == 1 else None  # no line is seen of one point
                axes.plot(*zip(*middle, strict=True), color=colour[name], linewidth=2.2, marker=dot, label=name)
            axes.set(title=chart.title, xlabel="training steps", ylim=(-0.03, 1.03))
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names), frameon=False
        )
    return path


def mean_curve(runs: Sequence[Curve]) -> list[tuple[float, float]]:
    """The mean over runs at every x of any of them; a run that has ended early counts with its last value."""
    if not runs or not all(runs):
        raise ValueError("a curve needs at least one run, and every run at least one point")
    places = sorted({x for run in runs for x, _ in run})
    begin = max(run[0][0] for run in runs)
    return [(x, sum(value_at(run, x) for run in runs) / len(runs)) for x in places if x >= begin]


def value_at(run: Curve, x: float) -> float:
    """The newest value of a run at a place, which must not lie before its first point."""
    return [value for place, value in run if place <= x][-1]
