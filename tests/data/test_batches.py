"""Slices of the packed arrays equal what PyG collates from single graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from policylearn.data import CATALOG, DataError, PackedGraphs, load_dataset, make_batch, make_data


def assert_same(ours: Data, theirs: Data) -> None:
    assert ours.keys() == theirs.keys()
    for key in theirs.keys():  # noqa: SIM118 - a Data is no dict
        assert ours[key].dtype == theirs[key].dtype, key
        torch.testing.assert_close(ours[key], theirs[key], rtol=0, atol=0, equal_nan=True)


def assert_same_batch(graphs: PackedGraphs, indices: list[int]) -> None:
    singles = [make_data(graphs, i) for i in indices]
    ours, theirs = make_batch(graphs, indices), Batch.from_data_list(singles)
    assert type(ours) is type(theirs)
    assert all(value.is_contiguous() for value in ours.to_dict().values())
    assert_same(ours, theirs)
    assert ours.num_graphs == len(ours) == theirs.num_graphs
    assert ours.num_nodes == theirs.num_nodes
    assert str(ours) == str(theirs)


def random_graphs(generator: np.random.Generator, *, floats: bool, edge_columns: int, per_node: bool) -> PackedGraphs:
    nodes = generator.integers(1, 6, 12)
    edges = generator.integers(0, 8, 12)
    ends = [generator.integers(0, n, (2, e)) for n, e in zip(nodes, edges, strict=True)]
    rows = nodes.sum() if per_node else 12
    x = generator.standard_normal((nodes.sum(), 3))
    return PackedGraphs(
        x=x if floats else x.astype(np.int8),
        edge_index=np.concatenate(ends, axis=1).astype(np.int16),
        edge_attr=generator.integers(0, 4, (edges.sum(), edge_columns)).astype(np.uint8),
        node_ptr=np.concatenate([[0], np.cumsum(nodes)]).astype(np.int32),
        edge_ptr=np.concatenate([[0], np.cumsum(edges)]).astype(np.int32),
        y=generator.standard_normal((rows, 2)) if floats else generator.integers(0, 3, rows),
    )


@given(
    seed=st.integers(0, 1000),
    floats=st.booleans(),
    edge_columns=st.sampled_from([0, 1, 3]),
    per_node=st.booleans(),
    indices=st.lists(st.integers(0, 11), min_size=1, max_size=15),
)
def test_any_choice_equals_pyg(seed: int, floats: bool, edge_columns: int, per_node: bool, indices: list[int]) -> None:
    generator = np.random.default_rng(seed)
    graphs = random_graphs(generator, floats=floats, edge_columns=edge_columns, per_node=per_node)
    assert_same_batch(graphs, indices)


@pytest.mark.parametrize("name", ["zinc", "ogbg-moltox21", "reddit-binary", "csl", "counting-er"])
def test_real_data_equals_pyg(stored: Callable[[str], Path], name: str) -> None:
    root = stored(CATALOG[name].file).parent
    graphs = load_dataset(name, root=root, target="star" if name == "counting-er" else None).graphs
    indices = np.random.default_rng(0).choice(len(graphs), 20, replace=False).tolist()
    assert_same_batch(graphs, indices)


def test_conventions(three_graphs: PackedGraphs) -> None:
    batch = make_batch(three_graphs, [2, 0, 1])
    assert batch.x.dtype == torch.int64
    assert batch.x.tolist() == [[8, 9], [10, 11], [0, 1], [2, 3], [4, 5], [6, 7]]
    assert batch.edge_index.tolist() == [[0, 1, 2, 3, 4, 2], [1, 0, 3, 4, 2, 4]]
    assert batch.edge_attr.tolist() == [[4], [5], [0], [1], [2], [3]]
    assert batch.ptr.tolist() == [0, 2, 5, 6]
    assert batch.batch.tolist() == [0, 0, 1, 1, 1, 2]
    assert batch.y.dtype == torch.float32
    assert batch.y.shape == (3, 1)
    classes = make_batch(replace(three_graphs, y=np.array([2, 0, 1], dtype=np.uint8)), [0, 1])
    assert classes.y.dtype == torch.int64
    assert classes.y.tolist() == [2, 0]
    assert "edge_attr" not in make_batch(replace(three_graphs, edge_attr=np.empty((6, 0))), [0])
    assert make_batch(replace(three_graphs, x=np.ones(6)), [0]).x.dtype == torch.float32


def test_graphs_without_nodes_or_edges(three_graphs: PackedGraphs) -> None:
    empty = replace(
        three_graphs,
        node_ptr=np.array([0, 3, 3, 3, 6]),
        edge_ptr=np.array([0, 4, 4, 4, 6]),
        y=np.zeros(4),
    )
    assert make_batch(empty, [1]).x.shape == (0, 2)
    assert make_batch(empty, [1, 2]).edge_attr.shape == (0, 1)
    assert make_batch(empty, [1, 0, 2, 3]).ptr.tolist() == [0, 0, 3, 3, 6]


def test_a_batch_owns_its_memory(three_graphs: PackedGraphs) -> None:
    floats = replace(three_graphs, x=three_graphs.x.astype(np.float32))
    make_batch(floats, [0]).x.zero_()
    make_data(floats, 0).x.zero_()
    assert floats.x[2, 1] == 5


@pytest.mark.parametrize("wrong", [[3], [-1], [], [[0]], [0.5]])
def test_wrong_indices_are_named(three_graphs: PackedGraphs, wrong: list[int]) -> None:
    with pytest.raises(DataError):
        make_batch(three_graphs, wrong)
