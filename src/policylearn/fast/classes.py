"""Which rows of a batch are equal after each layer, so that one of them is computed for all.

The output of a layer for a row depends on the row and on the messages that it receives. So rows that are equal before a
layer, and receive equal messages over edges of the same kinds, are equal after it (colour refinement). They fall into
classes, of which there are few after the first layers: a molecule has few kinds of atoms, and the marks' stream does
not even see these. A batch norm counts a class as often as it has rows, and its gradient is the sum of theirs.

After l layers a row of a marked copy that lies more than l steps from its marks is equal to its node's row in the
unmarked graph. So rows of marked copies are told apart only within the cones of their marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from policylearn.bags import Graphs
from policylearn.fast.layers import has_hooks
from policylearn.fast.rows import NONE, Array, Cones, LayerRows, RowLists, as_array
from policylearn.nn import NodeEncoder
from policylearn.nn.features import real_columns


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one stream's rows, before the first layer and after each.

    Those of marked copies are numbered after those of the unmarked graphs.
    """

    of_rows: list[Array]  # the class of each row
    counts: list[int]  # how many classes there are
    firsts: Array  # one row of each class, before the first layer
    lists: list[tuple[Array, Array, Array, Array]]  # of which classes each layer's are made; see `RowLists`

    @staticmethod
    def of(
        keys: Array, graphs: Graphs, kind: Array, depth: int, marked: tuple[Cones, Classes] | None = None
    ) -> Classes:
        """Tell rows apart, layer by layer.

        Rows are alike before the first layer where their integers ``keys`` are equal, ``(R, K)``. Messages have a
        ``kind`` each, ``(E,)``. The rows are all nodes, or those of ``marked``: the cones of marked copies, whose
        marked rows have the keys, with the classes of the unmarked graphs.
        """
        from policylearn.fast.row_loops import merge_rows, number_rows

        adjacency, most = graphs.adjacency, int(kind.max(initial=0))
        messages = as_array(adjacency.target_ptr), as_array(adjacency.source), kind, most.bit_length()
        everyone, (start, firsts) = np.arange(len(keys)), number_rows(keys)
        found = Classes([start if marked is None else marked[1].counts[0] + start], [len(firsts)], firsts, [])
        for layer in range(depth):
            before = found.of_rows[-1]
            if marked is None:
                classes, *lists = merge_rows(everyone, NONE, NONE, *messages, NONE, before, 0)
            else:
                cones, beside = marked
                rows = cones.node_of[: cones.ends[layer + 1]], cones.message_ptr, cones.sender
                classes, *lists = merge_rows(*rows, *messages, before, beside.of_rows[layer], beside.counts[layer + 1])
            own, ptr, sender, kind_of = lists
            found.of_rows.append(classes)
            found.counts.append(len(own))
            found.lists.append((own, ptr, sender, kind_of))
        return found

    def with_marked(self, marked: Classes) -> Classes:
        """These of the unmarked graphs and those of marked copies together."""
        lists = []
        for one, two in zip(self.lists, marked.lists, strict=True):
            own, sender, kind = (np.concatenate([one[i], two[i]]) for i in (0, 2, 3))
            lists.append((own, np.concatenate([one[1], one[1][-1] + two[1][1:]]), sender, kind))
        return Classes(
            [np.concatenate(both) for both in zip(self.of_rows, marked.of_rows, strict=True)],
            [sum(both) for both in zip(self.counts, marked.counts, strict=True)],
            np.concatenate([self.firsts, len(self.of_rows[0]) + marked.firsts]),
            lists,
        )

    def rows(self, weights: Sequence[Array] | None) -> list[RowLists]:
        """The rows of each layer, one per class; see `NetworkClasses`."""
        if weights is None:
            return [RowLists(*lists) for lists in self.lists]
        return [
            RowLists(*lists, np.bincount(classes, own, count), int(own.sum()))
            for lists, classes, own, count in zip(self.lists, self.of_rows[1:], weights, self.counts[1:], strict=True)
        ]


@dataclass(frozen=True, eq=False)
class NetworkClasses:
    """The classes of both streams; rows that are alike in their features are alike in their marks."""

    features: Classes
    marks: Classes

    def with_marked(self, marked: NetworkClasses) -> NetworkClasses:
        """See `Classes`."""
        return NetworkClasses(self.features.with_marked(marked.features), self.marks.with_marked(marked.marks))

    @property
    def last(self) -> tuple[Array, Array]:
        """The class of each row after the last layer, in both streams."""
        return self.features.of_rows[-1], self.marks.of_rows[-1]

    def rows(self, weights: Sequence[Array] | None = None, beside: NetworkClasses | None = None) -> list[LayerRows]:
        """The rows of all layers.

        ``weights`` are how many rows of the bag each row stands for after each layer; None if nobody asks. The classes
        ``beside`` stand ahead of these before each layer.
        """
        found = []
        each = zip(self.features.rows(weights), self.marks.rows(weights), strict=True)
        for layer, (features, marks) in enumerate(each):
            both = [self] if beside is None else [beside, self]
            marks_of = np.empty(sum(one.features.counts[layer] for one in both), np.int64)
            for one in both:
                marks_of[one.features.of_rows[layer]] = one.marks.of_rows[layer]
            found.append(LayerRows(features, marks, marks_of))
        return found


def unmarked_classes(graphs: Graphs, encoder: nn.Module, kind: Array, depth: int) -> NetworkClasses:
    """The classes of the unmarked graphs of a batch, worked out once for networks that read the same.

    What nodes come with is compared and not asked for its version: that says nothing of a change through ``.data``, and
    a tensor made in inference mode has none. The encoder is that of the nodes' features, ``kind`` that of each message.
    """
    keys, known = _node_keys(graphs, encoder), _KNOWN.setdefault(graphs, [])
    for known_keys, known_kind, classes in known:
        alike = np.array_equal(known_keys, keys) and np.array_equal(known_kind, kind)
        if alike and len(classes.marks.lists) == depth:
            return cast(NetworkClasses, classes)
    features = Classes.of(keys, graphs, kind, depth)
    found = NetworkClasses(features, Classes.of(keys[:, :0], graphs, np.zeros_like(kind), depth))
    known[:] = [*known[-1:], (keys, kind, found)]
    return found


_KNOWN: Any = WeakIdKeyDictionary()
"""For each batch, what its classes were found by, and these; of the last two networks."""


def marked_classes(
    unmarked: NetworkClasses, graphs: Graphs, kind: Array, cones: Cones, marks: Tensor
) -> NetworkClasses:
    """The classes of the rows within cones, beside those of the unmarked graphs; see `MergedNetwork.marked`."""
    own = np.ascontiguousarray(as_array(marks), np.float64).view(np.int64)
    both = np.column_stack([unmarked.features.of_rows[0][cones.node_of[: cones.ends[0]]], own])
    depth = len(unmarked.marks.lists)
    features = Classes.of(both, graphs, kind, depth, (cones, unmarked.features))
    return NetworkClasses(features, Classes.of(own, graphs, np.zeros_like(kind), depth, (cones, unmarked.marks)))


def _node_keys(graphs: Graphs, encoder: nn.Module) -> Array:
    """What tells nodes apart, as integers, ``(N, K)``."""
    if not _reads_rows_alone(graphs, encoder):
        return np.arange(graphs.num_nodes).reshape(-1, 1)
    features: Any = encoder.features
    parts = [as_array(graphs.x.long())] if features.categorical else []
    if features.real:
        parts.append(as_array(real_columns(graphs, features).double()).view(np.int64))
    return np.column_stack(parts) if parts else np.zeros((graphs.num_nodes, 0), np.int64)


def _reads_rows_alone(graphs: Graphs, encoder: nn.Module) -> bool:
    """Whether nodes with the same ids and numbers have the same features, and nobody asks for a gradient of each."""
    if type(encoder) is not NodeEncoder or any(has_hooks(part) for part in encoder.modules()):
        return False
    if any(type(part) not in (NodeEncoder, nn.ModuleList, nn.Embedding, nn.Linear) for part in encoder.modules()):
        return False
    wanted = graphs.x.requires_grad or (graphs.real is not None and graphs.real.requires_grad)
    return not (wanted and torch.is_grad_enabled())
