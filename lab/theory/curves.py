"""Accuracy and coverage of several runs over the training steps: a line per run, a bold one for the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from lab.pictures import new_picture
from lab.theory.records import LearningRecord

COLOURS = ("#6b7a8f", "#d1495b", "#1b6ca8", "#edae49", "#3a7d44", "#8e5ea2", "#00798c")
PANELS = {"accuracy": "test accuracy", "coverage": "coverage, argmax", "sampled_coverage": "coverage, sampled"}


def draw_curves(records: Sequence[LearningRecord], path: Path) -> None:
    """Draw the runs of one family of graphs, a panel per figure and a colour per method, and write a PNG."""
    from matplotlib.ticker import PercentFormatter

    families = sorted({(run.config.n, run.config.components) for run in records})
    if len(families) > 1:
        raise ValueError(f"the runs are on families {families}; keep a folder each, and draw one at a time")
    points = pd.DataFrame([asdict(run.config) | asdict(at) for run in records for at in run.curve])
    with new_picture(path, 4.6 * len(PANELS), 3.4, dpi=110) as figure:
        for (name, title), axes in zip(PANELS.items(), figure.subplots(1, len(PANELS)), strict=True):
            for colour, method in zip(COLOURS, points["method"].unique(), strict=False):
                runs = points[points["method"] == method].pivot(index="step", columns="seed", values=name)
                axes.plot(runs.interpolate(limit_area="inside"), color=colour, alpha=0.3, linewidth=1)
                axes.plot(mean_curve(runs), color=colour, linewidth=2.2, label=method)
            axes.set(title=title, xlabel="training steps", ylim=(-0.03, 1.03))
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=len(handles[0]), frameon=False)


def mean_curve(runs: pd.DataFrame) -> pd.Series[float]:
    """The mean over runs from where all have begun; a run that has ended early counts with its last value."""
    return runs.sort_index().ffill().mean(axis=1, skipna=False).dropna()
