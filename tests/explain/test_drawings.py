"""Pictures: what is drawn is there, and what does not fit is named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from policylearn.data import DataError
from policylearn.explain import Panel, draw_panels, place_nodes
from policylearn.explain.drawings import graph_svg
from tests.errors import raises_naming

SQUARES = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 5, 6, 7, 4]])


def colours_in(path: Path) -> set[tuple[int, ...]]:
    pixels = (imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    return set(map(tuple, np.unique(pixels, axis=0).tolist()))


def test_equal_classes_get_equal_colours_in_all_panels(tmp_path: Path) -> None:
    one = Panel(SQUARES, 8, "one", classes=[0] * 8)
    two = Panel(SQUARES, 8, "two", classes=[0, 1] * 4, layout="circle", marks={3: "x"})
    blue, orange = (31, 119, 180), (255, 127, 14)
    found = colours_in(draw_panels([one], tmp_path / "one.png"))
    assert blue in found
    assert orange not in found
    assert {blue, orange} <= colours_in(draw_panels([one, two], tmp_path / "deeper" / "two.png", title="both"))


def test_panels_go_into_rows(tmp_path: Path) -> None:
    panels = [Panel(SQUARES, 8, str(number)) for number in range(5)]
    wide = imread(draw_panels(panels, tmp_path / "wide.png", columns=5)).shape
    tall = imread(draw_panels(panels, tmp_path / "tall.png", columns=2)).shape
    assert wide[1] > 2 * tall[1]
    assert tall[0] > 2 * wide[0]


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


def test_many_nodes_and_no_edges(tmp_path: Path) -> None:
    line = np.stack([np.arange(199), np.arange(1, 200)])
    lone = Panel(np.zeros((2, 0), dtype=np.int64), 1)
    assert draw_panels([Panel(line, 200), lone], tmp_path / "large.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        (Panel(SQUARES, 8, classes=[0]), "panel 0: 'classes'"),
        (Panel(SQUARES, 8, marks={8: "x"}), "panel 0.*node 8"),
        (Panel(SQUARES, 7), "panel 0.*node 7"),
    ],
)
def test_what_does_not_fit_is_named(panel: Panel, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        draw_panels([panel], tmp_path / "no.png")


def test_nothing_to_draw_and_nowhere_to_write(tmp_path: Path) -> None:
    with raises_naming(ValueError, "panel"):
        draw_panels([], tmp_path / "no.png")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError):
        draw_panels([Panel(SQUARES, 8)], tmp_path / "file" / "no.png")
