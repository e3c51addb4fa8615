"""Graphs side by side in one picture, with coloured and marked nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from policylearn.data.pictures import new_picture

Layout = Literal["circle", "force"]

EDGE, PLAIN, RING = "#b4bac2", "#c9d6e8", "#111111"
UNTANGLED = 150
"""Up to so many nodes a component is laid out by Kamada-Kawai, which grows with their cube."""
SPACING = 2.5
"""Distance between the middles of components, each of which fits a circle of radius 1."""
ROOM_FOR_TEXT = 150
"""Least area of a marked node, in square points."""


@dataclass(frozen=True)
class Panel:
    """One graph of a picture.

    Args:
        edges: both ends of each edge; the direction and repeats do not matter.
        num_nodes: how many nodes there are.
        title: above the graph.
        classes: a number per node; equal numbers get equal colours, in all panels of a picture.
        values: a number per node, shown on a scale that all panels share; not together with ``classes``.
        marks: text on a node that is ringed, such as the step that picked it.
        layout: nodes of a component on a circle in their order, or spread by forces.

    Shapes:
        edges ``(2, E)``, classes and values ``(n,)``.
    """

    edges: NDArray[np.integer[Any]]
    num_nodes: int
    title: str = ""
    classes: Sequence[int] | None = None
    values: Sequence[float] | None = None
    marks: Mapping[int, str] = field(default_factory=dict)
    layout: Layout = "force"

    def validate(self, number: int) -> Panel:
        """Return self, or raise a `ValueError` that names the panel and what does not fit."""
        if self.classes is not None and self.values is not None:
            raise ValueError(f"panel {number}: give 'classes' or 'values', not both")
        for name in ("classes", "values"):
            given = getattr(self, name)
            if given is not None and len(given) != self.num_nodes:
                raise ValueError(f"panel {number}: '{name}' has {len(given)} entries for {self.num_nodes} nodes")
        named = [*np.asarray(self.edges).reshape(-1).tolist(), *self.marks]
        wrong = [node for node in named if not 0 <= node < self.num_nodes]
        if wrong:
            raise ValueError(f"panel {number}: there is no node {wrong[0]}; the nodes are 0 to {self.num_nodes - 1}")
        return self


def draw_panels(
    panels: Sequence[Panel], path: Path, *, title: str = "", columns: int = 4, scale: str = "probability"
) -> Path:
    """Draw graphs side by side and write a PNG.

    Args:
        panels: the graphs.
        path: where the picture goes.
        title: above all of them.
        columns: graphs in a row, at most.
        scale: what ``values`` are, written beside their colour bar.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    if not panels:
        raise ValueError("there is nothing to draw; give at least one panel")
    across = min(columns, len(panels))
    down = ceil(len(panels) / across)
    with new_picture(path, 3.4 * across, 3.6 * down + 0.4 * bool(title)) as figure:
        grid = figure.subplots(down, across, squeeze=False)
        shown = [value for panel in panels if panel.values is not None for value in panel.values]
        norm = Normalize(0, max(shown, default=0) or 1)
        shades = ScalarMappable(norm, colormaps["viridis"])
        for number, axes in enumerate(grid.flat):
            axes.set_axis_off()
            if number < len(panels):
                panel = panels[number].validate(number)
                draw_panel(axes, panel, colours_of(panel, shades))
        if shown:
            figure.colorbar(shades, ax=grid, label=scale, shrink=0.7)
        if title:
            figure.suptitle(title)
    return path


def colours_of(panel: Panel, shades: Any) -> list[Any]:
    """A colour per node, as matplotlib takes them."""
    from matplotlib import colormaps

    if panel.classes is not None:
        palette = colormaps["tab20"]
        # The bright ones first, then their pale twins.
        order = [*range(0, 20, 2), *range(1, 20, 2)]
        return [palette(order[number % 20]) for number in panel.classes]
    if panel.values is not None:
        return [shades.to_rgba(value) for value in panel.values]
    return [PLAIN] * panel.num_nodes


def draw_panel(axes: Any, panel: Panel, colours: list[Any]) -> None:
    """Draw one graph into matplotlib axes."""
    places = place_nodes(panel.edges, panel.num_nodes, panel.layout)
    size = 2200 / max(8, panel.num_nodes)
    ends = places[np.asarray(panel.edges, dtype=np.int64)]  # (2, E, 2)
    axes.plot(*np.moveaxis(ends, -1, 0), color=EDGE, linewidth=1, zorder=1)
    axes.scatter(*places.T, s=size, c=colours, zorder=2)
    marked = sorted(panel.marks)
    if marked:
        rings = [colours[node] for node in marked]
        axes.scatter(
            *places[marked].T, s=max(1.6 * size, ROOM_FOR_TEXT), c=rings, edgecolors=RING, linewidths=1.8, zorder=3
        )
    for node in marked:
        x, y = places[node].tolist()
        ink = ink_on(colours[node])
        axes.text(x, y, panel.marks[node], ha="center", va="center", size=9, weight="bold", color=ink, zorder=4)
    axes.set_title(panel.title, size=9)
    axes.set_aspect("equal")
    axes.margins(0.12)


def ink_on(colour: Any) -> str:
    """Black or white, whichever can be read on a colour."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return RING if 0.299 * red + 0.587 * green + 0.114 * blue > 0.45 else "white"


def place_nodes(edges: NDArray[np.integer[Any]], num_nodes: int, layout: Layout) -> NDArray[np.float64]:
    """Positions of the nodes, components beside one another, ``(n, 2)``.

    Args:
        edges: both ends of each edge, ``(2, E)``.
        num_nodes: how many nodes there are.
        layout: how each component is laid out.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(np.asarray(edges).T.tolist())
    components = sorted((sorted(part) for part in nx.connected_components(graph)), key=lambda part: part[0])
    across = max(1, ceil(sqrt(len(components))))
    places = np.zeros((num_nodes, 2))
    for number, nodes in enumerate(components):
        part = graph.subgraph(nodes)
        if layout == "circle":
            angle = np.pi / 2 - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
            inside = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (len(nodes) > 1)
        else:
            few = len(nodes) <= UNTANGLED
            found = nx.kamada_kawai_layout(part) if few else nx.spring_layout(part, seed=0, iterations=30)
            inside = np.array([found[node] for node in nodes])
        places[nodes] = inside + SPACING * np.array([number % across, -(number // across)])
    return places
