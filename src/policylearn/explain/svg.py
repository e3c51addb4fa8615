"""A graph as inline SVG, whose nodes a page's script can colour and ring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZE = 320.0
"""Longer side of a drawing, in its own units."""
EDGE, PLAIN = "#c3cad3", "#dfe6ee"


def graph_svg(edges: NDArray[np.integer[Any]], places: NDArray[np.float64], name: str) -> str:
    """Draw a graph; a node is ``<g class="node" data-node="...">`` with a circle and an empty text.

    Args:
        edges: both ends of each edge.
        places: positions of the nodes, y upwards.
        name: said to those who cannot see it; plain text without markup.

    Shapes:
        edges ``(2, E)``, places ``(n, 2)``.
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
    nodes = "".join(
        f'<g class="node" data-node="{node}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{PLAIN}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}"></text></g>'
        for node, (x, y) in enumerate(spread)
    )
    return (
        f'<svg viewBox="0 0 {width:.1f} {height:.1f}" role="img" aria-label="{name}">'
        f'<g stroke="{EDGE}" stroke-width="1">{lines}</g>{nodes}</svg>'
    )


def shades(values: Sequence[float], top: float) -> list[str]:
    """Colours of values on a scale from 0 to ``top``, as ``#rrggbb``; the scale of the PNG drawings."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    scale = colormaps["viridis"]
    return [to_hex(scale(min(value / top, 1.0) if top > 0 else 0.0)) for value in values]
