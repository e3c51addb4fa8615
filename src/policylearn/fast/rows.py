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
    """The output rows of one stream of a layer, and the input rows that each is computed from."""

    own: Array  # the input row of the same node and copy, ``(R,)``
    ptr: Array  # where the messages of each start, ``(R + 1,)``
    sender: Array  # the input row that sends each message
    kind: Array  # the row of the edges' values that each message has
    weights: Array | None = None  # how many rows of the bag each stands for, ``(R,)``; None if nobody asks
    total: int = 0  # how many rows of the bag they all stand for

    @property
    def count(self) -> int:
        """How many rows come out."""
        return len(self.own)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """As `loops.sum_messages` takes them."""
        return self.own, self.ptr, self.sender, self.kind


class LayerRows(NamedTuple):
    """The output rows of both streams of a layer."""

    features: RowLists
    marks: RowLists  # not read by a layer of one stream
    marks_of: Array  # the input row of the marks that belongs to each input row of the features


def whole_copies(bag: Bag, kind: Array) -> LayerRows:
    """All rows of a bag, whose messages have these kinds."""
    adjacency, own = bag.row_adjacency, np.arange(bag.num_rows)
    ptr, sender = as_array(adjacency.target_ptr), as_array(adjacency.source)
    lists = RowLists(own, ptr, sender, kind, np.ones(len(own)), len(own))
    return LayerRows(lists, lists, own)


@dataclass(frozen=True)
class Cones:
    """The rows (node and copy) that marks can reach, nearest first."""

    ends: Array  # how many rows lie within each distance of their root, ``(depth + 1,)``
    node_of: Array  # node of each row
    copy_of: Array  # copy of each row
    message_ptr: Array  # where the messages of each row start in ``sender``
    sender: Array  # the row that each message comes from, -1 where its source is out of reach

    @staticmethod
    def around(adjacency: Adjacency, roots: Tensor, depth: int) -> Cones:
        """The cones of copies with these roots, ``(copies, k)``, over ``depth`` layers; `NO_PICK` is none."""
        from policylearn.fast.row_loops import grow_cones

        outgoing = as_array(adjacency.source_ptr), as_array(adjacency.outgoing_targets)
        return Cones(
            *grow_cones(as_array(roots), depth, *outgoing, as_array(adjacency.target_ptr), as_array(adjacency.source))
        )
