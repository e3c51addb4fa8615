"""Graphs as pictures: side by side in a PNG with coloured and marked nodes, or as inline SVG for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from policylearn.data.pictures import new_picture

Layout = Literal["circle", "force"]

EDGE, PLAIN, RING, PICKED = "#b4bac2", "#c9d6e8", "#111111", "#e3572e"
UNTANGLED = 150
"""Up to so many nodes a component is laid out by Kamada-Kawai, which grows with their cube."""
SPACING = 2.5
"""Distance between the middles of components, each of which fits a circle of radius 1."""
ROOM_FOR_TEXT = 150
"""Least area of a marked node, in square points."""
SIZE = 320.0
"""Longer side of an SVG, in its own units."""


@dataclass(frozen=True)
class Panel:
    """One graph of a picture."""

    edges: NDArray[np.integer[Any]]  # both ends of each edge, (2, E); direction and repeats do not matter
    num_nodes: int
    title: str = ""
    classes: Sequence[int] | None = None  # a number per node; equal ones get equal colours, in all panels of a picture
    marks: Mapping[int, str] = field(default_factory=dict)  # text on a node that is ringed
    layout: Layout = "force"  # or nodes of a component on a circle in their order

    def validate(self, number: int) -> Panel:
        """Return self, or raise a `ValueError` that names the panel and what does not fit."""
        if self.classes is not None and len(self.classes) != self.num_nodes:
            raise ValueError(f"panel {number}: 'classes' has {len(self.classes)} entries for {self.num_nodes} nodes")
        named = [*np.asarray(self.edges).reshape(-1).tolist(), *self.marks]
        wrong = [node for node in named if not 0 <= node < self.num_nodes]
        if wrong:
            raise ValueError(f"panel {number}: there is no node {wrong[0]}; the nodes are 0 to {self.num_nodes - 1}")
        return self


def draw_panels(panels: Sequence[Panel], path: Path, *, title: str = "", columns: int = 4) -> Path:
    """Draw graphs side by side, so many in a row, with a title above all of them, and write a PNG."""
    if not panels:
        raise ValueError("there is nothing to draw; give at least one panel")
    across = min(columns, len(panels))
    down = ceil(len(panels) / across)
    with new_picture(path, 3.4 * across, 3.6 * down + 0.4 * bool(title)) as figure:
        for number, axes in enumerate(figure.subplots(down, across, squeeze=False).flat):
            axes.set_axis_off()
            if number < len(panels):
                draw_panel(axes, panels[number].validate(number))
        if title:
            figure.suptitle(title)
    return path


def draw_panel(axes: Any, panel: Panel) -> None:
    """Draw one graph into matplotlib axes."""
    from matplotlib import colormaps

    colours: list[Any] = [PLAIN] * panel.num_nodes
    if panel.classes is not None:
        order = [*range(0, 20, 2), *range(1, 20, 2)]  # the bright ones first, then their pale twins
        colours = [colormaps["tab20"](order[number % 20]) for number in panel.classes]
    places = place_nodes(panel.edges, panel.num_nodes, panel.layout)
    size = 2200 / max(8, panel.num_nodes)
    ends = places[np.asarray(panel.edges, dtype=np.int64)]  # (2, E, 2)
    axes.plot(*np.moveaxis(ends, -1, 0), color=EDGE, linewidth=1, zorder=1)
    axes.scatter(*places.T, s=size, c=colours, zorder=2)
    for node, text in panel.marks.items():
        (x, y), area = places[node].tolist(), max(1.6 * size, ROOM_FOR_TEXT)
        axes.scatter([x], [y], s=area, c=[colours[node]], edgecolors=RING, linewidths=1.8, zorder=3)
        axes.text(x, y, text, ha="center", va="center", size=9, weight="bold", color=RING, zorder=4)
    axes.set_title(panel.title, size=9)
    axes.set_aspect("equal")
    axes.margins(0.12)


def place_nodes(edges: NDArray[np.integer[Any]], num_nodes: int, layout: Layout) -> NDArray[np.float64]:
    """Positions of the nodes, components beside one another, ``(n, 2)``; edges ``(2, E)``."""
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


def graph_svg(
    edges: NDArray[np.integer[Any]],
    places: NDArray[np.float64],
    name: str,
    *,
    chances: Sequence[float] = (),
    picked: Sequence[int] = (),
) -> str:
    """Draw a graph; a node is ``<g class="node" data-node="...">`` with a circle and a text.

    Args:
        edges: both ends of each, ``(2, E)``.
        places: of the nodes, ``(n, 2)``, with y upwards.
        name: is said to those who cannot see the drawing.
        chances: nodes are shaded by their probabilities; all alike without.
        picked: nodes that are ringed and numbered.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    extent = float(max((high - low).max(), 1e-9))
    radius = float(np.clip(90 / np.sqrt(len(places)) / 1.4, 3.5, 11))
    margin = 2 * radius
    spread = (places - low) / extent * SIZE
    spread[:, 1] = (high[1] - low[1]) / extent * SIZE - spread[:, 1]  # SVG counts y downwards
    width, height = (high - low) / extent * SIZE + 2 * margin
    spread = spread + margin
    once = np.unique(np.sort(np.asarray(edges, dtype=np.int64), axis=0), axis=1).T
    lines = "".join(
        f'<path d="M{spread[a, 0]:.1f} {spread[a, 1]:.1f}L{spread[b, 0]:.1f} {spread[b, 1]:.1f}"/>' for a, b in once
    )
    fills = shades(chances, max(chances)) if chances else [PLAIN] * len(places)
    numbers: dict[int, str] = {}
    for order, node in enumerate(picked, start=1):
        numbers[node] = f"{numbers[node]},{order}" if node in numbers else str(order)
    ring, text = f'stroke="{PICKED}" stroke-width="3"', f'dy="{-1.3 * radius:.1f}" text-anchor="middle" font-size="18"'
    nodes = "".join(
        f'<g class="node" data-node="{node}">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}"{" " + ring if node in numbers else ""}/>'
        f'<text x="{x:.1f}" y="{y:.1f}"{" " + text if node in numbers else ""}>{numbers.get(node, "")}</text></g>'
        for node, ((x, y), fill) in enumerate(zip(spread, fills, strict=True))
    )
    return (
        f'<svg viewBox="0 0 {width:.1f} {height:.1f}" role="img" aria-label="{escape(name, quote=True)}">'
        f'<g stroke="{EDGE}" stroke-width="1">{lines}</g>{nodes}</svg>'
    )


def shades(values: Sequence[float], top: float) -> list[str]:
    """Colours of values on a scale from 0 to ``top``, as ``#rrggbb``."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    scale = colormaps["viridis"]
    return [to_hex(scale(min(value / top, 1.0) if top > 0 else 0.0)) for value in values]
