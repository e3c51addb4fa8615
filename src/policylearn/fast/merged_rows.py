"""Which rows of a batch come out of each layer alike, so that one of them is computed for all.

What a layer makes of a row depends on the row and on what it hears. So rows that are alike in front of a layer, and
hear alike rows over edges of the same kinds, are alike behind it (colour refinement). They fall into classes, of which
there are few behind the first layers: a molecule has few kinds of atoms, and the marks' stream does not even see these.
A batch norm counts a class as often as it has rows, and its gradient is the sum of theirs.

Behind l layers a row of a marked copy that lies more than l steps from its marks is alike with its node's row in the
unmarked graph. So rows of marked copies are told apart only within the cones of their marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from policylearn.bags import Graphs
from policylearn.fast.cone_rows import Cones
from policylearn.fast.layers import has_hooks
from policylearn.fast.rows import NONE, Array, Kinds, LayerRows, RowLists, Rows, as_array
from policylearn.nn import NodeEncoder
from policylearn.nn.features import real_columns

ENOUGH = 0.95
"""Above so many classes per row no further layer is searched for rows that are alike."""

Lists = tuple[Array, Array, Array, Array]
"""See `RowLists`: own, ptr, sender and kind."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of one stream's rows, in front of the first layer and behind each.

    Those of marked copies are numbered behind those of the unmarked graph.

    Args:
        of_rows: the class of each row.
        counts: how many classes there are.
        firsts: one row of each class in front of the first layer.
        lists: of which classes each layer's are made.
    """

    of_rows: list[Array]
    counts: list[int]
    firsts: Array
    lists: list[Lists]

    @staticmethod
    def unmarked(keys: Array, rows: Rows, kinds: Kinds, depth: int) -> Classes:
        """Those of the unmarked graphs.

        Args:
            keys: rows of integers that are the same where nodes are alike, ``(N, K)``.
            rows: one per node.
            kinds: of the messages.
            depth: how many layers.
        """
        from policylearn.fast.merge_loops import merge_rows, number_rows

        start, firsts = number_rows(keys)
        everyone, merges = np.arange(len(start)), True
        found = Classes([start], [len(firsts)], firsts, [])
        for layer in range(depth):
            if layer and found.of_rows[-2] is everyone:  # the same lists as of the layer before
                lists, classes = found.lists[-1], everyone
            else:
                classes, *lists = merge_rows(
                    everyone, NONE, NONE, rows.target_ptr, rows.source, kinds.incoming, kinds.most, NONE,
                    found.of_rows[-1], 0, merges,
                )  # fmt: skip
            found._add(classes if merges else everyone, lists)
            merges = merges and found.counts[-1] <= ENOUGH * len(everyone)
        return found

    def marked(self, keys: Array, cones: Cones, rows: Rows, kinds: Kinds) -> Classes:
        """Those of the rows of marked copies within cones, beside these of the unmarked graphs.

        Args:
            keys: of the marked rows.
            cones: as deep as the network.
            rows: one per node.
            kinds: of the messages.
        """
        from policylearn.fast.merge_loops import merge_rows, number_rows

        start, firsts = number_rows(keys)
        found = Classes([self.counts[0] + start], [len(firsts)], firsts, [])
        merges = True
        for layer in range(len(self.lists)):
            end = int(cones.ends[layer + 1])
            classes, *lists = merge_rows(
                cones.node_of[:end], cones.message_ptr[:end], cones.sender, rows.target_ptr, rows.source,
                kinds.incoming, kinds.most, found.of_rows[-1], self.of_rows[layer], self.counts[layer + 1], merges,
            )  # fmt: skip
            found._add(classes, lists)
            merges = merges and found.counts[-1] <= ENOUGH * end
        return found

    def _add(self, classes: Array, lists: Sequence[Array]) -> None:
        own, ptr, sender, kind = lists
        self.of_rows.append(classes)
        self.counts.append(len(own))
        self.lists.append((own, ptr, sender, kind))

    def with_marked(self, marked: Classes, *, apart: bool = False) -> Classes:
        """These of the unmarked graphs and those of marked copies together; ``apart`` leaves the lists out."""
        lists = []
        every = zip([] if apart else self.lists, [] if apart else marked.lists, strict=True)
        for (own, ptr, *rest), (more_own, more_ptr, *more) in every:
            joined = (np.concatenate(both) for both in zip(rest, more, strict=True))
            ptr = np.concatenate([ptr, ptr[-1] + more_ptr[1:]])
            lists.append((np.concatenate([own, more_own]), ptr, *joined))
        return Classes(
            [np.concatenate(both) for both in zip(self.of_rows, marked.of_rows, strict=True)],
            [sum(both) for both in zip(self.counts, marked.counts, strict=True)],
            np.concatenate([self.firsts, len(self.of_rows[0]) + marked.firsts]),
            lists,  # type: ignore[arg-type]
        )

    def rows(self, weights: Sequence[Array] | None = None) -> list[RowLists]:
        """The rows of each layer, one per class.

        Args:
            weights: how many rows of the bag each row behind each layer stands for; None where nobody asks.
        """
        found = []
        for layer, lists in enumerate(self.lists):
            counted, total = None, 0
            if weights is not None:
                counted = np.bincount(self.of_rows[layer + 1], weights[layer], self.counts[layer + 1])
                total = int(weights[layer].sum())
            found.append(RowLists(*lists, counted, total))
        return found


@dataclass(frozen=True, eq=False)
class NetworkClasses:
    """The classes of both streams.

    Args:
        features: of the features; rows that are alike in these are alike in their marks.
        marks: of the marks; None where the network has one stream.
    """

    features: Classes
    marks: Classes | None

    def with_marked(self, marked: NetworkClasses, *, apart: bool = False) -> NetworkClasses:
        """See `Classes`."""
        features = self.features.with_marked(marked.features, apart=apart)
        if self.marks is None or marked.marks is None:
            return NetworkClasses(features, None)
        return NetworkClasses(features, self.marks.with_marked(marked.marks, apart=apart))

    def marks_of(self) -> list[Array]:
        """The class of the marks that each class of the features has, in front of each layer."""
        found = []
        for classes, marks, count in zip(
            self.features.of_rows[:-1], [] if self.marks is None else self.marks.of_rows[:-1],
            self.features.counts[:-1], strict=False,
        ):  # fmt: skip
            own = np.empty(count, np.int64)
            own[classes] = marks
            found.append(own)
        return found

    def rows(self, weights: Sequence[Array] | None = None, inside: NetworkClasses | None = None) -> list[LayerRows]:
        """The rows of all layers; see `Classes`.

        Args:
            weights: see `Classes`.
            inside: the classes that go into layers, where these are more than those that come out.
        """
        features = self.features.rows(weights)
        if self.marks is None:
            return [LayerRows(lists) for lists in features]
        marks_of = (self if inside is None else inside).marks_of()
        return [LayerRows(*one) for one in zip(features, self.marks.rows(weights), marks_of, strict=True)]

    @property
    def total(self) -> int:
        """Rows that are computed in all layers of both streams."""
        return sum(self.features.counts[1:]) + (0 if self.marks is None else sum(self.marks.counts[1:]))


class _Known(NamedTuple):
    """Classes, and what they were found by."""

    keys: Array
    kinds: Kinds
    classes: NetworkClasses


class GraphClasses:
    """The unmarked graphs of a batch, one row per node, and their classes for the networks that look at them."""

    def __init__(self, graphs: Graphs) -> None:
        self.rows = Rows(graphs.adjacency, torch.arange(graphs.num_nodes + 1))
        self._known: dict[tuple[int, int, int], _Known] = {}

    @staticmethod
    def of(graphs: Graphs) -> GraphClasses:
        """Those of a batch, the same for all networks."""
        known: GraphClasses | None = _KNOWN.get(graphs)
        if known is None:
            known = _KNOWN[graphs] = GraphClasses(graphs)
        return known

    def unmarked(self, graphs: Graphs, encoder: nn.Module, kinds: Kinds, depth: int, streams: int) -> NetworkClasses:
        """The classes of a network; worked out once for networks that read the same.

        What nodes come with is compared and not asked for its version: that says nothing of a change through ``.data``,
        and a tensor made in inference mode has none.

        Args:
            graphs: the batch.
            encoder: of the nodes' features.
            kinds: of the messages.
            depth: how many layers.
            streams: how many.
        """
        keys = _node_keys(graphs, encoder)
        place = keys.shape[1], depth, streams
        known = self._known.get(place)
        if known is None or known.kinds is not kinds or not np.array_equal(known.keys, keys):
            nothing, alike = np.zeros((graphs.num_nodes, 0), np.int64), self.rows.no_kinds
            features = Classes.unmarked(keys, self.rows, kinds, depth)
            marks = Classes.unmarked(nothing, self.rows, alike, depth) if streams > 1 else None
            known = self._known[place] = _Known(keys, kinds, NetworkClasses(features, marks))
        return known.classes

    def marked(self, unmarked: NetworkClasses, cones: Cones, marks: Tensor, kinds: Kinds) -> NetworkClasses:
        """The classes of the rows of marked copies.

        Args:
            unmarked: those of the unmarked graphs.
            cones: of the marks.
            marks: of the marked rows, ``(R, M)``.
            kinds: of the messages.
        """
        features, of_marks = unmarked.features, unmarked.marks
        assert of_marks is not None, "a network of one stream does not see marks"
        own = np.ascontiguousarray(as_array(marks), np.float64).view(np.int64)
        both = np.column_stack([features.of_rows[0][cones.node_of[: cones.ends[0]]], own])
        marked = features.marked(both, cones, self.rows, kinds)
        return NetworkClasses(marked, of_marks.marked(own, cones, self.rows, self.rows.no_kinds))


_KNOWN: Any = WeakIdKeyDictionary()


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
