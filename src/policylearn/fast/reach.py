"""Which rows of a bag its marks can have reached at each layer, so that in training too the others are computed once.

After l layers a row that lies more than l steps from every mark of its copy is as it would be without marks, and so is
the same in all copies: one row per node stands for all of these. A batch norm counts it as often as it stands for, and
its gradient is the sum of theirs. That needs marks without gradient, and norms that treat all rows alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Bag, Graphs
from policylearn.fast.inference import Cones
from policylearn.fast.layers import EdgeValues, LayerParts, in_a_row
from policylearn.fast.rows import NONE, Rows, as_array
from policylearn.fast.threads import Array, Pieces, kernel_threads, row_pieces
from policylearn.nn import TwoStreamEncoder

WORTH = 0.85
"""Above this share of the rows the whole copies are computed: they need no lists and lie better in memory."""


LayerStates = list[tuple[Tensor, Tensor]]
"""Features and marks of the unmarked graphs in front of each layer and behind the last, ``(N, C)`` each."""


class CompiledTwoStreamEncoder(TwoStreamEncoder):
    """See `TwoStreamEncoder`."""

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        states = self.reached(graphs, bag)
        return super().forward(graphs, bag) if states is None else states

    def reached(self, graphs: Graphs, bag: Bag, unmarked: LayerStates | None = None) -> Tensor | None:
        """Node states of every copy, by what marks reach; None where whole copies are to be computed.

        Args:
            graphs: the batch.
            bag: the copies.
            unmarked: what `unmarked` gave, which is not computed again then.
        """
        parts = self._parts(bag)
        reach = None if parts is None else MarkReach.of(bag, len(parts), apart=unmarked is not None)
        if parts is None or reach is None:
            return None
        edges = [EdgeValues.of(one.convs[0], Rows.of(bag), graphs.edge_attr, bag.marks.dtype) for one in parts]
        if not all(own.fit(one.convs[0].lin1.in_features) for own, one in zip(edges, parts, strict=True)):
            return None  # the plain pass says why
        p = reach.marks
        features = self.node_encoder(graphs) if unmarked is None else unmarked[0][0][:, p.shape[1] :]
        h = torch.cat([p, features.index_select(0, reach.nodes)], dim=1)
        for depth, (layer, one) in enumerate(zip(self.layers, parts, strict=True)):
            if unmarked is not None:
                h, p = (torch.cat(both) for both in zip((h, p), unmarked[depth], strict=True))
            # Several rows hear an edge's own vector, and not all of them are in one piece: hence shared.
            own, rows = edges[depth]._replace(shared=True), reach.layers[depth]
            h, p = one.train(h, p, rows, own, width=1, residual=bool(layer.residual))
        states = h + p
        if unmarked is not None:
            states = torch.cat([torch.add(*unmarked[-1]), states])
        return states.index_select(0, reach.place)

    def unmarked(self, graphs: Graphs, bag: Bag) -> LayerStates | None:
        """The unmarked graphs behind each layer, for copies that are yet to come; None where these need not be alike.

        Args:
            graphs: the batch.
            bag: slot 0 alone.
        """
        parts = self._parts(bag)
        if parts is None or any(one.kind == "batch" for one in parts):
            return None
        h, p = torch.cat([bag.marks, self.node_encoder(graphs)], dim=1), bag.marks
        states = [(h, p)]
        for layer in self.layers:
            h, p = layer(h, p, bag, graphs.edge_attr)
            states.append((h, p))
        return states

    def _parts(self, bag: Bag) -> list[LayerParts] | None:
        """Of what the layers are made; None where whole copies are to be computed, whatever marks reach."""
        marks = bag.marks
        if marks.device.type != "cpu" or marks.requires_grad or not bag.shares_edges:
            return None
        first: Any = self.layers[0]
        channels = int(first.features.conv.lin1.in_features) - marks.shape[1]
        found = in_a_row(self.layers, marks, channels, marks.shape[1])
        if found is None or any(parts.width(bag) > 1 or not parts.takes_statistics(bag.num_rows) for parts in found):
            return None
        if not torch.is_grad_enabled() and all(parts.fixed for parts in found):
            return None
        return found


@dataclass(frozen=True)
class MarkReach:
    """The rows of all layers: first one per node for what no mark has reached, then those that marks can have reached.

    Where the former are known already, rows of layers are the latter alone, and those of the nodes go in behind them.

    Args:
        nodes: the node of each row that goes into the first layer.
        marks: their marks.
        layers: the rows of each layer.
        place: the row behind the last layer that stands for each row of the bag.
    """

    nodes: Tensor
    marks: Tensor
    layers: list[ReachedRows]
    place: Tensor

    @staticmethod
    def of(bag: Bag, depth: int, *, apart: bool = False) -> MarkReach | None:
        """Those of a bag over so many layers; None where marks reach nearly everything, or there are none.

        Args:
            bag: copies that share edges.
            depth: how many layers.
            apart: whether what no mark has reached is known already.
        """
        marked = bag.marks.any(1).nonzero().squeeze(1)
        if not len(marked):
            return None
        rows, nodes = Rows.of(bag), bag.num_nodes
        first_row = 0 if apart else nodes  # of those that marks have reached
        copies, roots = _by_copy(bag.node[marked], bag.copy[marked])
        cones = Cones.around(rows, roots, depth)
        ends = [first_row + int(end) for end in cones.ends]
        if sum(ends[1:]) > WORTH * depth * bag.num_rows:
            return None
        node_of, number = torch.from_numpy(cones.node_of), torch.from_numpy(cones.copy_of)
        first = bag.row_ptr[:-1] - bag.copy_ptr.index_select(0, bag.graph)  # of a node, less its graph's first copy
        own = first.index_select(0, node_of) + copies.index_select(0, number)  # the bag's row of each
        heard, starts, sender = cones.node_of, cones.message_ptr, cones.sender
        marks = bag.marks[own[: cones.ends[0]]]
        if not apart:
            heard = np.concatenate([np.arange(nodes), heard])
            starts = np.concatenate([rows.target_ptr[:-1], len(rows.source) + starts])
            sender = np.concatenate([rows.source, np.where(sender < 0, -1, nodes + sender)])
            marks = torch.cat([marks.new_zeros(nodes, marks.shape[1]), marks])
        lists, per_node = (heard, NONE, starts, sender, rows.target_ptr, rows.source), as_array(bag.rows_per_node)
        return MarkReach(
            nodes=torch.from_numpy(heard[: ends[0]]),
            marks=marks,
            layers=[
                ReachedRows(inside + nodes - first_row, inside if apart else 0, end, lists, per_node)
                for inside, end in pairwise(ends)
            ],
            place=bag.node.index_copy(0, own, nodes + torch.arange(len(own))),
        )


@dataclass(frozen=True)
class ReachedRows:
    """See `LayerRows`.

    Args:
        inside: rows that go in.
        split: where those of the nodes start, if they are behind the others.
        count: rows that come out; those that went in are the first of them.
        lists: of all layers, as `sum_messages` takes them.
        per_node: rows of the bag that each node has.
    """

    inside: int
    split: int
    count: int
    lists: tuple[Array, ...]
    per_node: Array

    @property
    def total(self) -> int:
        """See `LayerRows`."""
        return int(self.per_node.sum())

    @cached_property
    def weights(self) -> Array:
        """See `LayerRows`."""
        nodes, weights = len(self.per_node), np.ones(self.count, np.float32)
        weights[:nodes] = self.per_node - np.bincount(self.incoming[0][nodes:], minlength=nodes)
        return weights

    @property
    def incoming(self) -> tuple[Array, ...]:
        """See `LayerRows`."""
        return self.lists[0][: self.count], *self.lists[1:]

    @cached_property
    def hearers(self) -> tuple[Array, Array, Array]:
        """See `LayerRows`."""
        from policylearn.fast.message_loops import list_hearers

        found: tuple[Array, Array, Array] = list_hearers(self.inside, self.split, *self.incoming)
        return found

    def pieces(self) -> Pieces:
        """See `LayerRows`."""
        return row_pieces(self.count, kernel_threads())

    def pieces_inside(self) -> Pieces:
        """See `LayerRows`."""
        return row_pieces(self.inside, kernel_threads())


def _by_copy(nodes: Tensor, copies: Tensor) -> tuple[Tensor, Tensor]:
    """The copies in which nodes are marked, ``(S,)``, and these nodes, ``(S, k)``, `NO_PICK` where one has fewer."""
    distinct, number, counts = torch.unique(copies, return_inverse=True, return_counts=True)
    order = number.argsort(stable=True)
    number = number[order]
    place = torch.arange(len(number)) - (counts.cumsum(0) - counts)[number]
    roots = nodes.new_full((len(distinct), int(counts.max())), NO_PICK)
    roots[number, place] = nodes[order]
    return distinct, roots
