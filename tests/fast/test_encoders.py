"""Rows that come out of a layer alike are computed once, and nobody can tell."""

from __future__ import annotations

import copy
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor
from torch_geometric.data import Data

from policylearn.bags import NO_PICK, Bag, Graphs, Selection, mark_nodes
from policylearn.fast import accelerate
from policylearn.fast.classes import NetworkClasses
from policylearn.fast.encoders import CompiledTwoStreamEncoder, MarkedRows
from policylearn.fast.row_loops import number_rows
from policylearn.nn import Encoder
from tests.graphs import batch_of, data_of, molecules, random_graphs, small_model

LONG = data_of(nx.path_graph(30), torch.Generator().manual_seed(0))


def encoders(norm: str = "batch", **changes: object) -> tuple[Encoder, CompiledTwoStreamEncoder]:
    """A plain encoder in double precision, and its twin with weights of its own."""
    plain = small_model("random", norm=norm, dtype=torch.float64, **changes).train()
    fast = accelerate(copy.deepcopy(plain))
    assert isinstance(fast.encoder, CompiledTwoStreamEncoder)
    return plain.encoder, fast.encoder


def outcome(encoder: Encoder, graphs: Graphs, bag: Bag) -> list[Tensor]:
    """The states of all rows, the gradients of all weights, and the norms' statistics."""
    encoder.zero_grad()
    states = encoder(graphs, bag)
    (states * torch.arange(states.numel(), dtype=states.dtype).view_as(states).cos()).sum().backward()
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad.clone() for one in encoder.parameters()]
    return [states.detach(), *gradients, *(one.clone() for one in encoder.buffers())]


def assert_alike(both: tuple[Encoder, Encoder], graphs: Graphs, bag: Bag) -> None:
    for a, b in zip(*(outcome(one, graphs, bag) for one in both), strict=True):
        assert torch.allclose(a, b, atol=1e-8, rtol=1e-8), (a - b).abs().max()


def merged_rows(encoder: CompiledTwoStreamEncoder, graphs: Graphs, bag: Bag) -> tuple[MarkedRows, NetworkClasses]:
    """What the encoder computes: the rows of marked copies, and the classes of these and of the unmarked graphs."""
    network = encoder.network(graphs, bag)
    assert network is not None
    found = MarkedRows.of(bag, graphs, depth=len(encoder.layers))
    classes, _ = network.marked(found.cones, found.marks)
    return found, network.unmarked.with_marked(classes)


def picked(graphs: Graphs, steps: int) -> Selection:
    """Some nodes of every graph; later steps leave out graphs that have too few, and a node may come twice."""
    generator = torch.Generator().manual_seed(steps)
    sizes = graphs.sizes
    nodes = (torch.rand(steps, graphs.num_graphs, generator=generator) * sizes).long() + graphs.ptr[:-1]
    return Selection(nodes.where(torch.arange(steps).unsqueeze(1) < sizes, NO_PICK))


def test_nodes_of_paths_differ_by_how_far_they_are_from_an_end() -> None:
    graphs = Graphs.of(batch_of(data_of(nx.path_graph(9)), data_of(nx.path_graph(20))))
    bag = mark_nodes(graphs, Selection.nothing(graphs.ptr), dtype=torch.float64)
    network = encoders(layers=3)[1].network(graphs, bag)
    assert network is not None
    assert network.unmarked.features.counts == [1, 2, 3, 4]
    assert network.unmarked.marks.counts == [1, 2, 3, 4]


def test_marked_rows_differ_within_the_reach_of_a_mark() -> None:
    graphs = Graphs.of(batch_of(data_of(nx.path_graph(30)), data_of(nx.path_graph(40))))
    bag = mark_nodes(graphs, Selection(torch.tensor([[15, 45], [15, 30]])), dtype=torch.float64)
    found, both = merged_rows(encoders(layers=3)[1], graphs, bag)
    # Unmarked nodes differ by their distance to an end. Three marks are far from both ends, and look the same from
    # their two sides. One is at an end, and the node that it has just reached does not know that yet.
    assert both.features.counts == [1 + 1, 2 + 2 + 1, 3 + 3 + 2, 4 + 4 + 3]
    for layer, weights in enumerate(found.weights(bag)):
        rows = both.rows(found.weights(bag))[layer].features
        assert weights.sum() == rows.total == bag.num_rows
        assert rows.weights is not None
        assert rows.weights.sum() == bag.num_rows
    for classes in (both.features, both.marks):
        assert all(len(np.unique(of)) == count for of, count in zip(classes.of_rows, classes.counts, strict=True))


@given(random_graphs())
def test_rows_of_one_class_are_alike_in_the_plain_network(graph: Data) -> None:
    graphs = Graphs.of(batch_of(graph, graph, *molecules(3)))
    plain, fast = encoders("layer")
    bag = mark_nodes(graphs, picked(graphs, 2), dtype=torch.float64)
    found, both = merged_rows(fast, graphs, bag)
    states = plain(graphs, bag).detach()
    classes = torch.from_numpy(both.features.of_rows[-1][found.place])
    first = torch.from_numpy(number_rows(classes.numpy().reshape(-1, 1))[1])
    one_of_each = torch.empty(int(classes.max()) + 1, dtype=torch.long)
    one_of_each[classes[first]] = first
    assert torch.allclose(states, states[one_of_each[classes]], atol=1e-12)


def test_integers_are_told_apart_exactly() -> None:
    keys = np.array([[1, 2], [2, 1], [1, 2], [-1, 2], [2, 1]])
    classes, firsts = number_rows(keys)
    assert classes.tolist() == [0, 1, 0, 2, 1]
    assert firsts.tolist() == [0, 1, 3]
    many = np.random.default_rng(0).integers(0, 30, (5000, 3))
    classes, firsts = number_rows(many)
    assert len(firsts) == len(np.unique(many, axis=0))
    assert np.array_equal(many[firsts[classes]], many)


@pytest.mark.parametrize("leaves", [5, 100])
def test_the_order_of_neighbours_does_not_count_and_each_of_them_does(leaves: int) -> None:
    colours = torch.arange(leaves) % 3
    stars = [data_of(nx.star_graph(leaves)) for _ in range(3)]
    for star, own in zip(
        stars, (colours, colours.flip(0), colours.clone().index_fill_(0, torch.tensor(0), 4)), strict=True
    ):
        star.x[1:, 0], star.x[0, 0], star.edge_attr[:] = own, 3, 0
    graphs = Graphs.of(batch_of(*stars))
    bag = mark_nodes(graphs, Selection(graphs.ptr[:-1].unsqueeze(0)), dtype=torch.float64)
    both = encoders("layer")
    hubs = merged_rows(both[1], graphs, bag)[1].features.of_rows[1][graphs.ptr[:-1]]
    assert hubs[0] == hubs[1]
    assert hubs[0] != hubs[2]
    assert_alike(both, graphs, bag)


def test_nodes_that_an_encoder_of_ones_own_may_tell_apart_are_not_merged() -> None:
    graphs = Graphs.of(batch_of(data_of(nx.path_graph(9))))
    bag = mark_nodes(graphs, Selection.nothing(graphs.ptr), dtype=torch.float64)
    encoder = encoders()[1]
    encoder.node_encoder.register_forward_hook(lambda *_: None)
    network = encoder.network(graphs, bag)
    assert network is not None
    assert network.unmarked.features.counts[0] == 9


def test_ids_that_change_in_place_are_read_again() -> None:
    graphs = Graphs.of(batch_of(*molecules(4)))
    bag = mark_nodes(graphs, picked(graphs, 2), dtype=torch.float64)
    both = encoders()
    assert_alike(both, graphs, bag)
    graphs.x.copy_(graphs.x.flip(0))
    assert_alike(both, graphs, bag)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@given(random_graphs())
def test_states_gradients_and_statistics_are_those_of_whole_copies(norm: str, graph: Data) -> None:
    graphs = Graphs.of(batch_of(LONG, graph, *molecules(3)))
    both = encoders(norm)
    for unmarked in (True, False):
        bag = mark_nodes(graphs, picked(graphs, 3), dtype=torch.float64, unmarked=unmarked)
        assert_alike(both, graphs, bag)


@pytest.mark.parametrize("changes", [{"residual": False}, {"layers": 1}, {"norm": "layer"}])
def test_other_networks(changes: dict[str, object]) -> None:
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    assert_alike(encoders(**changes), graphs, mark_nodes(graphs, picked(graphs, 2), dtype=torch.float64))


def with_marked_neighbours(bag: Bag) -> Bag:
    """A bag as a rule of one's own may make it: the picked node has the mark 1, its neighbours have a half."""
    edges = bag.row_adjacency
    heard = torch.zeros_like(bag.marks).index_add(0, edges.target, bag.marks[edges.source])
    return replace(bag, marks=torch.maximum(bag.marks, heard.clamp(max=1) / 2))


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("unmarked", [True, False])
def test_several_marks_in_a_copy(norm: str, unmarked: bool) -> None:
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    bag = with_marked_neighbours(mark_nodes(graphs, picked(graphs, 2), dtype=torch.float64, unmarked=unmarked))
    both = encoders(norm)
    assert_alike(both, graphs, bag)


def test_copies_beside_an_unmarked_graph_that_is_known() -> None:
    """As a policy looks at them one after the other: gradients go into the known states too."""
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    nothing = mark_nodes(graphs, Selection.nothing(graphs.ptr), dtype=torch.float64)
    bag = mark_nodes(graphs, picked(graphs, 2), dtype=torch.float64, unmarked=False)
    plain, fast = encoders("layer")
    known = fast.unmarked(graphs, nothing)
    merged = fast.merged(graphs, bag, known)
    assert merged is not None
    whole = plain(graphs, bag)
    assert torch.allclose(whole, merged, atol=1e-10)
    for states in (whole, merged):
        (states * torch.arange(states.numel(), dtype=states.dtype).view_as(states).sin()).sum().backward()
    for a, b in zip(plain.parameters(), fast.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=1e-8)
    assert encoders("batch")[1].unmarked(graphs, nothing) is None


def test_whole_copies_where_rows_are_not_alike() -> None:
    graphs = Graphs.of(batch_of(LONG, *molecules(4)))
    bag = mark_nodes(graphs, picked(graphs, 2))
    encoder = accelerate(small_model("random").train()).encoder
    assert encoder.merged(graphs, bag) is not None
    marks = torch.zeros(2, graphs.num_nodes, requires_grad=True)
    assert encoder.merged(graphs, mark_nodes(graphs, Selection(picked(graphs, 2).roots, marks=marks))) is None
    dropping = accelerate(small_model("random", dropout=0.5).train()).encoder
    assert dropping.merged(graphs, bag) is None
    with torch.no_grad():
        assert encoder.eval().merged(graphs, bag) is None


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("copies", [0, 2])
@pytest.mark.parametrize("evaluated", [False, True])
def test_an_encoder_of_one_stream(norm: str, copies: int, evaluated: bool) -> None:
    """It does not see marks, so that all copies of a node are alike."""
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    plain = small_model("none", norm=norm, dtype=torch.float64).train(not evaluated)
    fast = accelerate(copy.deepcopy(plain))
    bag = mark_nodes(graphs, picked(graphs, copies), dtype=torch.float64)
    if evaluated:
        with torch.no_grad():
            assert torch.allclose(plain.encoder(graphs, bag), fast.encoder(graphs, bag), atol=1e-10)
    else:
        assert_alike((plain.encoder, fast.encoder), graphs, bag)
