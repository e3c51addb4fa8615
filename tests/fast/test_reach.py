"""In training, rows that no mark has reached are computed once for all copies, and nobody can tell."""

from __future__ import annotations

import copy

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch_geometric.data import Data

from policylearn.bags import NO_PICK, Bag, Graphs, Selection, mark_nodes
from policylearn.fast import accelerate, threads
from policylearn.fast.reach import CompiledTwoStreamEncoder, MarkReach
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


def reach_of(encoder: CompiledTwoStreamEncoder, bag: Bag) -> MarkReach | None:
    """What the encoder would compute; None for whole copies."""
    parts = encoder._parts(bag)
    return None if parts is None else MarkReach.of(bag, len(parts))


def picked(graphs: Graphs, steps: int, marks: int = 1) -> Selection:
    """Some nodes of every graph; later steps leave out graphs that have too few, and a node may come twice."""
    generator = torch.Generator().manual_seed(steps)
    sizes = graphs.sizes
    nodes = (torch.rand(steps, marks, graphs.num_graphs, generator=generator) * sizes).long() + graphs.ptr[:-1]
    nodes = nodes.where(torch.arange(steps).view(-1, 1, 1) < sizes, NO_PICK)
    return Selection(nodes[:, 0], further=nodes[:, 1:] if marks > 1 else None)


def test_rows_beyond_the_reach_of_a_mark_stand_for_all_copies() -> None:
    graphs = Graphs.of(batch_of(data_of(nx.path_graph(9)), data_of(nx.path_graph(20))))
    bag = mark_nodes(graphs, Selection(torch.tensor([[4, 9], [4, 28]])))
    reach = MarkReach.of(bag, 3)
    assert reach is not None
    assert [rows.count - 29 for rows in reach.layers] == [3 + 2 + 3 + 2, 5 + 3 + 5 + 3, 7 + 4 + 7 + 4]
    assert reach.layers[0].inside == 29 + 4
    assert reach.marks.squeeze(1).tolist() == [0.0] * 29 + [1.0] * 4
    for rows in reach.layers:
        assert rows.weights.sum() == rows.total == bag.num_rows
    assert reach.layers[1].weights[:9].tolist() == [3, 3, 1, 1, 1, 1, 1, 3, 3]
    nodes = torch.from_numpy(reach.layers[-1].incoming[0])
    assert torch.equal(nodes[reach.place], bag.node)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@settings(max_examples=15, deadline=None)
@given(random_graphs())
def test_states_gradients_and_statistics_are_those_of_whole_copies(norm: str, graph: Data) -> None:
    graphs = Graphs.of(batch_of(LONG, graph, *molecules(3)))
    both = encoders(norm)
    for unmarked in (True, False):
        bag = mark_nodes(graphs, picked(graphs, 3), dtype=torch.float64, unmarked=unmarked)
        assert reach_of(both[1], bag) is not None
        assert_alike(both, graphs, bag)


@pytest.mark.parametrize("marks", [1, 2])
@pytest.mark.parametrize("threaded", [1, 2])
@pytest.mark.parametrize("changes", [{"residual": False}, {"layers": 1}, {"norm": "layer"}])
def test_marks_pieces_and_threads(
    marks: int, threaded: int, changes: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PIECE", 40)
    monkeypatch.setattr(threads, "SMALL", 1)
    monkeypatch.setattr("policylearn.fast.reach.kernel_threads", lambda: threaded)
    threads.row_pieces.cache_clear()
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    assert_alike(encoders(**changes), graphs, mark_nodes(graphs, picked(graphs, 2, marks), dtype=torch.float64))
    threads.row_pieces.cache_clear()


@pytest.mark.parametrize("marks", [1, 2])
def test_copies_beside_an_unmarked_graph_that_is_known(marks: int) -> None:
    """As a policy looks at them one after the other: gradients go into the known states too."""
    graphs = Graphs.of(batch_of(LONG, *molecules(6)))
    nothing = mark_nodes(graphs, Selection.nothing(graphs.ptr), dtype=torch.float64)
    bag = mark_nodes(graphs, picked(graphs, 2, marks), dtype=torch.float64, unmarked=False)
    plain, fast = encoders("layer")
    known = fast.unmarked(graphs, nothing)
    by_reach = fast.reached(graphs, bag, known)
    assert by_reach is not None
    whole = plain(graphs, bag)
    assert torch.allclose(whole, by_reach, atol=1e-10)
    for states in (whole, by_reach):
        (states * torch.arange(states.numel(), dtype=states.dtype).view_as(states).sin()).sum().backward()
    for a, b in zip(plain.parameters(), fast.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=1e-8)
    assert encoders("batch")[1].unmarked(graphs, nothing) is None


def test_whole_copies_where_rows_are_not_alike() -> None:
    graphs = Graphs.of(batch_of(LONG, *molecules(4)))
    bag = mark_nodes(graphs, picked(graphs, 2))
    encoder = accelerate(small_model("random").train()).encoder
    assert reach_of(encoder, bag) is not None
    marks = torch.zeros(2, graphs.num_nodes, requires_grad=True)
    assert reach_of(encoder, mark_nodes(graphs, Selection(picked(graphs, 2).roots, marks=marks))) is None
    assert reach_of(encoder, mark_nodes(graphs, Selection.nothing(graphs.ptr))) is None
    dropping = accelerate(small_model("random", dropout=0.5).train()).encoder
    assert reach_of(dropping, bag) is None
    by_slot = accelerate(small_model("learned", shared=True, norm="batch").train()).encoder
    assert reach_of(by_slot, bag) is None
    star = Graphs.of(batch_of(data_of(nx.star_graph(20))))
    assert reach_of(encoder, mark_nodes(star, Selection(torch.tensor([[0]])))) is None  # a mark reaches everything
    with torch.no_grad():
        assert reach_of(encoder.eval(), bag) is None
