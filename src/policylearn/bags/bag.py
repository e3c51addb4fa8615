"""The marked copies of a batch of graphs. Slot 0 is the unmarked graph; this file is the home of that convention.

A row is one node in one slot. Rows are ordered by node, and the slots of a node lie side by side: since marking a node
never changes the edges, the copies of a node can be handled as one wide row over one adjacency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from policylearn.bags.selection import NO_PICK, Selection


@dataclass(frozen=True)
class Bag:
    """Marks of the copies of each graph of a batch.

    Args:
        marks: 1 where the row's node is the root of the row's copy, else 0; may carry gradient.
        slots: number of copies of each graph.
        row_ptr: where the rows of each node start.
        width: the number of copies where all graphs have equally many, else None.

    Shapes:
        marks ``(R,)``, slots ``(G,)``, row_ptr ``(N + 1,)``.
    """

    marks: Tensor
    slots: Tensor
    row_ptr: Tensor
    width: int | None

    @staticmethod
    def of(selection: Selection, batch: Tensor, dtype: torch.dtype) -> Bag:
        """The unmarked graph in slot 0, then one copy a pick.

        Args:
            selection: the picks.
            batch: the graph of each node, ``(N,)``.
            dtype: of the marks.
        """
        marks = selection.marks
        if marks is not None:
            return _given(torch.cat([marks.new_zeros(1, len(batch)), marks]), selection, batch, dtype)
        slots = 1 + (selection.roots != NO_PICK).sum(0)
        return _one_hot(_with_unmarked(selection.roots), slots, batch, dtype)

    @staticmethod
    def of_picks(selection: Selection, batch: Tensor, dtype: torch.dtype) -> Bag:
        """The copies of the picks alone, without slot 0; the arguments are those of `of`."""
        if selection.marks is not None:
            return _given(selection.marks, selection, batch, dtype)
        return _one_hot(selection.roots, (selection.roots != NO_PICK).sum(0), batch, dtype)

    @staticmethod
    def split_samples(copies: Tensor, samples: int) -> list[Tensor]:
        """Slot 0, ``(N, 1, C)``, then each sample's copies, ``(N, T, C)``, of a merged selection."""
        return [copies[:, :1], *copies[:, 1:].chunk(samples, dim=1)]

    @staticmethod
    def chunks(selection: Selection, ptr: Tensor, batch: Tensor, dtype: torch.dtype, max_rows: int) -> Iterator[Bag]:
        """The same copies as `of`, in pieces of at most ``max_rows`` rows (at least one slot a piece).

        Args:
            selection: the picks; plain ones, as gradients do not go through pieces.
            ptr: where the nodes of each graph start, ``(G + 1,)``.
            batch: the graph of each node, ``(N,)``.
            dtype: of the marks.
            max_rows: how many rows may be held at once.
        """
        sizes = ptr[1:] - ptr[:-1]
        roots = _with_unmarked(selection.roots)  # (T, G) -> (S, G)
        slots = 1 + (selection.roots != NO_PICK).sum(0)  # (G,)
        start = 0
        while start < len(roots):
            active = int(sizes[slots > start].sum())
            end = min(len(roots), start + max(1, max_rows // max(active, 1)))
            piece = (slots - start).clamp(0, end - start)
            yield _one_hot(roots[start:end], piece, batch, dtype)
            start = end


def _with_unmarked(roots: Tensor) -> Tensor:
    return torch.cat([roots.new_full((1, roots.shape[1]), NO_PICK), roots])


def _given(marks: Tensor, selection: Selection, batch: Tensor, dtype: torch.dtype) -> Bag:
    """Lay out marks that are given for every slot and node, ``(S, N)``."""
    width = len(marks)
    slots = batch.new_full((selection.roots.shape[1],), width)
    row_ptr = torch.arange(len(batch) + 1, device=batch.device) * width
    return Bag(marks.t().reshape(-1).to(dtype), slots, row_ptr, width)  # (S, N) -> (N * S,)


def _one_hot(roots: Tensor, slots: Tensor, batch: Tensor, dtype: torch.dtype) -> Bag:
    """Lay out ``slots[g]`` copies of each graph g and mark the ``roots``, ``(S, G)``."""
    ends = slots.index_select(0, batch).cumsum(0)
    row_ptr = torch.cat([ends.new_zeros(1), ends])
    marks = torch.zeros(int(row_ptr[-1]), dtype=dtype, device=batch.device)
    slot, graph = (roots != NO_PICK).nonzero(as_tuple=True)
    marks[row_ptr.index_select(0, roots[slot, graph]) + slot] = 1
    equal = len(slots) > 0 and bool((slots == slots[0]).all())
    return Bag(marks, slots, row_ptr, int(slots[0]) if equal else None)
