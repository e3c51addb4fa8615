"""Encodings equal what a slow, plain program finds, and move with the nodes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from policylearn.data import DataError, PackedGraphs, Structure, pack_networkx
from policylearn.data.transforms import TRANSFORMS, Transform, add_structures, dense
from policylearn.data.transforms.cycle_counts import CycleCounts
from policylearn.data.transforms.cycles import list_cycles
from policylearn.data.transforms.laplacian_encoding import LaplacianEncoding
from policylearn.data.transforms.walk_encoding import ClosedWalkCounts, WalkEncoding
from policylearn.settings import ConfigError
from tests.data.transforms.samples import corner_graphs, shuffled

GRAPHS, PACKED = corner_graphs()
NODE_LEVEL: list[Transform] = [
    WalkEncoding(7),
    ClosedWalkCounts(6),
    CycleCounts((3, 4, 5, 6)),
    CycleCounts((3, 4, 5), chordless=True),
]


def columns(transform: Transform, graphs: PackedGraphs = PACKED) -> np.ndarray:
    return transform(graphs).structures["x_real"].values


def stacked(of: object) -> np.ndarray:
    return np.concatenate([np.asarray(of(graph), dtype=float).reshape(len(graph), -1) for graph in GRAPHS])


def walks(graph: nx.Graph, steps: int, *, random: bool) -> np.ndarray:
    matrix = nx.to_numpy_array(graph, nodelist=range(len(graph)))
    if random:
        matrix = matrix / np.maximum(matrix.sum(1, keepdims=True), 1)
    return np.stack([np.diag(np.linalg.matrix_power(matrix, k)) for k in range(1, steps + 1)], axis=1)


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 9])
def test_walks_return_as_often_as_matrix_powers_say(steps: int) -> None:
    expected = stacked(lambda graph: walks(graph, steps, random=True))
    np.testing.assert_allclose(columns(WalkEncoding(steps)), expected, atol=1e-6)
    factorial = np.cumprod(np.arange(1, steps + 1))
    expected = stacked(lambda graph: walks(graph, steps, random=False) / factorial)
    np.testing.assert_allclose(columns(ClosedWalkCounts(steps)), expected, rtol=1e-6)


def brute_cycles(graph: nx.Graph, longest: int, chordless: bool) -> list[list[int]]:
    listing = nx.chordless_cycles if chordless else nx.simple_cycles
    return [cycle for cycle in listing(graph, length_bound=longest) if len(cycle) >= 3]


@pytest.mark.parametrize("chordless", [False, True])
@pytest.mark.parametrize("longest", [3, 4, 6, 8])
def test_cycles_equal_networkx(longest: int, chordless: bool) -> None:
    sizes = tuple(range(3, longest + 1))

    def counted(graph: nx.Graph) -> np.ndarray:
        table = np.zeros((len(graph), len(sizes)))
        for cycle in brute_cycles(graph, longest, chordless):
            table[cycle, len(cycle) - 3] += 1
        return table

    found = CycleCounts(sizes, chordless=chordless, into="cycles")(PACKED).structures["cycles"].values
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, stacked(counted))

    nodes, ptr, graph_ptr = list_cycles(PACKED, longest, chordless=chordless)
    for at, graph in enumerate(GRAPHS):
        cycles = [nodes[ptr[c] : ptr[c + 1]].tolist() for c in range(graph_ptr[at], graph_ptr[at + 1])]
        assert all(graph.has_edge(a, b) for cycle in cycles for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        expected = [tuple(sorted(cycle)) for cycle in brute_cycles(graph, longest, chordless)]
        assert sorted(tuple(sorted(cycle)) for cycle in cycles) == sorted(expected)


def test_doubled_edges_and_loops_make_no_cycles() -> None:
    graphs = PackedGraphs(
        x=np.ones((3, 1)),
        edge_index=np.array([[0, 0, 1, 2, 2, 1], [1, 1, 2, 2, 0, 0]]),
        edge_attr=np.empty((6, 0)),
        node_ptr=np.array([0, 3]),
        edge_ptr=np.array([0, 6]),
        y=np.zeros(1),
    )
    assert columns(CycleCounts((3, 4)), graphs).tolist() == [[1, 0]] * 3


def test_eigenvectors_belong_to_the_laplacian() -> None:
    k = 3
    values = columns(LaplacianEncoding(k))
    for at, graph in enumerate(GRAPHS):
        found = values[PACKED.node_ptr[at] : PACKED.node_ptr[at + 1]].astype(float)
        matrix = nx.to_numpy_array(graph, nodelist=range(len(graph)))
        scale = np.array([1 / np.sqrt(d) if d else 0.0 for d in matrix.sum(1)])
        laplacian = np.eye(len(graph)) - scale[:, None] * matrix * scale
        expected = np.linalg.eigvalsh(laplacian)[1 : k + 1]
        kept = len(expected)
        np.testing.assert_allclose(laplacian @ found[:, :kept], found[:, :kept] * expected, atol=1e-5)
        np.testing.assert_allclose(found[:, :kept].T @ found[:, :kept], np.eye(kept), atol=1e-5)
        assert not found[:, kept:].any(), "what a small graph lacks is zero"
        largest = np.abs(found[:, :kept]).max(axis=0)
        assert (found[:, :kept].max(axis=0) >= largest - 1e-5).all() or len(graph) > 1


def test_eigenvectors_move_with_the_nodes_where_they_are_unique() -> None:
    tree = nx.Graph([(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (5, 6), (6, 7)])
    graphs = pack_networkx([tree])
    moved, place = shuffled(graphs, np.random.default_rng(0))
    before, after = columns(LaplacianEncoding(3), graphs), columns(LaplacianEncoding(3), moved)
    np.testing.assert_allclose(after[place], before, atol=1e-5)


@pytest.mark.parametrize("transform", NODE_LEVEL, ids=lambda t: f"{t.name}-{t.to_json()}")
def test_nodes_in_another_order_have_the_same_numbers(transform: Transform) -> None:
    moved, place = shuffled(PACKED, np.random.default_rng(1))
    np.testing.assert_allclose(columns(transform, moved)[place], columns(transform), atol=1e-5)


def test_groups_of_any_size_hold_every_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for entries in (1, 50, 10_000):
        monkeypatch.setattr(dense, "ENTRIES", entries)
        groups = list(dense.dense_groups(PACKED))
        nodes = np.concatenate([group.nodes for group in groups])
        assert sorted(nodes.tolist()) == list(range(len(PACKED.x)))
        assert sum(group.adjacency.sum() for group in groups) == PACKED.edge_index.shape[1]


def test_columns_of_several_transforms_stand_side_by_side() -> None:
    both = CycleCounts((3,))(WalkEncoding(4)(PACKED))
    assert both.structures["x_real"].values.shape == (len(PACKED.x), 5)
    np.testing.assert_array_equal(both.structures["x_real"].values[:, 4:], columns(CycleCounts((3,))))
    with pytest.raises(DataError):
        WalkEncoding(into="walks")(WalkEncoding(into="walks")(PACKED))
    with pytest.raises(DataError):
        add_structures(PACKED, {"batch": Structure(np.zeros(len(PACKED.x)), "node")}, "mine")


def test_json_brings_every_transform_back() -> None:
    for transform in NODE_LEVEL:
        assert Transform.from_json(transform.to_json()) == transform
    assert {type(transform).name for transform in NODE_LEVEL} <= TRANSFORMS.keys()
    assert Transform.from_json("cycle_counts") == CycleCounts()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ("walk_encodin", "'walk_encoding'"),
        ({"steps": 3}, "'None'"),
        ({"name": "walk_encoding", "step": 3}, "'step'.*steps, into"),
        ({"name": "walk_encoding", "steps": 0}, "'steps'"),
        ({"name": "laplacian_encoding", "k": 0}, "'k'"),
        ({"name": "cycle_counts", "sizes": [2]}, ">= 3"),
        ({"name": "descriptors", "clip": 0}, "'clip'"),
    ],
)
def test_wrong_settings_are_named(stored: object, message: str) -> None:
    with pytest.raises((DataError, ConfigError), match=message):
        Transform.from_json(stored)  # type: ignore[arg-type]
