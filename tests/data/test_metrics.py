"""Metrics equal OGB's evaluator, over all data at once and in batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from policylearn.data import DataError, Scaling, Task, build_metric

YES_NO = Task("binary", "bce", "rocauc", tuple(f"t{i}" for i in range(12)))
NUMBERS = Task("regression", "mse", "rmse", ("a",))


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Any]:
    """OGB's own, without the thread that asks the network for a newer OGB."""
    hidden = "outdated" not in sys.modules
    if hidden:
        sys.modules["outdated"] = None  # type: ignore[assignment]
    from ogb.graphproppred import Evaluator

    yield Evaluator
    if hidden:
        del sys.modules["outdated"]


def in_batches(task: Task, output: Tensor, y: Tensor, cuts: list[int]) -> float:
    metric = build_metric(task)
    for o, t in zip(output.tensor_split(cuts), y.tensor_split(cuts), strict=True):
        metric.update(o, t)
    return float(metric.compute())


@pytest.mark.parametrize("seed", range(5))
def test_rocauc_equals_ogb_with_gaps_ties_and_one_sided_columns(evaluator: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    output = (torch.randn(200, 12, generator=generator) * 4).round() / 4  # rounding makes ties
    y = (torch.rand(200, 12, generator=generator) < 0.2).float()
    y[torch.rand(200, 12, generator=generator) < 0.4] = float("nan")
    y[:, 3] = torch.where(y[:, 3].isnan(), y[:, 3], torch.ones(()))
    y[:, 5] = float("nan")
    expected = evaluator("ogbg-moltox21").eval({"y_true": y.numpy(), "y_pred": output.numpy()})["rocauc"]
    assert in_batches(YES_NO, output, y, [7, 64, 128]) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_rmse_equals_ogb_with_gaps(evaluator: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    output, y = torch.randn(2, 300, 1, generator=generator)
    y[::7] = float("nan")
    expected = evaluator("ogbg-molesol").eval({"y_true": y.numpy(), "y_pred": output.numpy()})["rmse"]
    assert in_batches(NUMBERS, output, y, [1, 100]) == pytest.approx(float(expected), rel=1e-6)


def test_batches_of_unlike_size_weigh_by_their_labels() -> None:
    task = Task("regression", "l1", "mae", ("a",))
    output = torch.zeros(4, 1)
    y = torch.tensor([[1.0], [1.0], [1.0], [5.0]])
    assert in_batches(task, output, y, [3]) == 2.0


def test_missing_labels_count_nowhere() -> None:
    task = Task("regression", "l1", "mae", ("a", "b"))
    y = torch.tensor([[1.0, float("nan")], [3.0, 4.0]])
    assert in_batches(task, torch.zeros(2, 2), y, [1]) == 3.0  # columns 2 and 4


def test_scaling_is_undone_or_kept_as_the_task_says() -> None:
    y = torch.tensor([[10.0, 0.0], [14.0, 6.0]])
    scaling = Scaling((10.0, 0.0), (2.0, 3.0))
    in_data = Task("regression", "l1", "mae", ("a", "b"), scaling=scaling)
    exact = scaling.apply(y)
    assert in_batches(in_data, exact, y, [1]) == pytest.approx(0, abs=1e-6)
    assert in_batches(in_data, exact + 1, y, [1]) == pytest.approx(2.5)  # 2 and 3 units of the data
    scaled = Task("regression", "l1", "mae", ("a", "b"), scaling=scaling, metric_in_data_units=False)
    assert in_batches(scaled, exact + 1, y, [1]) == pytest.approx(1.0)


def test_accuracy_of_classes_and_of_yes_no() -> None:
    classes = Task("classes", "cross_entropy", "accuracy", ("class",), classes=("a", "b", "c"))
    output = torch.tensor([[0.1, 0.2, 0.0], [3.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    assert in_batches(classes, output, torch.tensor([1, 0, 2, 1]), [3]) == 0.75
    yes_no = Task("binary", "bce", "accuracy", ("a", "b"))
    y = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])
    assert in_batches(yes_no, torch.tensor([[2.0, 5.0], [1.0, 0.5]]), y, [1]) == 0.75


def test_without_a_usable_column_there_is_an_error() -> None:
    metric = build_metric(YES_NO)
    metric.update(torch.zeros(3, 12), torch.ones(3, 12))
    with pytest.raises(DataError):
        metric.compute()
    empty = build_metric(NUMBERS)
    empty.update(torch.zeros(3, 1), torch.full((3, 1), float("nan")))
    with pytest.raises(DataError):
        empty.compute()


def test_outputs_of_wrong_width_are_refused() -> None:
    with pytest.raises(DataError):
        build_metric(YES_NO).update(torch.zeros(3, 5), torch.zeros(3, 12))


def test_sums_stay_exact_over_many_batches() -> None:
    metric = build_metric(Task("regression", "l1", "mae", ("a",)))
    y = torch.full((1000, 1), 0.1)
    for _ in range(2000):
        metric.update(torch.zeros(1000, 1), y)
    assert float(metric.compute()) == pytest.approx(float(np.float32(0.1)), rel=1e-6)
