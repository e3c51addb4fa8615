"""GSN: an MPNN whose first layer also sees how many cycles of each length pass through a node."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, attached
from policylearn.models.protocol import PlainModel
from policylearn.models.registry import Inputs, LayerSettings, System, register
from policylearn.nn.encoders import dtype_of
from policylearn.nn.features import edge_numbers, node_numbers, node_width, one_hot
from policylearn.nn.norms import RowBatchNorm, sequence
from policylearn.nn.segments import segment_sum
from policylearn.nn.sums import collect, gather
from policylearn.settings.schema import Positive

CODES = "cycle_code"


class GSNSettings(LayerSettings, frozen=True):
    """The run of about 500,000 weights on ZINC."""

    layers: Positive = 4
    channels: Positive = 150
    longest_cycle: Positive = 8
    """Cycles from 3 nodes to this many are counted."""


def gsn_mlp(inputs: int, channels: int, outputs: int) -> nn.Sequential:
    """Linear map, batch norm, relu, linear map, ``(R, inputs) -> (R, outputs)``."""
    lin1, lin2 = nn.Linear(inputs, channels), nn.Linear(channels, outputs)
    return sequence(lin1=lin1, norm1=RowBatchNorm(channels), relu=nn.ReLU(), lin2=lin2)


class GSNLayer(nn.Module):
    r"""Messages that see both ends of an edge.

    .. math::
        x'_i = \mathrm{relu}\big(\mathrm{BN}(\mathrm{update}([x_i, \sum_{j \to i}
        \mathrm{message}([x_i, x_j, c_i, c_j, e_{ij}])]))\big)

    with c the codes of the cycle counts, in the first layer only. Arguments are widths.
    """

    def __init__(self, inputs: int, codes: int, edges: int, channels: int) -> None:
        super().__init__()
        self.message = gsn_mlp(2 * inputs + 2 * codes + edges, channels, channels)
        self.update = gsn_mlp(inputs + channels, channels, channels)
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


class GSN(PlainModel):
    """GSN-v in its general form with edge features: the codes of a node's cycle counts enter the first layer.

    Categories are read one-hot; the codes are those that the transform learned from the training graphs.
    """

    def __init__(self, settings: GSNSettings, inputs: Inputs) -> None:
        super().__init__()
        node_features, edge_features, channels = inputs.node_features, inputs.edge_features, settings.channels
        self.node_features, self.edge_features = node_features, edge_features
        self.codes = codes = tuple(map(len, inputs.learned_by("cycle_codes")["vocabularies"]))
        first = GSNLayer(node_width(node_features), sum(codes), edge_features.width, channels)
        later = (GSNLayer(channels, 0, edge_features.width, channels) for _ in range(settings.layers - 1))
        self.layers = nn.ModuleList([first, *later])
        self.head = gsn_mlp(channels, channels, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        pooled = segment_sum(self.node_states(graphs), graphs.batch, graphs.num_graphs)
        return self.head(pooled)

    def node_states(self, graphs: Graphs) -> Tensor:
        """The states after the last layer, ``(N, C)``."""
        dtype = dtype_of(self)
        states = node_numbers(graphs, self.node_features, dtype)
        codes: Tensor | None = one_hot(attached(graphs, CODES, "cycle_codes"), self.codes, dtype)
        edges = edge_numbers(graphs, self.edge_features, dtype).index_select(0, graphs.adjacency.edge)
        for layer in self.layers:
            states, codes = layer(states, codes, edges, graphs), None
        return states


register(
    System(
        "gsn",
        "GSN-v, cycle counts in messages (Bouritsas et al. 2020)",
        GSNSettings,
        GSN,
        lambda settings, _: [("cycle_codes", {"sizes": tuple(range(3, settings.longest_cycle + 1)), "into": CODES})],
    )
)
