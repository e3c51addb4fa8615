"""What the compiled loops need of the rows of a bag, as arrays, prepared once per bag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import Adjacency, Bag
from policylearn.fast.threads import PIECE, Array, Pieces, kernel_threads

DTYPES: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float64: np.float64}
"""What the compiled loops know."""

NONE = np.empty(0, np.int64)


def as_array(tensor: Tensor) -> Array:
    """The tensor's numbers, without gradient; nothing is copied unless it has gaps."""
    array: Array = tensor.detach().numpy()
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def as_rows(tensor: Tensor | None, like: Tensor) -> Array:
    """The tensor's numbers, or an array without rows and columns: compiled loops take no None."""
    return np.empty((0, 0), dtype=DTYPES[like.dtype]) if tensor is None else as_array(tensor)


def empty_rows(rows: int, width: int, like: Tensor) -> Tensor:
    """Room for rows, ``(rows, width)``; numpy asks for large pages, which large arrays are filled much faster with."""
    return torch.from_numpy(np.empty((rows, width), dtype=DTYPES[like.dtype]))


class LayerRows(Protocol):
    """The rows that go into a layer and those that come out of it.

    Args:
        inside: how many go in.
        split: where the unmarked graph's rows start among these; at 0, they are the first of all.
        count: how many come out.
        total: how many rows of the bag those that come out stand for.
        weights: how many rows of the bag each that comes out stands for.
        incoming: what `sum_messages` needs to know of them, from ``node_of`` to ``source``.
        hearers: what `list_hearers` finds.
    """

    @property
    def inside(self) -> int: ...
    @property
    def split(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def weights(self) -> Array: ...
    @property
    def incoming(self) -> tuple[Array, ...]: ...
    @property
    def hearers(self) -> tuple[Array, Array, Array]: ...
    def pieces(self) -> Pieces:
        """The rows that come out, cut for threads."""

    def pieces_inside(self) -> Pieces:
        """Those that go in."""


class Rows:
    """Rows ordered by node, the copies of a node side by side, over one adjacency of the nodes.

    Args:
        adjacency: over N nodes.
        row_ptr: where the rows of each node start, ``(N + 1,)``.
        shares_edges: whether each edge of the graph is one of the adjacency.
    """

    def __init__(self, adjacency: Adjacency, row_ptr: Tensor, *, shares_edges: bool = True) -> None:
        self.adjacency, self.row_ptr, self.shares_edges = adjacency, as_array(row_ptr), shares_edges
        self.target_ptr, self.source = as_array(adjacency.target_ptr), as_array(adjacency.source)
        self._pieces: dict[int, Pieces] = {}
        self._kinds: dict[object, tuple[Tensor, int, Kinds]] = {}

    @staticmethod
    def of(bag: Bag) -> Rows:
        """Those of a bag; where copies have edges of their own, each row stands for a node."""
        known = _KNOWN.get(bag)
        if known is None:
            row_ptr = bag.row_ptr if bag.shares_edges else torch.arange(bag.num_rows + 1)
            known = _KNOWN[bag] = Rows(bag.adjacency, row_ptr, shares_edges=bag.shares_edges)
        return known

    def serve(self, bag: Bag) -> bool:
        """Be the rows of another bag too, if its rows lie alike; says whether they do."""
        alike = bag.shares_edges and self.shares_edges and bag.adjacency is self.adjacency
        alike = alike and (bag.width or 0) * bag.num_nodes == self.row_ptr[-1]
        if alike:
            _KNOWN[bag] = self
        return alike

    @property
    def inside(self) -> int:
        """As many go into a layer as come out of it."""
        return int(self.row_ptr[-1])

    count = total = inside
    split = 0

    @cached_property
    def weights(self) -> Array:
        """See `LayerRows`; a row stands for itself."""
        return np.ones(self.inside, np.float32)

    @property
    def incoming(self) -> tuple[Array, ...]:
        """See `LayerRows`."""
        return self.node_of, self.row_ptr, NONE, NONE, self.target_ptr, self.source

    @cached_property
    def hearers(self) -> tuple[Array, Array, Array]:
        """See `LayerRows`."""
        from policylearn.fast.message_loops import list_hearers

        found: tuple[Array, Array, Array] = list_hearers(self.inside, self.split, *self.incoming)
        return found

    @cached_property
    def node_of(self) -> Array:
        """The node of each row, ``(R,)``."""
        return np.repeat(np.arange(len(self.row_ptr) - 1), np.diff(self.row_ptr))

    @cached_property
    def source_ptr(self) -> Array:
        """Where each node's outgoing messages start, ``(N + 1,)``."""
        return as_array(self.adjacency.source_ptr)

    @cached_property
    def outgoing_targets(self) -> Array:
        """The target of each message, grouped by source, ``(E,)``."""
        return as_array(self.adjacency.outgoing_targets)

    def pieces(self) -> Pieces:
        """The rows cut for threads."""
        threads = kernel_threads()
        if threads not in self._pieces:
            self._pieces[threads] = Pieces(self.row_ptr, PIECE)
        return self._pieces[threads]

    pieces_inside = pieces

    @cached_property
    def edge_ids(self) -> Kinds:
        """The column of ``edge_index`` that each message is."""
        return Kinds(self.adjacency, as_array(self.adjacency.edge))

    def kinds_of(self, edge_attr: Tensor, key: object, index: Callable[[Tensor], Tensor]) -> Kinds:
        """The row of a table that each message has; layers with the same key share it.

        Args:
            edge_attr: of the edges.
            key: what the rows depend on besides.
            index: from ``edge_attr`` to the row of each column of ``edge_index``, ``(E,)``.
        """
        version = 0 if edge_attr.is_inference() else edge_attr._version
        known = self._kinds.get(key)
        if known is None or known[0] is not edge_attr or known[1] != version:
            kinds = Kinds(self.adjacency, as_array(self.adjacency.kinds(index(edge_attr))))
            known = self._kinds[key] = edge_attr, version, kinds
        return known[2]


@dataclass
class Kinds:
    """The row of the edges' values that each message has, ``(E,)``."""

    adjacency: Adjacency
    incoming: Array

    @cached_property
    def most(self) -> int:
        """So many rows the values must have."""
        return int(self.incoming.max()) + 1 if len(self.incoming) else 0


_KNOWN: WeakKeyDictionary[Bag, Rows] = WeakKeyDictionary()
