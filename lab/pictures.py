"""Pictures as PNG files, and graphs side by side in one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from policylearn.data import DataError
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array
from policylearn.explain import Layout, place_nodes

EDGE, RING = "#b4bac2", "#111111"
ROOM_FOR_TEXT = 150
"""Least area of a marked node, in square points."""


@contextmanager
def new_picture(path: Path, width: float, height: float, *, dpi: int = 120) -> Iterator[Figure]:
    """A figure of so many inches to draw into, written as a PNG once the block has ended well; needs no screen."""
    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    try:
        with replacing(path) as part:
            figure.savefig(part, format="png", dpi=dpi)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error}); choose another file") from error


@dataclass(frozen=True)
class Panel:
    """One graph of a picture."""

    edges: Array  # both ends of each edge, (2, E); direction and repeats do not matter
    num_nodes: int
    title: str
    classes: Sequence[int]  # a number per node; equal ones get equal colours, in all panels of a picture
    marks: Mapping[int, str] = field(default_factory=dict)  # text on a node that is ringed
    layout: Layout = "force"  # or nodes of a component on a circle in their order


def draw_panels(panels: Sequence[Panel], path: Path, *, columns: int) -> Path:
    """Draw graphs side by side, so many in a row, and write a PNG."""
    across = min(columns, len(panels))
    down = ceil(len(panels) / across)
    with new_picture(path, 3.4 * across, 3.6 * down) as figure:
        for number, axes in enumerate(figure.subplots(down, across, squeeze=False).flat):
            axes.set_axis_off()
            if number < len(panels):
                draw_panel(axes, panels[number])
    return path


def draw_panel(axes: Any, panel: Panel) -> None:
    """Draw one graph into matplotlib axes."""
    order = [*range(0, 20, 2), *range(1, 20, 2)]  # the bright ones first, then their pale twins
    colours = [colormaps["tab20"](order[number % 20]) for number in panel.classes]
    places = place_nodes(panel.edges, panel.num_nodes, panel.layout)
    size = 2200 / max(8, panel.num_nodes)
    axes.plot(*np.moveaxis(places[panel.edges], -1, 0), color=EDGE, linewidth=1, zorder=1)
    axes.scatter(*places.T, s=size, c=colours, zorder=2)
    for node, text in panel.marks.items():
        (x, y), area = places[node].tolist(), max(1.6 * size, ROOM_FOR_TEXT)
        axes.scatter([x], [y], s=area, c=[colours[node]], edgecolors=RING, linewidths=1.8, zorder=3)
        axes.text(x, y, text, ha="center", va="center", size=9, weight="bold", color=RING, zorder=4)
    axes.set_title(panel.title, size=13)
    axes.set_aspect("equal")
    axes.margins(0.12)
