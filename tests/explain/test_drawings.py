"""Graphs as SVG: components lie apart, and edges inside."""

from __future__ import annotations

import re

import numpy as np
import pytest

from policylearn.explain import place_nodes
from policylearn.explain.drawings import graph_svg

SQUARES = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 5, 6, 7, 4]])


@pytest.mark.parametrize("layout", ["circle", "force"])
def test_components_do_not_overlap(layout: str) -> None:
    places = place_nodes(SQUARES, 9, layout)  # the ninth node has no edge
    assert np.isfinite(places).all()
    left, right, lone = places[:4], places[4:8], places[8]
    assert left[:, 0].max() < right[:, 0].min()
    assert lone[1] < left[:, 1].min()
    distances = np.linalg.norm(places[:, None] - places, axis=-1) + 9 * np.eye(9)
    assert distances.min() > 0.3


def test_an_edge_is_drawn_once_and_inside() -> None:
    both_ways = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    drawing = graph_svg(both_ways, np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 3.0]]), "a <path>")
    assert drawing.count("<path") == 2
    _, _, width, height = map(float, re.search(r'viewBox="([^"]+)"', drawing)[1].split())
    for x, y in re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', drawing):
        assert 0 < float(x) < width
        assert 0 < float(y) < height


def test_many_nodes_and_no_edges() -> None:
    line = np.stack([np.arange(199), np.arange(1, 200)])
    assert np.isfinite(place_nodes(line, 200, "force")).all()
    assert place_nodes(np.zeros((2, 0), dtype=np.int64), 1, "force").tolist() == [[0.0, 0.0]]
