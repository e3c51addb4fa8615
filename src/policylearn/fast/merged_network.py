"""The layers of an encoder over classes of rows, and the rows of a bag that these stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from policylearn.bags import NO_PICK, Bag, Graphs
from policylearn.fast.cone_rows import Cones
from policylearn.fast.layers import EdgeValues, FixedLayer, FixedStates, LayerParts, in_a_row, train_layer
from policylearn.fast.merged_rows import GraphClasses, NetworkClasses
from policylearn.fast.rows import Array, LayerRows, as_array
from policylearn.nn import SingleStreamEncoder, TwoStreamEncoder

Encoder = TwoStreamEncoder | SingleStreamEncoder

States = list[tuple[Tensor, Tensor]]
"""Features and marks in front of or behind layers; marks without channels where there is one stream."""


@dataclass(frozen=True, eq=False)
class MergedNetwork:
    """The layers of an encoder, over classes of the rows of a batch.

    Args:
        parts: of each layer.
        edges: of each layer; messages have the same kinds in all of them.
        residual: whether each layer has one.
        graphs: the rows of the unmarked graphs.
        unmarked: their classes.
    """

    parts: list[LayerParts]
    edges: list[EdgeValues]
    residual: list[bool]
    graphs: GraphClasses
    unmarked: NetworkClasses

    @staticmethod
    def of(encoder: Encoder, graphs: Graphs, bag: Bag) -> MergedNetwork | None:
        """That of an encoder; None where its rows are not to be merged.

        That is so where norms take statistics of each slot, where something drops, where copies have edges of their
        own, and where the loops do not know the tensors.
        """
        marks = bag.marks
        if marks.device.type != "cpu" or not bag.shares_edges:
            return None
        found = parts_of(encoder, marks)
        if found is None:
            return None
        infers = not torch.is_grad_enabled() and all(one.fixed for one in found)
        if not infers and not all(one.takes_statistics(bag.num_rows) for one in found):
            return None
        return MergedNetwork._over(encoder, graphs, found, marks.dtype)

    @staticmethod
    def fixed_of(encoder: Encoder, graphs: Graphs, like: Tensor) -> MergedNetwork | None:
        """That of an encoder at inference; None where its norms need something from the batch, and as above."""
        found = parts_of(encoder, like)
        if found is None or not all(one.fixed for one in found):
            return None
        return MergedNetwork._over(encoder, graphs, found, like.dtype)

    @staticmethod
    def _over(encoder: Encoder, graphs: Graphs, found: list[LayerParts], dtype: torch.dtype) -> MergedNetwork | None:
        shared = GraphClasses.of(graphs)
        edges = [EdgeValues.of(one.convs[0], shared.rows, graphs.edge_attr, dtype) for one in found]
        if not all(own.fit(one.convs[0].lin1.in_features) for own, one in zip(edges, found, strict=True)):
            return None  # the plain pass says why
        if any(own.kinds is not edges[0].kinds for own in edges):
            return None
        unmarked = shared.unmarked(graphs, encoder.node_encoder, edges[0].kinds, len(found), len(found[0].convs))
        return MergedNetwork(found, edges, [bool(layer.residual) for layer in encoder.layers], shared, unmarked)

    @property
    def depth(self) -> int:
        """How many layers."""
        return len(self.parts)

    @property
    def channels(self) -> int:
        """Of the features that go in."""
        parts = self.parts[0]
        marks = parts.convs[1].lin1.in_features if len(parts.convs) > 1 else 0
        return int(parts.convs[0].lin1.in_features) - marks

    def takes(self, given: tuple[Tensor, Tensor]) -> bool:
        """Whether features that go in are as wide and as precise as the weights: an encoder of nodes may be any."""
        h, weight = given[0], self.parts[0].convs[0].lin1.weight
        return h.shape[1] == self.channels and h.dtype == weight.dtype

    @property
    def by_batch(self) -> bool:
        """Whether norms are batch norms."""
        return any(one.kind == "batch" for one in self.parts)

    @property
    def infers(self) -> bool:
        """Whether nothing is to be learned, or taken from the batch."""
        return not torch.is_grad_enabled() and all(one.fixed for one in self.parts)

    def train(self, rows: Sequence[LayerRows], given: tuple[Tensor, Tensor], known: States | None = None) -> States:
        """Features and marks behind each layer, with gradients.

        Args:
            rows: of each layer.
            given: features and marks that go in.
            known: rows in front of each layer that stand ahead of those that are made.
        """
        found: States = []
        for depth, layer in enumerate(zip(self.parts, self.edges, self.residual, rows, strict=True)):
            if known is not None:
                given = torch.cat([known[depth][0], given[0]]), torch.cat([known[depth][1], given[1]])
            given = train_layer(*layer, given)
            found.append(given)
        return found

    @cached_property
    def fixed(self) -> list[FixedLayer]:
        """The layers as they are at inference."""
        return [FixedLayer.of(*layer) for layer in zip(self.parts, self.edges, self.residual, strict=True)]

    def infer(
        self, rows: Sequence[LayerRows], given: FixedStates, known: Sequence[FixedStates] | None = None
    ) -> list[FixedStates]:
        """The same as `train`, at inference; ``known`` has rows behind the last layer too, which are given back."""
        if known is not None:
            given = np.concatenate([known[0][0], given[0]]), np.concatenate([known[0][1], given[1]])
        found: list[FixedStates] = []
        for depth, layer in enumerate(self.fixed):
            given = layer(rows[depth], given, None if known is None else known[depth + 1])
            found.append(given)
        return found

    def marked(self, cones: Cones, marks: Tensor) -> NetworkClasses:
        """The classes of the rows of marked copies, beside those of the unmarked graphs."""
        return self.graphs.marked(self.unmarked, cones, marks, self.edges[0].kinds)

    @staticmethod
    def spread(states: States, classes: NetworkClasses, place: Array | slice) -> Tensor:
        """The last states of rows, ``(R, C)``, from those of their classes."""
        h, p = states[-1]
        spread = pick_rows(h, classes.features.of_rows[-1][place])
        return spread if classes.marks is None else spread.add_(pick_rows(p, classes.marks.of_rows[-1][place]))


def pick_rows(states: Tensor, at: Array) -> Tensor:
    """``states[at]``; as a table of embeddings, whose gradient torch adds up faster than that of an index."""
    return functional.embedding(torch.from_numpy(at), states)


def parts_of(encoder: Encoder, like: Tensor) -> list[LayerParts] | None:
    """Of what the layers are made; see `in_a_row`."""
    first = cast(Any, encoder.layers[0])
    marks = like.shape[1] if isinstance(encoder, TwoStreamEncoder) else 0
    return in_a_row(encoder.layers, like, int(first.features.conv.lin1.in_features) - marks, marks)


@dataclass(frozen=True, eq=False)
class MarkedRows:
    """The rows of the unmarked graphs, one per node, and behind these the rows of copies that marks can have reached.

    Args:
        nodes: N.
        cones: the latter.
        marks: of the marked rows.
        marked: classes of the latter.
        both: classes of all.
        place: the row that stands for each row of the bag.
    """

    nodes: int
    cones: Cones | None
    marks: Tensor
    marked: NetworkClasses
    both: NetworkClasses
    place: Array

    @staticmethod
    def nowhere(network: MergedNetwork, bag: Bag) -> MarkedRows:
        """Where nothing is marked, or no mark is seen."""
        known = network.unmarked
        return MarkedRows(bag.num_nodes, None, bag.marks[:0], known, known, as_array(bag.node))

    @staticmethod
    def of(network: MergedNetwork, bag: Bag, *, apart: bool = False) -> MarkedRows:
        """Those of a bag; ``apart`` where rows of the unmarked graphs are known and go through no layer again."""
        marked = bag.marks.any(1).nonzero().squeeze(1)
        if not len(marked):
            return MarkedRows.nowhere(network, bag)
        copies, roots = _by_copy(bag.node[marked], bag.copy[marked])
        cones = Cones.around(network.graphs.rows, roots, network.depth)
        node_of, number = torch.from_numpy(cones.node_of), torch.from_numpy(cones.copy_of)
        first = bag.row_ptr[:-1] - bag.copy_ptr.index_select(0, bag.graph)  # of a node, less its graph's first copy
        own = first.index_select(0, node_of) + copies.index_select(0, number)  # the bag's row of each
        marks = bag.marks[own[: cones.ends[0]]]
        classes = network.marked(cones, marks)
        place = bag.node.index_copy(0, own, bag.num_nodes + torch.arange(len(own)))
        return MarkedRows(
            bag.num_nodes, cones, marks, classes, network.unmarked.with_marked(classes, apart=apart), as_array(place)
        )

    def weights(self, bag: Bag) -> list[Array]:
        """How many rows of the bag each row behind each layer stands for."""
        per_node = as_array(bag.rows_per_node)
        if self.cones is None:
            return [per_node] * (len(self.both.features.counts) - 1)
        found = []
        for end in self.cones.ends[1:]:
            alone = per_node - np.bincount(self.cones.node_of[:end], minlength=self.nodes)
            found.append(np.concatenate([alone, np.ones(end, alone.dtype)]))
        return found

    def given(self, features: Tensor, classes: NetworkClasses, *, apart: bool = False) -> tuple[Tensor, Tensor]:
        """Features and marks of classes in front of the first layer.

        Args:
            features: of the nodes, ``(N, C)``.
            classes: whose.
            apart: whether these are of the marked rows alone.
        """
        firsts = classes.features.firsts
        marks, nodes = self._rows(firsts, apart)
        h = features.index_select(0, nodes)
        if classes.marks is None:
            return h, h.new_empty(len(h), 0)
        return torch.cat([marks, h], dim=1), self._rows(classes.marks.firsts, apart)[0]

    def _rows(self, rows: Array, apart: bool) -> tuple[Tensor, Tensor]:
        """Marks and nodes of some rows."""
        ahead = 0 if apart else int(np.searchsorted(rows, self.nodes))  # classes of unmarked rows come first
        reached = rows[ahead:] - (0 if apart else self.nodes)
        marks = torch.cat([self.marks.new_zeros(ahead, self.marks.shape[1]), self.marks[torch.from_numpy(reached)]])
        if self.cones is None:
            return marks, torch.from_numpy(rows)
        return marks, torch.from_numpy(np.concatenate([rows[:ahead], self.cones.node_of[reached]]))


def _by_copy(nodes: Tensor, copies: Tensor) -> tuple[Tensor, Tensor]:
    """The copies in which nodes are marked, ``(S,)``, and these nodes, ``(S, k)``, `NO_PICK` where one has fewer."""
    distinct, number, counts = torch.unique(copies, return_inverse=True, return_counts=True)
    order = number.argsort(stable=True)
    number = number[order]
    place = torch.arange(len(number)) - (counts.cumsum(0) - counts)[number]
    roots = nodes.new_full((len(distinct), int(counts.max())), NO_PICK)
    roots[number, place] = nodes[order]
    return distinct, roots
