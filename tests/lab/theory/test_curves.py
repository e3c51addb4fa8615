"""Curves of several runs."""

from __future__ import annotations

from pathlib import Path

from matplotlib.image import imread

from lab.theory.curves import Chart, draw_charts, mean_curve
from tests.errors import raises_naming


def test_a_run_that_ended_early_counts_with_its_last_value() -> None:
    assert mean_curve([[(1, 0.0), (2, 1.0)], [(1, 0.5), (2, 0.5), (3, 0.0)]]) == [(1, 0.25), (2, 0.75), (3, 0.5)]


def test_the_mean_begins_where_all_have_begun() -> None:
    assert mean_curve([[(1, 0.0), (4, 1.0)], [(2, 1.0)]]) == [(2, 0.5), (4, 1.0)]


def test_panels_are_side_by_side(tmp_path: Path) -> None:
    chart = Chart("accuracy", {"a": [[(1, 0.1), (2, 0.2)], [(1, 0.3)]], "b": [[(1, 1.0)]]})
    one = imread(draw_charts([chart], tmp_path / "one.png")).shape
    two = imread(draw_charts([chart, chart], tmp_path / "deeper" / "two.png")).shape
    assert two[1] > 1.8 * one[1]


def test_what_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    with raises_naming(ValueError, "chart"):
        draw_charts([], tmp_path / "no.png")
    with raises_naming(ValueError, "run"):
        draw_charts([Chart("none", {"a": []})], tmp_path / "no.png")
