"""Curves of several runs in one picture: a line per run, a bold one for the mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lab.pictures import new_picture

PALETTE = ("#6b7a8f", "#d1495b", "#1b6ca8", "#edae49", "#3a7d44", "#8e5ea2", "#00798c")
Runs = Mapping[str, pd.DataFrame]
"""The runs of each name: a row per step, a column per run, NaN where a run has no value."""


def draw_curves(panels: Mapping[str, Runs], path: Path) -> Path:
    """Draw shares (0 to 1) over steps, a panel per title side by side, and write a PNG."""
    from matplotlib.ticker import PercentFormatter

    names = list(dict.fromkeys(name for runs in panels.values() for name in runs))
    colour = {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}
    with new_picture(path, 4.6 * len(panels), 3.4, dpi=110) as figure:
        for (title, runs), axes in zip(panels.items(), figure.subplots(1, len(panels), squeeze=False)[0], strict=True):
            for name, frame in runs.items():
                axes.plot(
                    frame.sort_index().interpolate(limit_area="inside"), color=colour[name], alpha=0.3, linewidth=1
                )
                middle = mean_curve(frame)
                dot = "o" if len(middle) == 1 else None  # no line is seen of one point
                axes.plot(middle, color=colour[name], linewidth=2.2, marker=dot, label=name)
            axes.set(title=title, xlabel="training steps", ylim=(-0.03, 1.03))
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names), frameon=False
        )
    return path


def mean_curve(runs: pd.DataFrame) -> pd.Series[float]:
    """The mean over runs from where all have begun; a run that has ended early counts with its last value."""
    return runs.sort_index().ffill().mean(axis=1, skipna=False).dropna()
