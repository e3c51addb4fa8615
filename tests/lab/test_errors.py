"""Errors of single graphs, and what they say of the difference between two runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.errors import cost, errors_of, paired_difference, paired_error, share_of_worst
from policylearn.data import DataError, Scaling, Task


def test_errors_are_in_the_units_of_the_metric() -> None:
    y, values = np.array([[1.0], [np.nan]]), np.array([[3.0], [2.0]])
    plain = Task("regression", "l1", "mae")
    scaled = Task("regression", "l1", "mae", scaling=Scaling((5.0,), (4.0,)), metric_in_data_units=False)
    np.testing.assert_array_equal(errors_of(plain, y, values), np.float32([[2.0], [np.nan]]))
    np.testing.assert_array_equal(errors_of(scaled, y, values), np.float32([[0.5], [np.nan]]))
    labels = Task("binary", "bce", "rocauc")
    np.testing.assert_allclose(errors_of(labels, np.array([[1.0], [0.0]]), np.array([[0.9], [0.3]])), [[-0.1], [0.3]])
    classes = Task("classes", "cross_entropy", "accuracy", classes=("a", "b"))
    right = errors_of(classes, np.array([0, 0]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    np.testing.assert_array_equal(right, [[0], [1]])
    assert cost("accuracy", right).mean() == 0.5
    np.testing.assert_array_equal(cost("mae", np.array([[2.0, np.nan], [1.0, -3.0]])), [2.0, 2.0])


def test_the_error_over_graphs_agrees_with_resampling(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    ours, theirs = draw.normal(0, 1, (2000, 1)), draw.normal(0, 1.3, (2000, 1))
    files = tmp_path / "ours.json", tmp_path / "theirs.json"
    for file, errors in zip(files, (ours, theirs), strict=True):
        np.savez_compressed(file.with_suffix(".npz"), test=errors.astype(np.float32))
    for metric in ("mae", "rmse"):
        root = np.sqrt if metric == "rmse" else np.asarray
        gaps = []
        for _ in range(2000):
            rows = draw.integers(0, 2000, 2000)
            gaps.append(root(cost(metric, theirs[rows]).mean()) - root(cost(metric, ours[rows]).mean()))
        assert paired_error(metric, [files]) == pytest.approx(np.std(gaps), rel=0.1)
    assert paired_error("rocauc", [files]) is None, "it is no mean over graphs"
    assert paired_error("mae", [(files[0], tmp_path / "none.json")]) is None
    assert paired_error("mae", []) is None


def test_differences_are_told_over_graphs_and_over_seeds(tmp_path: Path) -> None:
    errors = {"a0": [1.0, 2.0, 3.0], "b0": [2.0, 2.0, 5.0], "a1": [1.0, 0.0, 3.0], "b1": [2.0, 2.0, 3.0]}
    for name, values in errors.items():
        np.savez_compressed(tmp_path / f"{name}.npz", test=np.float32(values)[:, None])
    pairs = [(tmp_path / f"a{seed}.json", tmp_path / f"b{seed}.json") for seed in (0, 1)]
    found = paired_difference("mae", pairs)
    assert found is not None
    assert (found.graphs, found.gain, found.seed_error) == (3, 1.0, 0.0)
    assert found.graph_error == 0.0, "each graph gains 1 in the mean over seeds"
    last = np.array([False, False, True])
    few = paired_difference("mae", pairs, rows=[(np.arange(3), last)] * 2)
    assert few is not None
    assert (few.graphs, few.ours, few.theirs, few.gain, few.seed_error) == (1, 3.0, 4.0, 1.0, 1.0)
    assert few.worst == (1.0, 1.0), "there is one graph"
    assert share_of_worst(np.array([1.0, 4.0, 0.0, 3.0]), 2) == 7 / 8
    other = paired_difference("mae", pairs, rows=[(np.arange(3), ~last), (np.arange(3) + 3, ~last)])
    assert other is not None
    assert other.graph_error == pytest.approx(np.std([1, 0, 1, 2], ddof=1) / 2), "other graphs are further graphs"
    assert paired_difference("mae", pairs, rows=[(np.arange(3), last & False)] * 2) is None
    with pytest.raises(DataError):
        paired_difference("mae", pairs, rows=[(np.arange(4), np.full(4, True))] * 2)
