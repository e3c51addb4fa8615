"""Ego nets, distances and resistances equal what a slow, plain program finds, and move with the nodes."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from policylearn.data import DataError, PackedGraphs, make_batch
from policylearn.data.transforms import Transform, apply, dense
from policylearn.data.transforms import pipeline as pipeline_file
from policylearn.data.transforms.ego_nets import AttachedEgoNets, Distances
from tests.data.transforms.samples import corner_graphs, shuffled

GRAPHS, PACKED = corner_graphs()
Rows = dict[tuple[int, int, int], tuple[float, ...]]


def rows_of(graphs: PackedGraphs, hops: int) -> Rows:
    """Distance, arrivals and resistance by graph, root and node."""
    found = AttachedEgoNets(hops, arrivals=True, resistance=True)(graphs).structures
    ptr = found["ego_root"].ptr
    graph = np.repeat(np.arange(len(graphs)), np.diff(ptr))
    names = ("ego_distance", "ego_arrivals", "ego_resistance")
    values = zip(*(found[name].values.tolist() for name in names), strict=True)
    keys = zip(graph.tolist(), found["ego_root"].values.tolist(), found["ego_node"].values.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


def brute_rows(hops: int) -> Rows:
    rows = {}
    for at, graph in enumerate(GRAPHS):
        for root in graph:
            distance = nx.single_source_shortest_path_length(graph, root, cutoff=hops)
            net = graph.subgraph(distance)
            nodes = list(net)
            pseudo = np.linalg.pinv(nx.laplacian_matrix(net, nodes).toarray().astype(float))
            place = {node: i for i, node in enumerate(nodes)}
            zero = place[root]
            for node, steps in distance.items():
                arrivals = sum(distance[other] == steps - 1 for other in net[node]) if steps else 0
                v = place[node]
                ohm = pseudo[zero, zero] + pseudo[v, v] - pseudo[zero, v] - pseudo[v, zero]
                rows[at, root, node] = (steps, arrivals, ohm)
    return rows


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 20])
def test_ego_nets_equal_brute_force(hops: int) -> None:
    found, expected = rows_of(PACKED, hops), brute_rows(hops)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert found[key] == pytest.approx(values, abs=1e-9), key


@pytest.mark.parametrize("cap", [1, 2, 5, 40])
def test_distances_equal_networkx(cap: int) -> None:
    structure = Distances(cap)(PACKED).structures["pair_distance"]
    for at, graph in enumerate(GRAPHS):
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        expected = [[min(lengths[u].get(v, cap), cap) for v in range(len(graph))] for u in range(len(graph))]
        got = structure.values[structure.ptr[at] : structure.ptr[at + 1]].reshape(len(graph), len(graph))
        assert got.tolist() == expected


def test_small_groups_of_nets_give_the_same_resistance(monkeypatch: pytest.MonkeyPatch) -> None:
    before = rows_of(PACKED, 2)
    monkeypatch.setattr(dense, "ENTRIES", 30)
    after = rows_of(PACKED, 2)
    assert all(after[key] == pytest.approx(values, abs=1e-12) for key, values in before.items())


def test_nodes_in_another_order_have_the_same_nets() -> None:
    moved, place = shuffled(PACKED, np.random.default_rng(2))
    after = rows_of(moved, 2)
    local = place - np.repeat(PACKED.node_ptr[:-1], PACKED.num_nodes)
    for (graph, root, node), values in rows_of(PACKED, 2).items():
        start = PACKED.node_ptr[graph]
        assert after[graph, local[start + root], local[start + node]] == pytest.approx(values, abs=1e-12)


def test_nets_follow_the_direction_of_messages() -> None:
    """A node hears the sources of its edges, so they are in its net; doubled edges and loops change no distance."""
    graphs = PackedGraphs(
        x=np.ones((3, 1)),
        edge_index=np.array([[0, 1, 1, 2], [1, 2, 2, 2]]),
        edge_attr=np.empty((4, 0)),
        node_ptr=np.array([0, 3]),
        edge_ptr=np.array([0, 4]),
        y=np.zeros(1),
    )
    rows = rows_of(graphs, 2)
    assert {key[1:]: values[:2] for key, values in rows.items()} == {
        (0, 0): (0, 0), (1, 0): (1, 1), (1, 1): (0, 0), (2, 0): (2, 1), (2, 1): (1, 2), (2, 2): (0, 0),
    }  # fmt: skip


def test_chunks_and_batches_hold_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    transforms: list[Transform] = [AttachedEgoNets(2, resistance=True), Distances(3)]
    whole = apply(transforms, PACKED)
    monkeypatch.setattr(pipeline_file, "CHUNK", 3)
    parts = apply(transforms, PACKED)
    for name, structure in whole.structures.items():
        np.testing.assert_allclose(parts.structures[name].values, structure.values, atol=1e-12)
        np.testing.assert_array_equal(parts.structures[name].ptr, structure.ptr)
    batch = make_batch(whole, [7, 0, 4])
    alone = make_batch(whole, [4])
    chosen = slice(batch.ego_root_ptr[2], batch.ego_root_ptr[3])
    assert (batch.ego_root[chosen] - batch.ptr[2]).tolist() == alone.ego_root.tolist()
    assert (batch.batch[batch.ego_root] == batch.batch[batch.ego_node]).all()


def test_no_graphs_have_no_rows() -> None:
    empty = replace(
        PACKED,
        x=PACKED.x[:0], edge_index=PACKED.edge_index[:, :0], edge_attr=PACKED.edge_attr[:0],
        node_ptr=np.zeros(1, dtype=np.int64), edge_ptr=np.zeros(1, dtype=np.int64), y=np.zeros(0),
    )  # fmt: skip
    for transform in (AttachedEgoNets(2, arrivals=True, resistance=True), Distances(2)):
        assert all(len(structure.values) == 0 for structure in transform(empty).structures.values())


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"name": "ego_nets", "hops": -1}, "'hops'"),
        ({"name": "distances", "cap": 0}, "'cap'"),
    ],
)
def test_wrong_settings_are_named(stored: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Transform.from_json(stored)
