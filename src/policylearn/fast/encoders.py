"""Twins of the encoders of one and of two streams, in which rows that come out alike are computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from policylearn.bags import Bag, Graphs
from policylearn.fast.merged_network import MarkedRows, MergedNetwork, States
from policylearn.fast.rows import as_array
from policylearn.nn import SingleStreamEncoder, TwoStreamEncoder

WORTH = 0.85
"""Above this share of the rows the whole copies are computed: they lie better in memory."""


class CompiledTwoStreamEncoder(TwoStreamEncoder):
    """See `TwoStreamEncoder`."""

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        states = self.merged(graphs, bag)
        return super().forward(graphs, bag) if states is None else states

    def merged(self, graphs: Graphs, bag: Bag, unmarked: UnmarkedStates | None = None) -> Tensor | None:
        """Node states of every copy, each class of rows computed once; None where whole copies are to be computed.

        Args:
            graphs: the batch.
            bag: the copies.
            unmarked: what `unmarked` gave, which is not computed again then.
        """
        if bag.marks.requires_grad or not bag.shares_edges:
            return None
        network = self._network(graphs, bag) if unmarked is None else unmarked.network
        if network is None:
            return None
        found = MarkedRows.of(network, bag, apart=unmarked is not None)
        if unmarked is not None and found.cones is None:
            return network.spread(unmarked.states, network.unmarked, found.place)
        computed = found.both if unmarked is None else found.marked
        if computed.total > WORTH * 2 * network.depth * bag.num_rows:
            return None
        features: Tensor = self.node_encoder(graphs) if unmarked is None else unmarked.features
        if unmarked is None:
            whole = found.given(features, found.both)
            if not network.takes(whole):
                return None  # the plain pass says why
            rows = found.both.rows(found.weights(bag) if network.by_batch else None)
            states = network.train(rows, whole)
        else:
            given = found.given(features, found.marked, apart=True)
            made = network.train(found.marked.rows(inside=found.both), given, unmarked.states[:-1])
            last = (torch.cat(both) for both in zip(unmarked.states[-1], made[-1], strict=True))
            states = [tuple(last)]  # type: ignore[list-item]
        return network.spread(states, found.both, found.place)

    def unmarked(self, graphs: Graphs, bag: Bag) -> UnmarkedStates | None:
        """The unmarked graphs, for copies that are yet to come; None where these need not be alike.

        Args:
            graphs: the batch.
            bag: slot 0 alone.
        """
        network = self._network(graphs, bag)
        if network is None or network.by_batch or bool(bag.marks.any()):
            return None
        features: Tensor = self.node_encoder(graphs)
        found = MarkedRows.nowhere(network, bag)
        given = found.given(features, network.unmarked)
        if not network.takes(given):
            return None
        made = network.train(network.unmarked.rows(), given)
        return UnmarkedStates(network, features, [given, *made])

    def _network(self, graphs: Graphs, bag: Bag) -> MergedNetwork | None:
        """The network over classes; None where whole copies are to be computed."""
        network = None if bag.marks.requires_grad else MergedNetwork.of(self, graphs, bag)
        return None if network is None or network.infers else network


class CompiledSingleStreamEncoder(SingleStreamEncoder):
    """See `SingleStreamEncoder`."""

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Node states of every copy, ``(R, C)``."""
        network = MergedNetwork.of(self, graphs, bag)
        if network is None or network.unmarked.total > WORTH * network.depth * bag.num_rows:
            return super().forward(graphs, bag)
        found = MarkedRows.nowhere(network, bag)
        given = found.given(self.node_encoder(graphs), network.unmarked)
        if not network.takes(given):
            return super().forward(graphs, bag)
        if network.infers:
            h, p = network.infer(network.unmarked.rows(), (as_array(given[0]), as_array(given[1])))[-1]
            states = [(torch.from_numpy(h), torch.from_numpy(p))]
        else:
            rows = network.unmarked.rows(found.weights(bag) if network.by_batch else None)
            states = network.train(rows, given)
        return network.spread(states, network.unmarked, found.place)


@dataclass(frozen=True, eq=False)
class UnmarkedStates:
    """The unmarked graphs, computed once for copies that are yet to come.

    Args:
        network: over their classes.
        features: of the nodes.
        states: of the classes in front of the first layer and behind each.
    """

    network: MergedNetwork
    features: Tensor
    states: States

    def of_nodes(self) -> Tensor:
        """The state of each node, ``(N, C)``."""
        return self.network.spread(self.states, self.network.unmarked, np.arange(len(self.features)))
