"""Which rows go into a layer and which come out of it, as lists that the compiled loops follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from policylearn.bags import Adjacency, Bag

Array = NDArray[Any]

NONE = np.empty(0, np.int64)


def as_array(tensor: Tensor) -> Array:
    """The tensor's numbers, without gradient; nothing is copied unless it has gaps."""
    array: Array = tensor.detach().numpy()
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


@dataclass(frozen=True, eq=False)
class RowLists:
    """The rows of one stream that come out of a layer, and of which rows that go in each of them is made.

    Args:
        own: the row that each was, ``(R,)``.
        ptr: where the messages of each start, ``(R + 1,)``.
        sender: the row that goes in from which each message comes.
        kind: the row of the edges' values that each message has.
        weights: how many rows of the bag each stands for, ``(R,)``; None where nobody asks.
        total: how many rows of the bag they all stand for.
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

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """As `loops.sum_messages` takes them."""
        return self.own, self.ptr, self.sender, self.kind


class LayerRows(NamedTuple):
    """The rows of a layer.

    Args:
        features: of the features.
        marks: of the marks; not read where the layer has one stream.
        marks_of: the row of the marks that each row of the features has, in front of the layer.
    """

    features: RowLists
    marks: RowLists
    marks_of: Array


def whole_copies(bag: Bag, kind: Array) -> LayerRows:
    """All rows of a bag, whose messages have these kinds."""
    adjacency, own = bag.row_adjacency, np.arange(bag.num_rows)
    ptr, sender = as_array(adjacency.target_ptr), as_array(adjacency.source)
    lists = RowLists(own, ptr, sender, kind, np.ones(len(own)), len(own))
    return LayerRows(lists, lists, own)


@dataclass(frozen=True)
class Cones:
    """The rows (node and copy) that marks can reach, nearest first.

    Args:
        ends: how many rows lie within each distance of their root, ``(depth + 1,)``.
        node_of: node of each row.
        copy_of: copy of each row.
        message_ptr: where the messages of each row start in ``sender``.
        sender: the row that each message comes from, -1 where its source is out of reach.
    """

    ends: Array
    node_of: Array
    copy_of: Array
    message_ptr: Array
    sender: Array

    @staticmethod
    def around(adjacency: Adjacency, roots: Tensor, depth: int) -> Cones:
        """The cones of copies with these roots, ``(copies, k)``, over ``depth`` layers; `NO_PICK` is none."""
        from policylearn.fast.row_loops import grow_cones

        outgoing = as_array(adjacency.source_ptr), as_array(adjacency.outgoing_targets)
        return Cones(
            *grow_cones(as_array(roots), depth, *outgoing, as_array(adjacency.target_ptr), as_array(adjacency.source))
        )
