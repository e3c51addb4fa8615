"""Conformal intervals and sets hold what they promise on rows that are exchangeable."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from policylearn.data import Task
from policylearn.prediction.answer import Answer
from policylearn.prediction.calibration import Calibration, Coverage, calibrate, conformal_quantile, measure_coverage
from policylearn.settings.run_files import RunError
from tests.errors import raises_naming

NUMBER = Task("regression", "mse", "rmse", ("a", "b"))
YES_NO = Task("binary", "bce", "rocauc", ("t",))
CLASSES = Task("classes", "cross_entropy", "accuracy", ("c",), classes=("x", "y", "z"))


def answer(values: np.ndarray, std: np.ndarray | None = None) -> Answer:
    return Answer(values, [[] for _ in values], std)


def test_the_quantile_has_the_finite_sample_correction() -> None:
    scores = np.arange(1, 10.0)[::-1].copy()  # nine rows: the smallest number for which 90 % can be promised
    assert conformal_quantile(scores, 0.9) == 9
    assert conformal_quantile(scores[:8], 0.9) == math.inf
    assert conformal_quantile(scores, 0.5) == 5
    assert conformal_quantile(np.arange(1, 100.0), 0.9) == 90
    assert conformal_quantile(np.zeros(0), 0.5) == math.inf


def rows(generator: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, predictions, and a deviation that tells how large the error is."""
    std = generator.gamma(2.0, 1.0, (count, 2))
    values = generator.normal(size=(count, 2))
    return values + std * generator.standard_t(3, (count, 2)), values, std


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_cover_as_often_as_they_say(ensemble: bool, level: float) -> None:
    generator = np.random.default_rng(0)
    shares, widths = [], []
    for _ in range(40):
        (y, values, std), (new_y, new_values, new_std) = rows(generator, 200), rows(generator, 500)
        y[generator.random(y.shape) < 0.1] = np.nan
        found = calibrate(NUMBER, y, answer(values, std if ensemble else None))
        assert found is not None
        bounded = found.bound(NUMBER, answer(new_values, new_std if ensemble else None), level)
        measured = measure_coverage(NUMBER, new_y, bounded, level)
        assert measured is not None
        shares.append(measured.share)
        assert bounded.lower is not None
        assert bounded.upper is not None
        widths.append(np.ptp(bounded.upper - bounded.lower, axis=0).max())
    assert abs(np.mean(shares) - level) < 0.015
    assert (min(widths) > 0.1) == ensemble, "one model has a constant width, an ensemble does not"


@pytest.mark.parametrize("task", [YES_NO, CLASSES], ids=lambda task: task.kind)
def test_sets_cover_every_label_alike(task: Task) -> None:
    """Rare labels too: a tenth of the rows has label 1."""
    generator = np.random.default_rng(1)

    def drawn(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = (generator.random(count) < 0.1).astype(np.int64)
        if task.kind == "binary":
            return labels[:, None].astype(float), 1 / (1 + np.exp(-generator.normal(labels * 2.0 - 3, 1)))[:, None]
        scores = generator.normal(size=(count, 3)) + 2 * np.eye(3)[labels]
        return labels, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    shares: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(40):
        (y, values), (new_y, new_values) = drawn(400), drawn(2000)
        found = calibrate(task, y, answer(values))
        assert found is not None
        for label in shares:
            chosen = new_y.reshape(-1) == label
            measured = measure_coverage(task, new_y[chosen], found.bound(task, answer(new_values[chosen])))
            assert measured is not None
            shares[label].append(measured.share)
    for label in shares:
        assert 0.89 < np.mean(shares[label]) < 0.93, label


def test_a_label_that_was_never_seen_cannot_be_ruled_out() -> None:
    found = calibrate(YES_NO, np.zeros((50, 1)), answer(np.full((50, 1), 0.2)))
    assert found is not None
    assert found.labels == (50, 0)
    fits = found.bound(YES_NO, answer(np.array([[0.01], [0.5]]))).labels
    assert fits is not None
    assert fits.tolist() == [[[True, True]], [[False, True]]]


def test_it_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    found = Calibration(
        "interval", (0.5, 0.9), ((1.5, 2.0), (math.inf, 3.0)), (1.0, 0.5), (5, 9), Coverage(0.9, 0.8, 7, 2)
    )
    assert found.bounded_levels() == (0.5, 0.9), "of the second target"
    unbounded = replace(found, quantiles=((1.5, 2.0), (math.inf, math.inf)))
    assert unbounded.bounded_levels() == (0.5,)
    assert replace(unbounded, kind="set").bounded_levels() == (0.5, 0.9)
    found.save(tmp_path)
    assert Calibration.load(tmp_path) == found
    assert Calibration.load(tmp_path / "elsewhere") is None
    with raises_naming(ValueError, "0.85"):
        found.bound(NUMBER, answer(np.zeros((1, 2))), 0.85)
    assert calibrate(YES_NO, np.full((3, 1), np.nan), answer(np.zeros((3, 1)))) is None
    (tmp_path / "calibration.json").write_text('{"kind": "interval"}')
    with pytest.raises(RunError):
        Calibration.load(tmp_path)
