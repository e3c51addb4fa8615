"""Pieces cover all rows once, threads are given back, and what goes wrong in a thread is seen."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from policylearn.fast.layer_loops import meet
from policylearn.fast.threads import (
    PIECE,
    SMALL,
    Piece,
    Pieces,
    Team,
    kernel_threads,
    own_threads,
    side_by_side,
    together,
)


@pytest.fixture(autouse=True)
def restored_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    assert kernel_threads() == torch.get_num_threads()
    torch.set_num_threads(before)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.integers(1, 4), st.sampled_from([1, 7, 300, 1 << 20]))
def test_every_row_is_in_one_piece(counts: list[int], threads: int, most: int) -> None:
    torch.set_num_threads(threads)
    row_ptr = np.concatenate([[0], np.cumsum(counts)])
    seen: list[Piece] = []
    Pieces(row_ptr, most).each(seen.append)
    rows = sorted(row for piece in seen for row in range(piece.rows.start, piece.rows.stop))
    assert rows == list(range(row_ptr[-1]))
    nodes = [node for piece in seen for node in range(*piece.nodes)]
    assert len(set(nodes)) == len(nodes)
    assert {node for node, count in enumerate(counts) if count} <= set(nodes)
    for piece in seen:
        assert piece.rows.stop > piece.rows.start
        assert (piece.rows.start, piece.rows.stop) == tuple(row_ptr[list(piece.nodes)])
        # A piece may be larger than asked for by what a node has, for nodes are not cut.
        assert piece.rows.stop - piece.rows.start < most + max(counts)


def test_no_piece_is_without_rows() -> None:
    """A batch norm would divide by their number: here one node has all rows, and a node without rows comes last."""
    torch.set_num_threads(2)
    seen: list[Piece] = []
    Pieces(np.array([0, SMALL, SMALL]), PIECE).each(seen.append)
    assert [piece.rows for piece in seen] == [slice(0, SMALL)]


def test_few_rows_have_one_thread_and_many_have_all() -> None:
    torch.set_num_threads(3)
    assert Pieces(np.arange(SMALL), PIECE).threads == 1
    assert Pieces(np.arange(SMALL + 1), PIECE).threads == 3
    assert Pieces(np.array([0, 5 * SMALL]), PIECE).threads == 1  # one node, which is not cut


def test_torch_has_one_thread_while_ours_have_all() -> None:
    torch.set_num_threads(3)
    with own_threads():
        assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
        with own_threads():
            assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
        assert (torch.get_num_threads(), kernel_threads()) == (1, 3)
    assert (torch.get_num_threads(), kernel_threads()) == (3, 3)


def test_threads_are_given_back_after_an_error() -> None:
    torch.set_num_threads(2)
    with pytest.raises(ZeroDivisionError), own_threads():
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("own", [True, False])
def test_within_a_piece_there_is_one_thread(own: bool) -> None:
    torch.set_num_threads(2)
    seen: list[tuple[int, int]] = []

    def work(_piece: Piece) -> None:
        seen.append((torch.get_num_threads(), kernel_threads()))

    if own:
        with own_threads():
            Pieces(np.arange(SMALL + 1), PIECE).each(work)
    else:
        Pieces(np.arange(SMALL + 1), PIECE).each(work)
    assert seen == [(1, 1), (1, 1)]


def test_an_error_in_a_thread_is_raised() -> None:
    torch.set_num_threads(2)

    def work(piece: Piece) -> None:
        if piece.thread == 1:
            raise ValueError("in the second thread")

    with pytest.raises(ValueError, match="in the second thread"):
        Pieces(np.arange(SMALL + 1), PIECE).each(work)
    assert kernel_threads() == 2


def test_after_an_error_nothing_is_at_work_any_more() -> None:
    torch.set_num_threads(2)
    finished: list[int] = []

    def work(piece: Piece) -> None:
        if piece.thread == 0:
            raise ValueError("in the first thread")
        time.sleep(0.2)
        finished.append(piece.thread)

    for place in (own_threads(), nullcontext()):  # the first part is the caller's, or another thread's
        with pytest.raises(ValueError, match="in the first thread"), place:
            Pieces(np.arange(SMALL + 1), PIECE).each(work)
        assert finished == [1]
        finished.clear()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("own", [True, False])
def test_nobody_goes_on_before_all_have_come(threads: int, own: bool) -> None:
    torch.set_num_threads(threads)
    done: list[list[int]] = [[] for _ in range(threads)]
    seen: list[list[int]] = []

    def work(team: Team) -> None:
        for turn in range(20):
            done[team[0]].append(turn)
            meet(team)
            seen.append([len(one) for one in done])
            meet(team)

    with own_threads() if own else nullcontext():
        together(threads, work)
    assert seen == [[turn + 1] * threads for turn in range(20) for _ in range(threads)]


@pytest.mark.parametrize("broken", [0, 1])
@pytest.mark.parametrize("own", [True, False])
def test_nobody_waits_for_a_thread_that_has_failed(broken: int, own: bool) -> None:
    torch.set_num_threads(2)

    def work(team: Team) -> None:
        if team[0] == broken:
            raise ValueError("on the way to a meeting")
        meet(team)

    with pytest.raises(ValueError, match="on the way"), own_threads() if own else nullcontext():
        together(2, work)
    assert kernel_threads() == 2


def test_works_of_several_callers_do_not_wait_for_each_other() -> None:
    """With two workers in all, one of each of two works would wait for a partner that has no worker."""
    torch.set_num_threads(2)
    finished: list[int] = []

    def call(number: int) -> None:
        for _ in range(10):
            together(2, meet)
        finished.append(number)

    callers = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert sorted(finished) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_two_things_side_by_side(threads: int) -> None:
    torch.set_num_threads(threads)
    with own_threads():
        assert side_by_side(lambda: 1, lambda: "two") == (1, "two")
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda: 1, lambda: 1 / 0)


def test_a_forked_process_has_threads_of_its_own() -> None:
    """In a process of its own, since forking one with threads is what the test suite must not do itself."""
    program = """
import os, warnings
import numpy as np, torch
from policylearn.fast.threads import Pieces
warnings.simplefilter("ignore")
torch.set_num_threads(2)
def work():
    seen = []
    Pieces(np.arange(5000), 1 << 20).each(seen.append)
    return len(seen)
assert work() == 2
child = os.fork()
if child == 0:
    os._exit(0 if work() == 2 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
