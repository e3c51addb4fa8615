"""Graphs as inline SVG for a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Layout = Literal["circle", "force"]

EDGE, PLAIN, PICKED = "#b4bac2", "#c9d6e8", "#e3572e"
UNTANGLED = 150
"""Up to so many nodes a component is laid out by Kamada-Kawai, which grows with their cube."""
SPACING = 2.5
"""Distance between the middles of components, each of which fits a circle of radius 1."""
SIZE = 320.0
"""Longer side of an SVG, in its own units."""


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
        name: the accessible name, for screen readers.
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
