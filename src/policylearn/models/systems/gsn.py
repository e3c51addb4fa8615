"""GSN: an MPNN whose first layer also sees how many cycles of each length pass through a node."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, TransformSpec, register
from policylearn.nn import (
    RowBatchNorm,
    collect,
    edge_numbers,
    edge_width,
    gather,
    node_numbers,
    node_width,
    one_hot,
    segment_sum,
)
from policylearn.settings.schema import Positive, Settings

CODES = "cycle_code"


class GSNSettings(Settings, frozen=True):
    """The run of about 500,000 weights on ZINC."""

    layers: Positive = 4
    """Number of layers."""
    channels: Positive = 150
    """Width C."""
    longest_cycle: Positive = 8
    """Cycles from 3 nodes to this many are counted."""


class GSNMLP(nn.Module):
    """Linear map, batch norm, relu, linear map."""

    def __init__(self, inputs: int, channels: int, outputs: int) -> None:
        super().__init__()
        self.lin1, self.norm1 = nn.Linear(inputs, channels), RowBatchNorm(channels)
        self.lin2 = nn.Linear(channels, outputs)

    def forward(self, rows: Tensor) -> Tensor:
        """Map, ``(R, inputs) -> (R, outputs)``."""
        out: Tensor = self.lin2(torch.relu(self.norm1(self.lin1(rows))))
        return out


class GSNLayer(nn.Module):
    r"""Messages that see both ends of an edge.

    .. math::
        x'_i = \mathrm{relu}\big(\mathrm{BN}(\mathrm{update}([x_i, \sum_{j \to i}
        \mathrm{message}([x_i, x_j, c_i, c_j, e_{ij}])]))\big)

    with c the codes of the cycle counts, in the first layer only.

    Args:
        inputs: width of the states that come in.
        codes: width of the codes; 0 for a layer without them.
        edges: width of the edge features.
        channels: C.
    """

    def __init__(self, inputs: int, codes: int, edges: int, channels: int) -> None:
        super().__init__()
        self.message = GSNMLP(2 * inputs + 2 * codes + edges, channels, channels)
        self.update = GSNMLP(inputs + channels, channels, channels)
        self.norm = RowBatchNorm(channels)

    def forward(self, states: Tensor, codes: Tensor | None, edges: Tensor, graphs: Graphs) -> Tensor:
        """Pass messages, ``(N, inputs) -> (N, C)``; ``edges`` are in the order of messages, ``(E, D)``."""
        target = graphs.adjacency.target
        ends = [states.index_select(0, target), gather(states, graphs.adjacency)]
        if codes is not None:
            ends += [codes.index_select(0, target), gather(codes, graphs.adjacency)]
        messages = self.message(torch.cat([*ends, edges], dim=1))  # (E, C)
        summed = collect(messages, graphs.adjacency)
        return torch.relu(self.norm(self.update(torch.cat([states, summed], dim=1))))


class GSN(nn.Module):
    """GSN-v in its general form with edge features: the codes of a node's cycle counts enter the first layer.

    Categories are read one-hot; the codes are those that the transform learned from the training graphs.
    """

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: GSNSettings, inputs: Inputs) -> None:
        super().__init__()
        node_features, edge_features, channels = inputs.node_features, inputs.edge_features, settings.channels
        self.node_features, self.edge_features = node_features, edge_features
        self.codes = codes = tuple(map(len, inputs.learned_by("cycle_codes")["vocabularies"]))
        first = GSNLayer(node_width(node_features), sum(codes), edge_width(edge_features), channels)
        later = (GSNLayer(channels, 0, edge_width(edge_features), channels) for _ in range(settings.layers - 1))
        self.layers = nn.ModuleList([first, *later])
        self.head = GSNMLP(channels, channels, inputs.outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        pooled = segment_sum(self.node_states(graphs), graphs.batch, graphs.num_graphs)
        output: Tensor = self.head(pooled)
        return output

    def node_states(self, graphs: Graphs) -> Tensor:
        """The states after the last layer, ``(N, C)``."""
        dtype = self.head.lin1.weight.dtype
        states = node_numbers(graphs, self.node_features, dtype)
        codes: Tensor | None = one_hot(graphs.extras[CODES], self.codes, dtype)
        edges = edge_numbers(graphs, self.edge_features, dtype).index_select(0, graphs.adjacency.edge)
        for layer in self.layers:
            states, codes = layer(states, codes, edges, graphs), None
        return states


def transforms(settings: GSNSettings, inputs: Inputs) -> list[TransformSpec]:
    """Cycle counts of every node, as codes."""
    return [("cycle_codes", {"sizes": tuple(range(3, settings.longest_cycle + 1)), "into": CODES})]


register(System("gsn", "GSN-v, cycle counts in messages (Bouritsas et al. 2020)", GSNSettings, GSN, transforms))
