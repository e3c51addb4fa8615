"""The twin of the encoder of two streams, in which rows that come out alike are computed once in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import NO_PICK, Bag, Graphs
from policylearn.fast.networks import MergedNetwork, States, spread
from policylearn.fast.rows import Array, Cones, as_array
from policylearn.nn import SingleStreamEncoder, TwoStreamEncoder


class CompiledTwoStreamEncoder(TwoStreamEncoder):
    """See `TwoStreamEncoder`."""

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        states = self.merged(graphs, bag)
        return super().forward(graphs, bag) if states is None else states

    def merged(self, graphs: Graphs, bag: Bag, unmarked: UnmarkedStates | None = None) -> Tensor | None:
        """Node states of every copy, each class of rows computed once; None where whole copies are to be computed.

        What `unmarked` gave is not computed again.
        """
        if bag.marks.requires_grad or not bag.shares_edges:
            return None
        network = self.network(graphs, bag) if unmarked is None else unmarked.network
        if network is None:
            return None
        found = MarkedRows.of(bag, graphs, depth=len(self.layers))
        classes, given = network.marked(found.cones, found.marks)
        if unmarked is None:
            both = network.unmarked.with_marked(classes)
            rows = both.rows(found.weights(bag) if network.by_batch else None)
            states = network.train(rows, _joined(network.unmarked_input(bag.marks.shape[1]), given))[-1]
        else:
            rows = classes.rows(beside=network.unmarked)
            states = _joined(unmarked.states[-1], network.train(rows, given, unmarked.states[:-1])[-1])
        last = zip(network.unmarked.last, classes.last, strict=True)
        return spread(states, *(np.concatenate(both)[found.place] for both in last))

    def unmarked(self, graphs: Graphs, bag: Bag) -> UnmarkedStates | None:
        """The unmarked graphs (slot 0), for copies that are yet to come; None where these need not be alike."""
        network = None if bag.marks.requires_grad else self.network(graphs, bag)
        if network is None or network.by_batch or bool(bag.marks.any()):
            return None
        given = network.unmarked_input(bag.marks.shape[1])
        return UnmarkedStates(network, [given, *network.train(network.unmarked.rows(), given)])

    def network(self, graphs: Graphs, bag: Bag) -> MergedNetwork | None:
        """The network over classes in training; None where whole copies are to be computed."""
        if bag.marks.device.type != "cpu":
            return None
        network = MergedNetwork.of(self, graphs, bag.marks, count=bag.num_rows)
        learns = torch.is_grad_enabled() or (network is not None and network.by_batch)
        return network if learns else None


class CompiledSingleStreamEncoder(SingleStreamEncoder):
    """See `SingleStreamEncoder`; in training, rows that are alike are computed once.

    Their gradients are summed before they reach a norm. Where all nodes of a batch are alike, each norm divides by
    sqrt(eps), and gradients that cancel in exact arithmetic would grow with every layer.
    """

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        like, network = bag.marks.new_empty(0, 0), None
        if like.device.type == "cpu" and bag.shares_edges and torch.is_grad_enabled():
            network = MergedNetwork.of(self, graphs, like, count=bag.num_rows)
        if network is None:
            return super().forward(graphs, bag)
        weights = [as_array(bag.rows_per_node)] * len(self.layers) if network.by_batch else None
        h, _ = network.train(network.unmarked.rows(weights), network.unmarked_input(0))[-1]
        return bag.spread(h.index_select(0, torch.from_numpy(network.unmarked.last[0])))


def _joined(one: States, two: States) -> States:
    return torch.cat([one[0], two[0]]), torch.cat([one[1], two[1]])


@dataclass(frozen=True, eq=False)
class UnmarkedStates:
    """The unmarked graphs, computed once for copies that are yet to come."""

    network: MergedNetwork  # over their classes
    states: list[States]  # of the classes, before the first layer and after each

    def of_nodes(self) -> Tensor:
        """The state of each node, ``(N, C)``."""
        return spread(self.states[-1], *self.network.unmarked.last)


@dataclass(frozen=True, eq=False)
class MarkedRows:
    """The rows of a bag that marks can have reached; all others are as in the unmarked graphs."""

    cones: Cones  # which rows these are
    marks: Tensor  # of the marked rows
    place: Array  # of each row of the bag: its node in the unmarked graphs or, after these, its row in cones

    @staticmethod
    def of(bag: Bag, graphs: Graphs, depth: int) -> MarkedRows:
        """Those of a bag."""
        marked = bag.marks.any(1).nonzero().squeeze(1)
        copies, roots = _by_copy(bag.node[marked], bag.copy[marked])
        cones = Cones.around(graphs.adjacency, roots, depth)
        node_of, number = torch.from_numpy(cones.node_of), torch.from_numpy(cones.copy_of)
        first = bag.row_ptr[:-1] - bag.copy_ptr.index_select(0, bag.graph)  # of a node, less its graph's first copy
        own = first.index_select(0, node_of) + copies.index_select(0, number)  # the bag's row of each
        place = bag.node.index_copy(0, own, bag.num_nodes + torch.arange(len(own)))
        return MarkedRows(cones, bag.marks[own[: cones.ends[0]]], as_array(place))

    def weights(self, bag: Bag) -> list[Array]:
        """How many rows of the bag each node of the unmarked graphs, and each row of cones, stands for."""
        per_node, found = as_array(bag.rows_per_node), []
        for end in self.cones.ends[1:]:
            alone = per_node - np.bincount(self.cones.node_of[:end], minlength=len(per_node))
            found.append(np.concatenate([alone, np.ones(end, alone.dtype)]))
        return found


def _by_copy(nodes: Tensor, copies: Tensor) -> tuple[Tensor, Tensor]:
    """The copies in which nodes are marked, ``(S,)``, and these nodes, ``(S, k)``, `NO_PICK` where one has fewer."""
    distinct, number, counts = torch.unique(copies, return_inverse=True, return_counts=True)
    order = number.argsort(stable=True)
    number = number[order]
    place = torch.arange(len(number)) - (counts.cumsum(0) - counts)[number]
    roots = nodes.new_full((len(distinct), int(counts.max()) if len(counts) else 1), NO_PICK)
    roots[number, place] = nodes[order]
    return distinct, roots
