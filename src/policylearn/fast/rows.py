"""Which rows go into a layer and which come out of it, as lists that the compiled loops follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from policylearn.bags import Adjacency, Bag

Array = NDArray[Any]

DTYPES: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float64: np.float64}
"""What the compiled loops know."""

NONE = np.empty(0, np.int64)


def as_array(tensor: Tensor) -> Array:
    """The tensor's numbers, without gradient; nothing is copied unless it has gaps."""
    array: Array = tensor.detach().numpy()
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


@dataclass(frozen=True, eq=False)
class RowLists:
    """The rows of one stream that come out of a layer, and of which rows that go in each of them is made.

    Args:
        own: the row that each was.
        ptr: where the messages of each start.
        sender: the row that goes in from which each message comes.
        kind: the row of the edges' values that each message has.
        weights: how many rows of the bag each stands for; None where nobody asks.
        total: how many rows of the bag they all stand for.

    Shapes:
        own and weights ``(R,)``, ptr ``(R + 1,)``, sender and kind one entry per message.
    """

    own: Array
    ptr: Array
    sender: Array
    kind: Array
    weights: Array | None = None
    total: int = 0

    @property
    def count(self) -> int:
        """How many rows come out."""
        return len(self.own)

    def part(self, rows: slice) -> tuple[Array, Array, Array, Array]:
        """The lists of some neighbouring rows, as `sum_messages` takes them."""
        return self.own[rows], self.ptr[rows.start : rows.stop + 1], self.sender, self.kind


class LayerRows(NamedTuple):
    """The rows of a layer.

    Args:
        features: of the features.
        marks: of the marks; None where the network has one stream.
        marks_of: the row of the marks that each row of the features has, in front of the layer.
    """

    features: RowLists
    marks: RowLists | None = None
    marks_of: Array = NONE


class Rows:
    """Whole copies: rows ordered by node, the copies of a node side by side, over one adjacency of the nodes.

    Args:
        adjacency: over N nodes.
        row_ptr: where the rows of each node start, ``(N + 1,)``.
    """

    def __init__(self, adjacency: Adjacency, row_ptr: Tensor) -> None:
        self.adjacency, self.row_ptr = adjacency, as_array(row_ptr)
        self.target_ptr, self.source = as_array(adjacency.target_ptr), as_array(adjacency.source)
        self._kinds: dict[object, tuple[Tensor, Kinds]] = {}
        self._layers: dict[Kinds, LayerRows] = {}

    @staticmethod
    def of(bag: Bag) -> Rows:
        """Those of a bag; where copies have edges of their own, each row stands for a node."""
        known = _KNOWN.get(bag)
        if known is None:
            row_ptr = bag.row_ptr if bag.shares_edges else torch.arange(bag.num_rows + 1)
            known = _KNOWN[bag] = Rows(bag.adjacency, row_ptr)
        return known

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.row_ptr[-1])

    def layer(self, kinds: Kinds) -> LayerRows:
        """One layer over these rows, whose messages have these kinds."""
        known = self._layers.get(kinds)
        if known is None:
            own, (ptr, sender, message) = np.arange(self.count), self._copies
            lists = RowLists(own, ptr, sender, kinds.incoming[message], np.ones(self.count), self.count)
            known = self._layers[kinds] = LayerRows(lists, lists, own)
        return known

    @cached_property
    def _copies(self) -> tuple[Array, Array, Array]:
        from policylearn.fast.merge_loops import list_copies

        found: tuple[Array, Array, Array] = list_copies(self.row_ptr, self.target_ptr, self.source)
        return found

    @cached_property
    def source_ptr(self) -> Array:
        """Where each node's outgoing messages start, ``(N + 1,)``."""
        return as_array(self.adjacency.source_ptr)

    @cached_property
    def outgoing_targets(self) -> Array:
        """The target of each message, grouped by source, ``(E,)``."""
        return as_array(self.adjacency.outgoing_targets)

    @cached_property
    def edge_ids(self) -> Kinds:
        """The column of ``edge_index`` that each message is."""
        return Kinds(as_array(self.adjacency.edge))

    @cached_property
    def no_kinds(self) -> Kinds:
        """For messages that no edge has a part in: all alike."""
        return Kinds(np.zeros(len(self.source), np.int64))

    def kinds_of(self, edge_attr: Tensor, key: object, index: Callable[[Tensor], Tensor]) -> Kinds:
        """The row of a table that each message has; layers with the same key share it.

        Args:
            edge_attr: of the edges.
            key: what the rows depend on besides.
            index: from ``edge_attr`` to the row of each column of ``edge_index``, ``(E,)``.
        """
        known = self._kinds.get(key)
        # Compared by what they hold: the version of a tensor says nothing of a change through .data, or in inference.
        if known is None or not torch.equal(known[0], edge_attr):
            kinds = Kinds(as_array(self.adjacency.kinds(index(edge_attr))))
            known = self._kinds[key] = edge_attr.clone(), kinds
            self._layers.clear()
        return known[1]


@dataclass(eq=False)
class Kinds:
    """The row of the edges' values that each message has, ``(E,)``."""

    incoming: Array

    @cached_property
    def most(self) -> int:
        """So many rows the values must have."""
        return int(self.incoming.max()) + 1 if len(self.incoming) else 0


_KNOWN: WeakKeyDictionary[Bag, Rows] = WeakKeyDictionary()
