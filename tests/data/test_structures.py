"""Structures travel with their graphs: into batches, subsets and files, with ids that stay right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from policylearn.data import DataError, PackedGraphs, Structure, make_batch, make_data, take_graphs


def ragged(generator: np.random.Generator, count: int) -> PackedGraphs:
    """Graphs of 0 edges and more, rings of any number, and pairs that point to nodes, edges and rings."""
    nodes, edges = generator.integers(1, 6, count), generator.integers(0, 8, count)
    rings = generator.integers(0, 4, count)
    pairs = np.where(rings > 0, generator.integers(0, 5, count), 0)
    marked = np.where(edges > 0, 2, 0)

    def pointer(counts: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(counts)])

    def ids(limit: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([generator.integers(0, max(n, 1), r) for n, r in zip(limit, rows, strict=True)])

    return PackedGraphs(
        x=np.zeros((nodes.sum(), 1), dtype=np.uint8),
        edge_index=np.stack([ids(nodes, edges), ids(nodes, edges)]),
        edge_attr=np.empty((edges.sum(), 0)),
        node_ptr=pointer(nodes),
        edge_ptr=pointer(edges),
        y=np.zeros(count),
        structures={
            "ring_id": Structure(ids(rings, pairs), pointer(pairs), "ring"),  # before what it points to
            "ring": Structure(generator.integers(0, 9, rings.sum()).astype(np.int8), pointer(rings)),
            "ring_node": Structure(np.stack([ids(nodes, pairs)] * 2, axis=1).astype(np.int16), pointer(pairs), "node"),
            "marked": Structure(ids(edges, marked), pointer(marked), "edge"),
            "x_real": Structure(generator.standard_normal((nodes.sum(), 3)), "node"),
            "angle": Structure(generator.standard_normal(edges.sum()), "edge"),
            "parent": Structure(ids(nodes, nodes), "node", "node"),
            "facts": Structure(generator.standard_normal((count, 4)), "graph"),
        },
    ).validate()


@given(seed=st.integers(0, 1000), indices=st.lists(st.integers(0, 7), min_size=1, max_size=9))
def test_a_batch_of_any_choice_equals_what_pyg_collates(seed: int, indices: list[int]) -> None:
    graphs = ragged(np.random.default_rng(seed), 8)
    singles = [make_data(graphs, i) for i in indices]
    ours, theirs = make_batch(graphs, indices), Batch.from_data_list(singles)
    for name in theirs.keys():  # noqa: SIM118 - a Batch is no dict
        assert ours[name].dtype == theirs[name].dtype
        assert torch.equal(ours[name], theirs[name]), name
    counts = [len(single.ring) for single in singles]
    assert ours.ring_ptr.tolist() == [0, *np.cumsum(counts)]
    assert "x_real_ptr" not in ours
    assert ours.x_real.dtype == torch.float32
    assert ours.angle.shape == (ours.edge_index.shape[1], 1)
    assert ours.ring_node.ndim == 2
    assert ours.ring_id.ndim == 1


@given(seed=st.integers(0, 1000), indices=st.lists(st.integers(0, 7), min_size=1, max_size=9))
def test_a_subset_batches_as_the_whole_does(seed: int, indices: list[int]) -> None:
    graphs = ragged(np.random.default_rng(seed), 8)
    whole = make_batch(graphs, indices)
    part = make_batch(take_graphs(graphs, indices).validate(), np.arange(len(indices)))
    assert whole.keys() == part.keys()
    assert all(torch.equal(whole[name], part[name]) for name in whole.keys())  # noqa: SIM118


def test_a_file_keeps_structures(tmp_path: Path) -> None:
    graphs = ragged(np.random.default_rng(3), 6)
    graphs.save(tmp_path / "graphs.npz")
    loaded = PackedGraphs.load(tmp_path / "graphs.npz")
    assert loaded.structures.keys() == graphs.structures.keys()
    assert not loaded.extras
    for name, structure in graphs.structures.items():
        np.testing.assert_array_equal(loaded.structures[name].values, structure.values)
        np.testing.assert_array_equal(loaded.structures[name].ptr, structure.ptr)
        assert loaded.structures[name].points_to == structure.points_to


ONE = np.zeros((6, 1))


@pytest.mark.parametrize(
    ("name", "structure", "message"),
    [
        ("ring", Structure(ONE, np.array([0, 6])), "ring.* 1 graphs"),
        ("ring", Structure(ONE, np.array([0, 2, 1, 6])), "ring.*graph 1"),
        ("ring", Structure(ONE[:5], "node"), "'x'|ring.* 0 to 6"),
        ("ring", Structure(ONE, "nodes"), "node, edge, graph"),  # type: ignore[arg-type]
        ("ring", Structure(np.array(["a"] * 6), "node"), "ring.*numbers"),
        ("ring", Structure(np.full((6, 1), np.nan), "node"), "graph 0, ring row 0.*nan"),
        ("ring", Structure(np.arange(6), "node", "node"), "graph 1, row 0.*node 3"),
        ("ring", Structure(np.zeros(6, dtype=int), "node", "cell"), "'cell'"),
        ("ring", Structure(ONE, "node", "edge"), "float64"),
        ("x_real", Structure(np.zeros((6, 1), dtype=int), "node"), "x_real.*float"),
        ("edge_index", Structure(ONE, "node"), "'edge_index'"),
        ("ring_ptr", Structure(ONE, "node"), "'ring_ptr'"),
        ("my ring", Structure(ONE, "node"), "'my ring'"),
    ],
)
def test_a_wrong_structure_is_named(three_graphs: PackedGraphs, name: str, structure: Structure, message: str) -> None:
    with pytest.raises(DataError, match=message):
        replace(three_graphs, structures={name: structure}).validate()


def test_a_file_with_half_a_structure_is_refused(three_graphs: PackedGraphs, tmp_path: Path) -> None:
    replace(three_graphs, extras={"structure/ring/values": ONE}).save(tmp_path / "half.npz")
    with pytest.raises(DataError):
        PackedGraphs.load(tmp_path / "half.npz")
