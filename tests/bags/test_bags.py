from __future__ import annotations

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from policylearn.bags import NO_PICK, Bag, Selection

PTR = torch.tensor([0, 3, 5])
BATCH = torch.tensor([0, 0, 0, 1, 1])


def test_slot_zero_is_unmarked_and_each_pick_has_a_copy() -> None:
    bag = Bag.of(Selection(torch.tensor([[2, 3], [0, 4]])), BATCH, torch.float32)
    assert bag.width == 3
    assert bag.marks.view(5, 3).tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert bag.row_ptr.tolist() == [0, 3, 6, 9, 12, 15]


def test_graphs_may_differ_in_their_number_of_copies() -> None:
    bag = Bag.of(Selection(torch.tensor([[0, 4], [1, NO_PICK]])), BATCH, torch.float64)
    assert bag.width is None
    assert bag.slots.tolist() == [3, 2]
    assert bag.row_ptr.tolist() == [0, 3, 6, 9, 11, 13]
    assert bag.marks.tolist() == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    assert bag.marks.dtype == torch.float64


def test_marks_that_are_given_carry_gradient() -> None:
    marks = torch.zeros(1, 5).scatter(1, torch.tensor([[1, 3]]), 1.0).requires_grad_()
    bag = Bag.of(Selection(torch.tensor([[1, 3]]), marks=marks), BATCH, torch.float32)
    assert bag.marks.requires_grad
    assert torch.equal(bag.marks, Bag.of(Selection(torch.tensor([[1, 3]])), BATCH, torch.float32).marks)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 30))
def test_chunks_hold_the_same_copies_within_the_limit(first: int, second: int, max_rows: int) -> None:
    steps = torch.arange(max(first, second)).unsqueeze(1)
    roots = torch.where(steps < torch.tensor([first, second]), torch.tensor([0, 3]) + steps % 2, NO_PICK)
    selection = Selection(roots).validate(PTR)
    whole = Bag.of(selection, BATCH, torch.float32)
    pieces = list(Bag.chunks(selection, PTR, BATCH, torch.float32, max_rows))
    assert torch.equal(sum(piece.slots for piece in pieces), whole.slots)
    for piece in pieces:
        one_slot = int(PTR[-1])
        assert len(piece.marks) <= max(max_rows, one_slot)
    for node in range(5):
        joined = torch.cat([p.marks[p.row_ptr[node] : p.row_ptr[node + 1]] for p in pieces])
        assert torch.equal(joined, whole.marks[whole.row_ptr[node] : whole.row_ptr[node + 1]])


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(torch.tensor([[0, 1]])), r"pick 0 of graph 1 is node 1, but that graph holds nodes 3 to 4"),
        (Selection(torch.tensor([[0, 5]])), r"pick 0 of graph 1 is node 5"),
        (Selection(torch.tensor([[0]])), r"'roots' must have shape \(T, 2\)"),
        (Selection(torch.tensor([0, 3])), r"'roots' must have shape"),
        (Selection(torch.tensor([[0.0, 3.0]])), r"int64 \(got torch.float32\); use roots.long\(\)"),
        (Selection(torch.tensor([[NO_PICK, 3], [0, 4]])), r"a pick after its last one"),
        (Selection(torch.tensor([[0, 3]]), marks=torch.zeros(1, 4)), r"'marks' must have shape \(1, 5\)"),
        (Selection(torch.tensor([[0, NO_PICK]]), marks=torch.zeros(1, 5)), r"'marks' need a pick of every graph"),
    ],
)
def test_selections_that_do_not_fit_are_refused(selection: Selection, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        selection.validate(PTR)


def test_local_roots_count_within_each_graph() -> None:
    assert Selection(torch.tensor([[2, 3], [0, NO_PICK]])).local_roots(PTR).tolist() == [[2, 0], [0, NO_PICK]]
