from __future__ import annotations

import pytest
import torch
from torch import nn

from policylearn.nn import RowBatchNorm, build_norm, can_be_cut
from tests.errors import raises_naming


def test_batch_norm_is_torchs() -> None:
    ours, theirs = RowBatchNorm(4), nn.BatchNorm1d(4)
    rows = torch.randn(30, 4) * 3 + 1
    assert torch.allclose(ours(rows), theirs(rows), atol=1e-6)
    assert torch.allclose(ours.running_mean, theirs.running_mean)
    assert torch.allclose(ours.running_var, theirs.running_var)
    ours(rows + 5, update_statistics=False)
    assert torch.allclose(ours.eval()(rows), theirs.eval()(rows), atol=1e-6)


def test_without_tracking_a_constant_stays_a_constant() -> None:
    norm = RowBatchNorm(3, track=False).eval()
    with torch.no_grad():
        norm.bias.copy_(torch.tensor([0.5, -1.0, 2.0]))
    constant = torch.tensor([0.1, 0.7, 1e3]).repeat(1001, 1)
    assert torch.equal(norm(constant), norm.bias.expand(1001, 3))
    assert not list(norm.buffers())


def test_a_single_row_is_its_own_mean() -> None:
    norm = RowBatchNorm(3)
    assert torch.equal(norm(torch.randn(1, 3)), norm.bias.unsqueeze(0))
    assert norm(torch.randn(2, 3)).isfinite().all()


@pytest.mark.parametrize(("kind", "mixes"), [("batch", True), ("layer", False), ("none", False)])
def test_only_batch_norm_in_training_mixes_rows(kind: str, mixes: bool) -> None:
    norm, rows = build_norm(kind, 4).train(), torch.randn(6, 4)
    norm.scope = "copy"
    assert can_be_cut(norm) != mixes
    assert torch.allclose(norm(rows)[:3], norm(rows[:3]), atol=1e-6) != mixes
    assert can_be_cut(norm.eval())


def test_unknown_kinds_are_refused() -> None:
    with raises_naming(ValueError, "'group'"):
        build_norm("group", 4)
