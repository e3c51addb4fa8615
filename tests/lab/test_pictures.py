"""Pictures of graphs: what is drawn is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread

from lab.pictures import Panel, draw_panels
from policylearn.data import DataError
from tests.errors import raises_naming

SQUARES = np.array([[0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 5, 6, 7, 4]])


def colours_in(path: Path) -> set[tuple[int, ...]]:
    pixels = (imread(path)[..., :3] * 255).round().astype(int).reshape(-1, 3)
    return set(map(tuple, np.unique(pixels, axis=0).tolist()))


def test_equal_classes_get_equal_colours_in_all_panels(tmp_path: Path) -> None:
    one = Panel(SQUARES, 8, "one", classes=[0] * 8)
    two = Panel(SQUARES, 8, "two", classes=[0, 1] * 4, layout="circle", marks={3: "x"})
    blue, orange = (31, 119, 180), (255, 127, 14)
    found = colours_in(draw_panels([one], tmp_path / "one.png", columns=4))
    assert blue in found
    assert orange not in found
    assert {blue, orange} <= colours_in(draw_panels([one, two], tmp_path / "deeper" / "two.png", columns=4))


def test_panels_go_into_rows(tmp_path: Path) -> None:
    panels = [Panel(SQUARES, 8, str(number), [0] * 8) for number in range(5)]
    wide = imread(draw_panels(panels, tmp_path / "wide.png", columns=5)).shape
    tall = imread(draw_panels(panels, tmp_path / "tall.png", columns=2)).shape
    assert wide[1] > 2 * tall[1]
    assert tall[0] > 2 * wide[0]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises_naming(DataError, "no.png"):
        draw_panels([Panel(SQUARES, 8, "one", [0] * 8)], tmp_path / "file" / "no.png", columns=1)
