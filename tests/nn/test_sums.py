"""Sums along edges against their definition, and their gradients."""

from __future__ import annotations

import hypothesis.strategies as st
import torch
from hypothesis import given
from torch import Tensor
from torch.autograd import gradcheck

from policylearn.bags import Adjacency
from policylearn.nn import collect, gather, neighbour_sum
from tests.errors import raises_naming


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, Tensor]:
    """Any multigraph: duplicate edges, loops, isolated nodes, no edges at all."""
    nodes = draw(st.integers(1, 8))
    ids = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(ids, ids), max_size=20))
    return nodes, torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()


@given(edge_lists(), st.integers(1, 5))
def test_neighbour_sum_by_definition(edges: tuple[int, Tensor], width: int) -> None:
    nodes, edge_index = edges
    adjacency = Adjacency.of(edge_index, nodes)
    rows = torch.randn(nodes, width, dtype=torch.float64)
    wanted = torch.zeros_like(rows)
    for source, target in edge_index.t().tolist():
        wanted[target] += rows[source]
    assert torch.allclose(neighbour_sum(rows, adjacency), wanted)
    assert torch.allclose(collect(gather(rows, adjacency), adjacency), wanted)


@given(edge_lists())
def test_gradients(edges: tuple[int, Tensor]) -> None:
    nodes, edge_index = edges
    adjacency = Adjacency.of(edge_index, nodes)
    rows = torch.randn(nodes, 3, dtype=torch.float64, requires_grad=True)
    messages = torch.randn(adjacency.num_edges, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: neighbour_sum(x, adjacency), rows)
    assert gradcheck(lambda x: gather(x, adjacency), rows)
    if adjacency.num_edges:
        assert gradcheck(lambda m: collect(m, adjacency), messages)


@given(edge_lists(), st.integers(0, 3))
def test_expanding_to_rows_equals_wide_rows(edges: tuple[int, Tensor], copies: int) -> None:
    nodes, edge_index = edges
    adjacency = Adjacency.of(edge_index, nodes)
    rows = torch.randn(nodes * copies, 2, dtype=torch.float64)
    expanded = adjacency.expand(torch.arange(nodes + 1) * copies)
    assert expanded.num_nodes == nodes * copies
    wide = neighbour_sum(rows.view(nodes, copies * 2), adjacency)
    assert torch.allclose(neighbour_sum(rows, expanded), wide.view(-1, 2))
    assert torch.equal(edge_index[0, expanded.edge], expanded.source // max(copies, 1))


def test_expanding_with_different_numbers_of_rows() -> None:
    edge_index = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    adjacency = Adjacency.of(edge_index, 4)
    row_ptr = torch.tensor([0, 3, 6, 7, 8])  # nodes 0 and 1 have three rows, 2 and 3 one
    rows = torch.arange(8.0).unsqueeze(1)
    got = neighbour_sum(rows, adjacency.expand(row_ptr)).squeeze(1)
    assert got.tolist() == [3, 4, 5, 0, 1, 2, 7, 6]


def test_sums_are_deterministic() -> None:
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(200, (2, 5000), generator=generator)
    adjacency = Adjacency.of(edge_index, 200)
    rows = torch.randn(200, 64, generator=generator, requires_grad=True)

    def once() -> tuple[Tensor, Tensor]:
        out = neighbour_sum(rows, adjacency) + collect(torch.relu(gather(rows, adjacency)), adjacency)
        return out, torch.autograd.grad(out.square().sum(), rows)[0]

    first, second = once(), once()
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


def test_an_edge_out_of_range_is_refused() -> None:
    with raises_naming(ValueError, "node 5"):
        Adjacency.of(torch.tensor([[0], [5]]), 3)
