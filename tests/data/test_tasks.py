from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from policylearn.data import Scaling, Task

NAN = float("nan")


@pytest.mark.parametrize(
    ("loss", "torchs"),
    [("l1", functional.l1_loss), ("mse", functional.mse_loss), ("bce", functional.binary_cross_entropy_with_logits)],
)
def test_missing_labels_count_nowhere(loss: str, torchs: object) -> None:
    task = Task("binary" if loss == "bce" else "regression", loss, "mae", ("a", "b"))
    output = torch.tensor([[0.3, -2.0], [1.5, 0.1]], requires_grad=True)
    y = torch.tensor([[1.0, NAN], [0.0, 1.0]])
    known = ~y.isnan()
    got = task.compute_loss(output, y)
    assert torch.allclose(got, torchs(output[known], y[known]))
    (gradient,) = torch.autograd.grad(got, output)
    assert gradient[0, 1] == 0
    assert gradient.isfinite().all()
    values, there = task.loss_terms(output, y)
    assert torch.equal(there, known)
    assert values[0, 1] == 0


def test_classes_use_cross_entropy_and_a_name_an_output() -> None:
    task = Task("classes", "cross_entropy", "accuracy", ("kind",), classes=("x", "y", "z"))
    assert task.outputs == 3
    assert task.higher_is_better
    output, y = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    assert torch.allclose(task.compute_loss(output, y), functional.cross_entropy(output, y))


def test_losses_see_scaled_targets_and_users_see_units() -> None:
    task = Task("regression", "l1", "mae", ("a", "b"), scaling=Scaling((10.0, 0.0), (2.0, 5.0)))
    y = torch.tensor([[12.0, 10.0]])
    assert task.scale(y).tolist() == [[1.0, 2.0]]
    assert torch.equal(task.unscale(task.scale(y)), y)
    assert task.compute_loss(torch.tensor([[1.0, 2.0]]), y) == 0
