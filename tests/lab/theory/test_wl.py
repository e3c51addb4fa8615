"""Colour refinement: it agrees with a plain one, does not see node order, and sees what marks show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.theory.wl import UNMARKED, marked_copies, refine
from policylearn.data import DataError, PackedGraphs
from policylearn.data.synthetic import csl_graph, join, shuffle_nodes
from tests.molecule_graphs import pack_edges


def random_graphs(seed: int, *, features: int = 1, bonds: int = 1) -> PackedGraphs:
    generator = np.random.default_rng(seed)
    nodes = generator.integers(1, 9, size=6)
    edges = [np.stack(np.triu_indices(size, k=1)) for size in nodes]
    edges = [part[:, generator.random(part.shape[1]) < 0.4] for part in edges]
    counts = np.array([part.shape[1] for part in edges])
    return pack_edges(
        np.concatenate(edges, axis=1),
        nodes,
        counts,
        x=generator.integers(features, size=(nodes.sum(), 2)),
        edge_attr=generator.integers(bonds, size=counts.sum()),
    )


def plain_refinement(graphs: PackedGraphs, marks: np.ndarray) -> list[int]:
    """One node, one tuple and one dictionary at a time."""
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    source, target = graphs.edge_index + first
    labels = np.asarray(graphs.edge_attr).reshape(len(source), -1)
    colours = [(int(mark), *row) for mark, row in zip(marks, graphs.x.tolist(), strict=True)]
    while True:
        heard: list[list[object]] = [[] for _ in colours]
        for a, b, label in zip(source, target, labels.tolist(), strict=True):
            heard[b].append((tuple(label), colours[a]))
        numbers: dict[object, int] = {}
        after = [
            numbers.setdefault((own, tuple(sorted(map(repr, around)))), len(numbers))
            for own, around in zip(colours, heard, strict=True)
        ]
        if len(numbers) == len(set(colours)):
            return after
        colours = after


def same_partition(a: list[int], b: list[int]) -> bool:
    return len(set(a)) == len(set(b)) == len(set(zip(a, b, strict=True)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3]), st.sampled_from([1, 2]))
def test_it_is_the_partition_of_a_plain_refinement(seed: int, features: int, bonds: int) -> None:
    graphs = random_graphs(seed, features=features, bonds=bonds)
    marks = np.random.default_rng(seed).integers(2, size=len(graphs.x))
    found = refine(graphs, marks)
    assert found.stable
    assert same_partition(found.colours.tolist(), plain_refinement(graphs, marks))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_the_order_of_nodes_does_not_matter(seed: int) -> None:
    graphs = random_graphs(seed, features=2)
    moved = shuffle_nodes(graphs, np.random.default_rng(seed + 1))
    kinds = refine(join([graphs, moved])).kinds()
    assert kinds[: len(graphs)].tolist() == kinds[len(graphs) :].tolist()


def test_colours_are_compared_and_not_only_their_counts() -> None:
    path, lone_and_pair = np.array([[0, 1], [1, 2]]).T, np.array([[0, 1]]).T
    graphs = pack_edges(np.concatenate([path, lone_and_pair], axis=1), np.array([3, 3]), np.array([2, 1]))
    found = refine(graphs)
    assert found.class_sizes(0) == found.class_sizes(1) == (1, 2)
    assert found.kinds()[0] != found.kinds()[1]


def test_rounds_stop_where_they_are_told_to() -> None:
    line = pack_edges(np.stack([np.arange(8), np.arange(1, 9)]), np.array([9]), np.array([8]))
    sizes = [refine(line, rounds=rounds).class_sizes(0) for rounds in (0, 1, 2)]
    assert sizes == [(9,), (2, 7), (2, 2, 5)]
    assert not refine(line, rounds=2).stable
    assert refine(line, rounds=50).rounds == refine(line).rounds == 4


def test_graphs_without_edges_and_single_nodes() -> None:
    graphs = pack_edges(np.zeros((2, 0), dtype=np.int64), np.array([1, 3]), np.array([0, 0]))
    found = refine(graphs)
    assert found.colours.tolist() == [0, 0, 0, 0]
    assert found.kinds()[0] != found.kinds()[1]


def test_figure_1_whatever_the_order_of_the_nodes() -> None:
    graphs = shuffle_nodes(join([csl_graph(13, 5), csl_graph(13, 3)]), np.random.default_rng(0))
    found = refine(*marked_copies(graphs, [0, 1, 0, 1], [7, 2, UNMARKED, UNMARKED]))
    assert [found.class_sizes(copy) for copy in range(4)] == [(1, 4, 4, 4), (1, 2, 2, 2, 2, 2, 2), (13,), (13,)]
    assert found.kinds()[2] == found.kinds()[3]
    assert found.kinds()[0] != found.kinds()[1]


def test_bad_marks_are_named() -> None:
    graph = csl_graph(13, 5)
    with pytest.raises(DataError):
        marked_copies(graph, [0, 0], [0, 13])
    with pytest.raises(DataError):
        refine(graph, np.zeros(12))


def test_a_mark_is_a_colour_like_a_feature() -> None:
    graph = csl_graph(13, 5)
    marks = np.zeros(13, dtype=np.int64)
    marks[3] = 1
    assert refine(graph, marks).colours.tolist() == refine(replace(graph, x=marks)).colours.tolist()
