"""Curves of several runs."""

from __future__ import annotations

import pandas as pd

from lab.theory.curves import mean_curve


def test_a_run_that_ended_early_counts_with_its_last_value() -> None:
    runs = pd.DataFrame({0: {1: 0.0, 2: 1.0}, 1: {1: 0.5, 2: 0.5, 3: 0.0}})
    assert mean_curve(runs).to_dict() == {1: 0.25, 2: 0.75, 3: 0.5}


def test_the_mean_begins_where_all_have_begun() -> None:
    assert mean_curve(pd.DataFrame({0: {1: 0.0, 4: 1.0}, 1: {2: 1.0}})).to_dict() == {2: 0.5, 4: 1.0}
