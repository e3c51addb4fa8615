from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch

from policylearn.bags import NO_PICK, Bag, EgoNets, Graphs, Selection, delete_nodes, mark_nodes, pieces
from tests.errors import raises_naming

PTR = torch.tensor([0, 3, 5])
BATCH = torch.tensor([0, 0, 0, 1, 1])
PATHS = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])  # a path of three nodes and one of two
GRAPHS = Graphs.of(Batch(x=torch.zeros(5, 1), edge_index=PATHS, batch=BATCH, ptr=PTR))


def test_tensors_by_name_are_as_good_as_a_batch() -> None:
    tensors = {"x": torch.zeros(5, 1), "edge_index": PATHS, "batch": BATCH, "ptr": PTR, "extra": torch.ones(2)}
    assert_same(Graphs.of(tensors), Graphs.of(Batch(**tensors)))
    assert_same(Graphs.of({name: tensors[name] for name in ("x", "edge_index", "batch", "extra")}), Graphs.of(tensors))
    with raises_naming(ValueError, "'x'"):
        Graphs.of({"edge_index": PATHS})
    with raises_naming(ValueError, "'edge_index'"):
        Graphs.of({"x": torch.zeros(5, 1)})


def assert_same(one: Graphs, other: Graphs) -> None:
    for name in ("x", "edge_index", "batch", "ptr"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.extras.keys() == other.extras.keys() == {"extra"}


def test_slot_zero_is_unmarked_and_each_pick_has_a_copy() -> None:
    bag = mark_nodes(GRAPHS, Selection(torch.tensor([[2, 3], [0, 4]])))
    assert bag.width == 3
    assert bag.marks.view(5, 3).tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert bag.row_ptr.tolist() == [0, 3, 6, 9, 12, 15]


def test_graphs_may_differ_in_their_number_of_copies() -> None:
    bag = mark_nodes(GRAPHS, Selection(torch.tensor([[0, 4], [1, NO_PICK]])), dtype=torch.float64)
    assert bag.width is None
    assert bag.slots.tolist() == [3, 2]
    assert bag.row_ptr.tolist() == [0, 3, 6, 9, 11, 13]
    assert bag.marks.squeeze(1).tolist() == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert bag.marks.dtype == torch.float64


def test_marks_that_are_given_carry_gradient() -> None:
    marks = torch.zeros(1, 5).scatter(1, torch.tensor([[1, 3]]), 1.0).requires_grad_()
    bag = mark_nodes(GRAPHS, Selection(torch.tensor([[1, 3]]), marks=marks))
    assert bag.marks.requires_grad
    assert torch.equal(bag.marks, mark_nodes(GRAPHS, Selection(torch.tensor([[1, 3]]))).marks)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 30))
def test_chunks_hold_the_same_copies_within_the_limit(first: int, second: int, max_rows: int) -> None:
    steps = torch.arange(max(first, second)).unsqueeze(1)
    roots = torch.where(steps < torch.tensor([first, second]), torch.tensor([0, 3]) + steps % 2, NO_PICK)
    selection = Selection(roots).validate(PTR)
    whole = mark_nodes(GRAPHS, selection)
    parts = [mark_nodes(GRAPHS, one, unmarked=unmarked) for one, unmarked in pieces(GRAPHS, selection, max_rows)]
    assert torch.equal(sum(piece.slots for piece in parts), whole.slots)
    for piece in parts:
        one_slot = int(PTR[-1])
        assert len(piece.marks) <= max(max_rows, one_slot)
    for node in range(5):
        joined = torch.cat([p.marks[p.row_ptr[node] : p.row_ptr[node + 1]] for p in parts])
        assert torch.equal(joined, whole.marks[whole.row_ptr[node] : whole.row_ptr[node + 1]])


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(torch.tensor([[0, 1]])), "graph 1 is node 1"),
        (Selection(torch.tensor([[0, 5]])), "graph 1 is node 5"),
        (Selection(torch.tensor([[0]])), r"'roots'.*\(1, 1\)"),
        (Selection(torch.tensor([0, 3])), r"'roots'.*\(2,\)"),
        (Selection(torch.tensor([[0.0, 3.0]])), r"roots.long\(\)"),
        (Selection(torch.tensor([[NO_PICK, 3], [0, 4]])), "NO_PICK"),
        (Selection(torch.tensor([[0, 3]]), marks=torch.zeros(1, 4)), r"'marks'.*\(1, 4\)"),
        (Selection(torch.tensor([[0, NO_PICK]]), marks=torch.zeros(1, 5)), "'marks'.*ragged"),
    ],
)
def test_selections_that_do_not_fit_are_refused(selection: Selection, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        selection.validate(PTR)


def test_local_roots_count_within_each_graph() -> None:
    assert Selection(torch.tensor([[2, 3], [0, NO_PICK]])).local_roots(PTR).tolist() == [[2, 0], [0, NO_PICK]]


def rows(bag: Bag) -> list[tuple[int, int, int, float]]:
    """Copy, node, root and mark of each row."""
    columns = (bag.copy, bag.node, bag.root, bag.marks[:, 0])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def edges(bag: Bag) -> list[tuple[int, int, int, int]]:
    """Copy, source node, target node and column of ``edge_index`` of each edge of each copy."""
    adjacency = bag.row_adjacency
    assert torch.equal(bag.copy[adjacency.source], bag.copy[adjacency.target]), "an edge stays in its copy"
    ends = (bag.copy[adjacency.source], bag.node[adjacency.source], bag.node[adjacency.target], adjacency.edge)
    return sorted(zip(*(one.tolist() for one in ends), strict=True))


def test_rows_know_their_node_copy_and_root() -> None:
    ragged = mark_nodes(GRAPHS, Selection(torch.tensor([[0, 4], [1, NO_PICK]])))
    assert rows(ragged) == [
        (0, 0, -1, 0), (0, 1, -1, 0), (0, 2, -1, 0),
        (1, 0, 0, 1), (1, 1, 0, 0), (1, 2, 0, 0),
        (2, 0, 1, 0), (2, 1, 1, 1), (2, 2, 1, 0),
        (3, 3, -1, 0), (3, 4, -1, 0), (4, 3, 4, 0), (4, 4, 4, 1),
    ]  # fmt: skip
    assert ragged.graph_of_copy.tolist() == [0, 0, 0, 1, 1]
    assert len(edges(ragged)) == 3 * 4 + 2 * 2


def test_ego_nets_hold_what_is_near_with_its_own_edges() -> None:
    bag = EgoNets(hops=1)(GRAPHS, Selection(torch.tensor([[0, 4]])), unmarked=False)
    assert rows(bag) == [(0, 0, 0, 1), (0, 1, 0, 0), (1, 3, 4, 0), (1, 4, 4, 1)]
    assert edges(bag) == [(0, 0, 1, 0), (0, 1, 0, 1), (1, 3, 4, 4), (1, 4, 3, 5)]
    alone = EgoNets(hops=0)(GRAPHS, Selection(torch.tensor([[0, 4]])))
    assert rows(alone)[3:] == [(1, 0, 0, 1), (2, 3, -1, 0), (2, 4, -1, 0), (3, 4, 4, 1)]
    assert len(edges(alone)) == 6


def test_deleted_nodes_are_gone_with_their_edges() -> None:
    bag = delete_nodes(GRAPHS, Selection(torch.tensor([[1, 4]])), unmarked=False)
    assert rows(bag) == [(0, 0, 1, 0), (0, 2, 1, 0), (1, 3, 4, 0)]
    assert edges(bag) == []


@pytest.mark.parametrize("rule", [mark_nodes, EgoNets(hops=1), EgoNets(hops=2), delete_nodes])
@pytest.mark.parametrize("last", [NO_PICK, 3])
def test_first_copies_of_a_bag_are_the_bag_of_the_first_picks(rule: object, last: int) -> None:
    selection = Selection(torch.tensor([[2, 3], [0, 4], [1, last]]))
    bag = rule(GRAPHS, selection)
    for picks in range(4):
        wanted = rule(GRAPHS, selection.steps(0, picks))
        for ours, theirs in ((bag.node, wanted.node), (bag.slot, wanted.slot), (bag.root, wanted.root)):
            assert torch.equal(bag.first_copies(ours.unsqueeze(1), 1 + picks)[:, 0], theirs)
        assert torch.equal(bag.first_copies(bag.marks, 1 + picks), wanted.marks)


def test_gradients_through_marks_reach_ego_nets_and_are_refused_where_nothing_is_marked() -> None:
    marks = torch.zeros(1, 5).scatter(1, torch.tensor([[1, 3]]), 1.0).requires_grad_()
    selection = Selection(torch.tensor([[1, 3]]), marks=marks)
    bag = EgoNets(hops=1)(GRAPHS, selection)
    (gradient,) = torch.autograd.grad(bag.marks.sum(), marks)
    assert gradient.tolist() == [[1, 1, 1, 1, 1]]
    with raises_naming(ValueError, "'reinforce'"):
        delete_nodes(GRAPHS, selection)
    with raises_naming(ValueError, "mark=True"):
        EgoNets(hops=1, mark=False)(GRAPHS, selection)


def test_copies_can_lose_edges() -> None:
    bag = mark_nodes(GRAPHS, Selection(torch.tensor([[1, 4]])))
    before = bag.row_adjacency
    kept = (bag.slot[before.source] == 0) | (bag.root[before.source] == bag.node[before.source])
    fewer = bag.keep_edges(kept)
    assert not fewer.shares_edges
    assert rows(fewer) == rows(bag)
    assert edges(fewer) == [one for one in edges(bag) if one[0] in (0, 2) or one[1] in (1, 4)]


@pytest.mark.parametrize(
    ("kept", "got"),
    [
        (torch.ones(3, dtype=torch.bool), "(3,)"),
        (torch.ones(24, 1, dtype=torch.bool), "(24, 1)"),
        (torch.ones(24, dtype=torch.long), "int64"),
    ],
)
def test_a_mask_of_edges_must_fit(kept: torch.Tensor, got: str) -> None:
    bag = mark_nodes(GRAPHS, Selection(torch.tensor([[1, 4]])))
    edges = f"({len(bag.row_adjacency.source)},)"
    with raises_naming(ValueError, "'kept'", "torch.bool", edges, got):
        bag.keep_edges(kept)
