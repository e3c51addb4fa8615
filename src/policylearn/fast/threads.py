"""Threads for the compiled loops.

They come from a pool of ours and not from numba's: that one shares OpenMP with torch and changes torch's number of
threads. Inside them torch's own operations use one thread.

Torch's threads keep asking for work for some milliseconds after each operation, and so keep ours from the processor.
Where nearly all work is in our loops, torch is better left with one thread: `own_threads`.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[Any]

SMALL = 1 << 11
"""Below so many rows there is one thread: a second has to be called and waited for, which takes about 60 us."""

WORTH_A_TEAM = 1 << 14
"""So many rows of all layers together make up for handing the lists of each layer to several threads: 128 molecules
without marks have fewer, and took 1.1 (training) and 1.2 times (inference) as long with two threads as with one."""

PIECE = 1 << 11
"""Rows of a piece: so many that a call is worth it, so few that what belongs to them is still in the cache."""

_ours: int | None = None
_at_work = threading.local()
_one_at_a_time = threading.Lock()


def kernel_threads() -> int:
    """How many threads the compiled loops use: as many as torch, or as torch had outside of `own_threads`.

    Within a piece of work there is one: the others have pieces of their own.
    """
    if getattr(_at_work, "depth", 0):
        return 1
    return torch.get_num_threads() if _ours is None else _ours


@contextmanager
def own_threads() -> Iterator[None]:
    """Give torch's threads to the compiled loops, and torch itself one, for the length of a block.

    Worth it around a whole training loop; an accelerated model does it by itself for a forward pass.
    """
    global _ours
    before = torch.get_num_threads()
    if before == 1 or _ours is not None:
        yield
        return
    _ours = before
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _ours = None
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Piece:
    """Neighbouring nodes and their rows, worked on by one thread at a time.

    Args:
        thread: which of the threads has it.
        nodes: from and to.
        rows: the rows of these nodes.
    """

    thread: int
    nodes: tuple[int, int]
    rows: slice

    @property
    def count(self) -> int:
        """How many rows it has."""
        return int(self.rows.stop - self.rows.start)


Work = Callable[[Piece], None]


class Pieces:
    """A cut of all rows into pieces, and the threads that work on them.

    Every piece has rows; nodes without rows may be in none. The cut depends on nothing but the rows and the number of
    threads, and each thread goes through its pieces in their order, so sums that each thread keeps for itself come out
    the same every time.

    Args:
        row_ptr: where the rows of each node start, ``(N + 1,)``.
        most: rows of a piece, at most (but at least one node).
        least: with fewer rows there is one thread; `SMALL` if it is not given.
    """

    def __init__(self, row_ptr: Array, most: int, least: int | None = None) -> None:
        rows, nodes = int(row_ptr[-1]), len(row_ptr) - 1
        self.threads = max(1, min(kernel_threads() if rows >= (SMALL if least is None else least) else 1, nodes))
        self._parts = [list(self._cut(thread, row_ptr, most)) for thread in range(self.threads)]

    def _cut(self, thread: int, row_ptr: Array, most: int) -> Iterator[Piece]:
        rows = int(row_ptr[-1])
        first, last = rows * thread // self.threads, rows * (thread + 1) // self.threads
        count = max(1, -(-(last - first) // most))
        cuts = np.searchsorted(row_ptr, np.arange(count + 1) * (last - first) // count + first)
        for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if end > start:  # which means that there are rows: a cut lies behind the first node that reaches it
                yield Piece(thread, (start, end), slice(int(row_ptr[start]), int(row_ptr[end])))

    @property
    def largest(self) -> int:
        """Rows of the largest piece."""
        return max((piece.count for part in self._parts for piece in part), default=0)

    def each(self, *works: Work) -> None:
        """Call all of ``works`` for every piece; they must write only what belongs to the piece or to its thread."""
        each_of([(self, works)])

    def of_thread(self, thread: int) -> list[Piece]:
        """The pieces of one of the threads."""
        return self._parts[thread] if thread < self.threads else []


def each_of(jobs: Sequence[Job]) -> None:
    """Call the works of every job for each of its pieces; a thread goes through its pieces of one job after another."""
    threads = max(pieces.threads for pieces, _ in jobs)
    if threads == 1:  # what is in the pieces may use threads of its own
        _work_through(jobs, 0)
        return
    # The caller does a part itself, unless torch would use several threads in it.
    mine = 1 if torch.get_num_threads() == 1 else 0
    waiting = [pool(threads).submit(_alone, jobs, thread) for thread in range(mine, threads)]
    try:
        if mine:
            _alone(jobs, 0)
    finally:
        wait(waiting)  # after an error too: nothing writes any more once this call is over
    for part in waiting:
        part.result()


Job = tuple[Pieces, tuple[Work, ...]]
"""Pieces, and what is done with each of them."""

Team = tuple[int, int, int, int]
"""A thread's number, how many there are, the address of their counter and that of a function that lets others have the
processor; see `layer_loops.meet`."""


def together(threads: int, work: Callable[[Team], None]) -> None:
    """Call ``work`` in each of some threads, which meet within compiled loops.

    Only one such work is done at a time: threads of two of them could otherwise wait for each other's partners.
    """
    # The number of those who have come to a meeting, and whether one of them has given up.
    counter = np.zeros(2, np.int64)
    if threads == 1:
        work((0, 1, counter.ctypes.data, 0))
        return

    def one(thread: int) -> None:
        _at_work.depth = getattr(_at_work, "depth", 0) + 1
        try:
            work((thread, threads, counter.ctypes.data, _yield_address()))
        except BaseException:  # nobody waits for a thread that does not come any more
            counter[1] = 1
            raise
        finally:
            _at_work.depth -= 1

    mine = 1 if torch.get_num_threads() == 1 else 0
    with _one_at_a_time:
        waiting = [pool(threads).submit(one, thread) for thread in range(mine, threads)]
        try:
            if mine:
                one(0)
        finally:
            wait(waiting)
    for part in waiting:
        part.result()


First = TypeVar("First")
Second = TypeVar("Second")


def side_by_side(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """What both give, each in a thread of its own where there are several."""
    if kernel_threads() == 1:
        return first(), second()
    waiting = pool(kernel_threads()).submit(second)
    try:
        own = first()
    finally:
        wait([waiting])
    return own, waiting.result()


@cache
def _yield_address() -> int:
    """Of a function that lets another thread have the processor; 0 where the system has none that is known."""
    library, name = (None, "sched_yield") if os.name == "posix" else ("kernel32", "SwitchToThread")
    function = getattr(ctypes.CDLL(library), name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def threads_for(rows: int) -> int:
    """How many threads so many rows are worth, all layers together."""
    return kernel_threads() if rows >= WORTH_A_TEAM else 1


def _work_through(jobs: Sequence[Job], thread: int) -> None:
    for pieces, works in jobs:
        for piece in pieces.of_thread(thread):
            for work in works:
                work(piece)


def _alone(jobs: Sequence[Job], thread: int) -> None:
    """Work through pieces as one thread among others."""
    _at_work.depth = getattr(_at_work, "depth", 0) + 1
    try:
        _work_through(jobs, thread)
    finally:
        _at_work.depth -= 1


def _limit_torch() -> None:
    """Give torch one thread within this one."""
    torch.get_num_threads()  # a thread takes over the process's number when it first asks, and must not do so later
    torch.set_num_threads(1)


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay."""
    before = torch.get_num_threads()
    workers = ThreadPoolExecutor(threads, thread_name_prefix="policylearn", initializer=_limit_torch)
    # Start all of them now (each waits for the others), for torch hands the latest number to threads that are yet to
    # come: put back what the caller had.
    meeting = threading.Barrier(threads)
    for started in [workers.submit(meeting.wait) for _ in range(threads)]:
        started.result()
    torch.set_num_threads(before)
    return workers


def _forget_threads() -> None:
    global _one_at_a_time
    pool.cache_clear()
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):  # a process that was forked has none of its parent's threads
    os.register_at_fork(after_in_child=_forget_threads)
