"""Charts as inline SVG, drawn by matplotlib in colours that can be read on light and on dark pages."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import numpy as np

from policylearn.data.packed import Array

INK, BLUE = "#7d8794", "#3b82c4"
COLOURS = (BLUE, "#d1495b", "#3a7d44", "#c98a1b", "#8e5ea2", "#00798c")
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "policylearn",
    "font.size": 9,
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
}


def scatter(points: Array, labels: tuple[str, str], name: str, *, intervals: Array | None = None) -> str:
    """Truth across, prediction upwards, the line of equality, and a thin upright for each interval.

    Points are ``(n, 2)``, and so are the ends of their intervals. The name is for screen readers.
    """

    def draw(axes: Any) -> None:
        x, y = points.T
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        axes.plot([low, high], [low, high], color=INK, linewidth=1)
        if intervals is not None:
            bounded = np.isfinite(intervals).all(axis=1)
            axes.vlines(x[bounded], *intervals[bounded].T, color=BLUE, alpha=0.25, linewidth=1)
        axes.scatter(x, y, s=12, color=BLUE, alpha=0.8, linewidths=0)
        axes.set_aspect("equal", adjustable="datalim")

    return svg(draw, labels, name)


def lines(curves: Mapping[str, Array], labels: tuple[str, str], name: str, *, diagonal: bool = False) -> str:
    """A line per name through its points ``(n, 2)``, with a legend where there are several names.

    ``diagonal`` adds the line of chance, from corner to corner.
    """

    def draw(axes: Any) -> None:
        if diagonal:
            axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
        for number, (key, points) in enumerate(curves.items()):
            axes.plot(*points.T, color=COLOURS[number % len(COLOURS)], linewidth=1.6, label=key)
        if len(curves) > 1:
            axes.legend(frameon=False, fontsize=8)

    return svg(draw, labels, name)


def histogram(values: Array, labels: tuple[str, str], name: str) -> str:
    """How often values fall into equal steps."""
    steps = min(24, max(4, len(values) // 3))
    return svg(lambda axes: axes.hist(values, bins=steps, color=BLUE, rwidth=0.92), labels, name)


def svg(draw: Callable[[Any], object], labels: tuple[str, str], name: str) -> str:
    """What ``draw`` puts into a frame with labelled axes, as an ``<svg>`` element that grows with its place."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(4.2, 3.0), layout="constrained")
        axes = figure.add_subplot()
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    head, rest = text[text.index("<svg") :].split(">", 1)
    box = head[head.index("viewBox=") :].split('"')[1]
    return f'<svg class="chart" viewBox="{box}" role="img" aria-label="{escape(name)}">{rest}'
