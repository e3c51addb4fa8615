"""Encoders of features that come as ids."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from policylearn.bags import Graphs
from policylearn.nn import CategoricalEdges, Features, NodeEncoder
from tests.errors import raises_naming


def graphs(x: torch.Tensor, x_real: torch.Tensor | None = None) -> Graphs:
    return Graphs.of(Data(x=x, edge_index=torch.zeros(2, 0).long(), x_real=x_real))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_narrow_ids_are_those_of_int64(dtype: torch.dtype) -> None:
    ids = torch.tensor([[20, 20], [3, 19]])
    sizes = (21, 21)
    nodes, edges = NodeEncoder(Features(sizes), 4), CategoricalEdges(sizes, 4)
    assert torch.equal(nodes(graphs(ids.to(dtype))), nodes(graphs(ids)))
    assert edges.index(ids).tolist() == [440, 82]
    assert torch.equal(edges.index(ids.to(dtype)), edges.index(ids))


def test_ids_and_numbers_at_once_are_the_sum_of_both() -> None:
    encoder = NodeEncoder(Features((5,), real=2), 4)
    ids, numbers = torch.tensor([[1], [4]]), torch.randn(2, 2)
    wanted = encoder.tables[0](ids[:, 0]) + encoder.linear(numbers)
    assert torch.allclose(encoder(graphs(ids, numbers)), wanted)


def test_numbers_beside_numbers_are_one_table() -> None:
    encoder = NodeEncoder(Features(real=3), 4)
    x, more = torch.randn(2, 1), torch.randn(2, 2)
    assert torch.allclose(encoder(graphs(x, more)), encoder.linear(torch.cat([x, more], 1)))


def test_numbers_that_are_missing_are_asked_for() -> None:
    with raises_naming(ValueError, "2 columns"):
        NodeEncoder(Features((5,), real=2), 4)(graphs(torch.tensor([[1]])))
