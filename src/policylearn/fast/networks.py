"""The layers of an encoder of two streams over classes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from policylearn.bags import Graphs
from policylearn.fast.classes import NetworkClasses, marked_classes, unmarked_classes
from policylearn.fast.layers import EdgeValues, LayerParts, compiled_parts, infer_layer, train_layer
from policylearn.fast.rows import Array, Cones, LayerRows
from policylearn.fast.streams import FixedStream
from policylearn.nn import SingleStreamEncoder, TwoStreamEncoder

States = tuple[Tensor, Tensor]
"""Features and marks before or after a layer."""


class GrowingRows:
    """Rows that are kept, and further ones after these that the next step overwrites; none is kept at first."""

    def __init__(self, width: int, dtype: Any) -> None:
        self.rows, self.known, self.end = np.empty((0, width), dtype), 0, 0

    def after_kept(self, count: int) -> Array:
        """Space for so many rows after those that are kept."""
        self.end = self.known + count
        if len(self.rows) < self.end:
            rows = np.empty((2 * self.end, self.rows.shape[1]), self.rows.dtype)  # takes no memory before it is written
            rows[: self.known] = self.rows[: self.known]
            self.rows = rows
        return self.rows[self.known : self.end]

    def keep(self) -> None:
        """Keep the rows that were written last."""
        self.known = self.end


@dataclass(frozen=True, eq=False)
class MergedNetwork:
    """The layers of an encoder, over classes of the rows of a batch."""

    graphs: Graphs  # the batch
    features: Tensor  # of its nodes, ``(N, C)``
    parts: list[LayerParts]  # of each layer
    edges: list[EdgeValues]  # of each layer; messages have the same kinds in all of them
    unmarked: NetworkClasses  # the classes of the unmarked graphs

    @staticmethod
    def of(
        encoder: TwoStreamEncoder | SingleStreamEncoder, graphs: Graphs, like: Tensor, *, count: int | None
    ) -> MergedNetwork | None:
        """That of an encoder whose layers are all compiled; None where its rows are not to be merged.

        That is so where norms take statistics of each slot, where something drops, and where the loops do not know the
        tensors. The marks are like the tensor ``like``; norms take statistics of ``count`` rows, and have fixed ones
        where that is None.
        """
        first, marks = cast(Any, encoder.layers[0]), like.shape[1]
        found = compiled_parts(encoder.layers, like, int(first.features.conv.lin1.in_features) - marks, marks)
        if found is None or not all(one.fixed if count is None else one.takes_statistics(count) for one in found):
            return None
        convs = [one.streams[0].conv for one in found]
        edges = [EdgeValues.of(conv, graphs.adjacency, graphs.edge_attr, like.dtype) for conv in convs]
        if not all(own.fit(conv.lin1.in_features) for own, conv in zip(edges, convs, strict=True)):
            return None  # the plain pass says why
        if not all(np.array_equal(own.kind, edges[0].kind) for own in edges[1:]):
            return None
        features: Tensor = encoder.node_encoder(graphs)  # may be of any width and precision
        if features.shape[1] + 2 * marks != convs[0].lin1.in_features or features.dtype != like.dtype:
            return None
        classes = unmarked_classes(graphs, encoder.node_encoder, edges[0].kind, len(found))
        return MergedNetwork(graphs, features, found, edges, classes)

    @property
    def by_batch(self) -> bool:
        """Whether norms are batch norms."""
        return any(one.by_batch for one in self.parts)

    def marked(self, cones: Cones, marks: Tensor) -> tuple[NetworkClasses, States]:
        """The classes of the rows within cones, and their input to the first layer; marks are ``(R, M)``."""
        classes = marked_classes(self.unmarked, self.graphs, self.edges[0].kind, cones, marks)
        return classes, self._given(classes, cones.node_of, marks)

    def unmarked_input(self, width: int) -> States:
        """The classes of the unmarked graphs before the first layer; marks have so many channels."""
        nodes = np.arange(len(self.features))
        return self._given(self.unmarked, nodes, self.features.new_zeros(len(nodes), width))

    def _given(self, classes: NetworkClasses, nodes: Array, marks: Tensor) -> States:
        """Features and marks of classes of rows, of which the nodes and the marks are given."""
        rows = classes.features.firsts
        own = self.features.index_select(0, torch.from_numpy(nodes[rows]))
        h = torch.cat([marks.index_select(0, torch.from_numpy(rows)), own], dim=1)
        return h, marks.index_select(0, torch.from_numpy(classes.marks.firsts))

    def train(self, rows: Sequence[LayerRows], given: States, known: Sequence[States] | None = None) -> list[States]:
        """Features and marks after each layer, with gradients.

        ``known`` are rows before each layer that stand ahead of those that are computed.
        """
        found: list[States] = []
        for depth, layer in enumerate(zip(self.parts, self.edges, rows, strict=True)):
            if known is not None:
                given = torch.cat([known[depth][0], given[0]]), torch.cat([known[depth][1], given[1]])
            given = train_layer(*layer, given)
            found.append(given)
        return found

    @cached_property
    def fixed(self) -> list[list[FixedStream]]:
        """The layers as they are at inference."""
        return [parts.fixed_streams(edges) for parts, edges in zip(self.parts, self.edges, strict=True)]

    def infer(
        self, rows: Sequence[LayerRows], given: States, states: Sequence[tuple[GrowingRows, GrowingRows]]
    ) -> None:
        """The same as `train`, at inference: write the states before the first layer and after each."""
        for rows_of, one in zip(states[0], given, strict=True):
            rows_of.after_kept(len(one))[:] = one.numpy()
        for depth, streams in enumerate(self.fixed):
            before, own = states[depth], rows[depth]
            out = [rows_of.after_kept(lists.count) for rows_of, lists in zip(states[depth + 1], own[:2], strict=True)]
            infer_layer(streams, own, (before[0].rows, before[1].rows), out)

    def empty_states(self, given: States) -> list[tuple[GrowingRows, GrowingRows]]:
        """For all that `infer` computes from this input."""
        widths = [(given[0].shape[1], given[1].shape[1])]
        widths += [(parts.streams[0].width, parts.streams[1].width) for parts in self.parts]
        dtype = given[0].numpy().dtype
        return [(GrowingRows(h, dtype), GrowingRows(p, dtype)) for h, p in widths]


def spread(states: States, at: Array, marks_at: Array) -> Tensor:
    """The states of rows, ``(R, C)``, from those of their classes in both streams."""
    h, p = states
    # As tables of embeddings, whose gradients torch adds up faster than those of an index.
    rows = functional.embedding(torch.from_numpy(at), h)
    return rows.add_(functional.embedding(torch.from_numpy(marks_at), p))
