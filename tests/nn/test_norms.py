from __future__ import annotations

import pytest
import torch
from torch import nn

from policylearn.nn import RowBatchNorm, build_norm


def test_bag_scope_is_torchs_batch_norm() -> None:
    ours, theirs = RowBatchNorm(4), nn.BatchNorm1d(4)
    rows = torch.randn(30, 4) * 3 + 1
    assert torch.allclose(ours(rows, 3), theirs(rows), atol=1e-6)
    assert torch.allclose(ours.running_mean, theirs.running_mean)
    assert torch.allclose(ours.running_var, theirs.running_var)
    assert torch.allclose(ours.eval()(rows, 3), theirs.eval()(rows), atol=1e-6)


def test_slot_scope_keeps_copies_apart() -> None:
    norm = RowBatchNorm(4, statistics="slot")
    rows = torch.randn(10, 3, 4, dtype=torch.float64) * torch.tensor([1.0, 5.0, 9.0])[:, None]
    together = norm.double()(rows.view(30, 4), 3).view(10, 3, 4)
    for slot in range(3):
        alone = nn.BatchNorm1d(4, dtype=torch.float64)(rows[:, slot])
        assert torch.allclose(together[:, slot], alone)


def test_slot_scope_uses_one_function_for_every_slot_in_evaluation() -> None:
    norm = RowBatchNorm(4, statistics="slot")
    for _ in range(5):
        norm(torch.randn(30, 4) + 2, 3)
    norm.eval()
    row = torch.randn(1, 4)
    assert torch.equal(norm(row.repeat(6, 1), 3), norm(row, 1).repeat(6, 1))


def test_without_tracking_a_constant_stays_a_constant() -> None:
    norm = RowBatchNorm(3, track=False).eval()
    with torch.no_grad():
        norm.bias.copy_(torch.tensor([0.5, -1.0, 2.0]))
    constant = torch.tensor([0.1, 0.7, 1e3]).repeat(1001, 1)
    assert torch.equal(norm(constant, 1), norm.bias.expand(1001, 3))
    assert not list(norm.buffers())


def test_a_single_row_is_its_own_mean() -> None:
    norm = RowBatchNorm(3)
    assert torch.equal(norm(torch.randn(1, 3), 1), norm.bias.unsqueeze(0))
    assert norm(torch.randn(2, 3), 2).isfinite().all()


@pytest.mark.parametrize("kind", ["batch", "layer", "none"])
def test_kinds(kind: str) -> None:
    assert build_norm(kind, 4)(torch.randn(6, 4), 2).shape == (6, 4)


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="'norm' must be 'batch', 'layer' or 'none'"):
        build_norm("group", 4)
