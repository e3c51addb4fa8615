"""Encoders of features that come as ids."""

from __future__ import annotations

import pytest
import torch

from policylearn.nn.features import CategoricalEdges, CategoricalEncoder


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_narrow_ids_are_those_of_int64(dtype: torch.dtype) -> None:
    ids = torch.tensor([[20, 20], [3, 19]])
    sizes = (21, 21)
    nodes, edges = CategoricalEncoder(sizes, 4), CategoricalEdges(sizes, 4)
    assert torch.equal(nodes(ids.to(dtype)), nodes(ids))
    assert edges.index(ids).tolist() == [440, 82]
    assert torch.equal(edges.index(ids.to(dtype)), edges.index(ids))
