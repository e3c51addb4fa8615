"""Curves of several runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.image import imread

from lab.theory.curves import draw_curves, mean_curve


def test_a_run_that_ended_early_counts_with_its_last_value() -> None:
    runs = pd.DataFrame({0: {1: 0.0, 2: 1.0}, 1: {1: 0.5, 2: 0.5, 3: 0.0}})
    assert mean_curve(runs).to_dict() == {1: 0.25, 2: 0.75, 3: 0.5}


def test_the_mean_begins_where_all_have_begun() -> None:
    assert mean_curve(pd.DataFrame({0: {1: 0.0, 4: 1.0}, 1: {2: 1.0}})).to_dict() == {2: 0.5, 4: 1.0}


def test_panels_are_side_by_side(tmp_path: Path) -> None:
    runs = {"a": pd.DataFrame({0: {1: 0.1, 2: 0.2}, 1: {1: 0.3}}), "b": pd.DataFrame({0: {1: 1.0}})}
    one = imread(draw_curves({"accuracy": runs}, tmp_path / "one.png")).shape
    two = imread(draw_curves({"accuracy": runs, "coverage": runs}, tmp_path / "deeper" / "two.png")).shape
    assert two[1] > 1.8 * one[1]
