"""PNA: towers of linear messages, aggregated in four ways at three scales of the degree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Adjacency, Graphs
from policylearn.models.protocol import PlainModel
from policylearn.models.registry import Inputs, LayerSettings, System, register
from policylearn.nn.features import NodeEncoder, build_edge_encoder
from policylearn.nn.norms import MLP, RowBatchNorm
from policylearn.nn.segments import segment_max, segment_min, segment_sum
from policylearn.nn.sums import collect, gather
from policylearn.settings.schema import DropShare, NotNegative, Positive

VARIANCE_FLOOR = 1e-5


def aggregates(messages: Tensor, adjacency: Adjacency) -> Tensor:
    """Mean, max, min and standard deviation of the messages of each node, ``(E, W) -> (N, 4, W)``; zeros without any.

    The gradient of a largest or smallest value is shared by all messages that have it.
    """
    degrees = adjacency.in_degree
    there, count = (degrees > 0).unsqueeze(1), degrees.clamp(min=1).unsqueeze(1).to(messages.dtype)
    sums = collect(torch.cat([messages, messages * messages], dim=1), adjacency)  # (N, 2W)
    mean, square = (sums / count).chunk(2, dim=1)
    deviation = torch.sqrt(torch.relu(square - mean * mean) + VARIANCE_FLOOR)
    extremes = (pool(messages, adjacency.target, len(degrees)) for pool in (segment_max, segment_min))
    parts = [mean, *(values.where(there, 0.0) for values in (*extremes, deviation))]
    return torch.stack(parts, dim=1)


class PNASettings(LayerSettings, frozen=True):
    """The run of about 500,000 weights on ZINC (369,235 counted)."""

    layers: Positive = 16
    channels: Positive = 70
    """Width C; a multiple of the towers."""
    last_channels: NotNegative = 0
    """Width of the last layer; 0 is the same as the others."""
    edge_channels: NotNegative = 40
    """Width of the edges' vectors."""
    towers: Positive = 5
    """Towers in every layer."""
    divide_input: bool = True
    """Whether each tower sees its share of the input's channels, or all of them."""
    divide_last_input: bool = True
    """The same for the last layer."""
    dropout: DropShare = 0.0
    """After each tower."""


class Tower(nn.Module):
    """The weights of one tower of width w: linear messages, and what becomes of their aggregates."""

    def __init__(self, width: int, edge_channels: int, outputs: int) -> None:
        super().__init__()
        self.pre = nn.Linear(2 * width + edge_channels, width)
        self.post, self.norm = nn.Linear(13 * width, outputs), RowBatchNorm(outputs)

    def forward(self, part: Tensor, edges: Tensor, adjacency: Adjacency) -> Tensor:
        """The messages, the sender first, ``(N, w) -> (E, w)``."""
        ends = [gather(part, adjacency), part.index_select(0, adjacency.target), edges]
        return self.pre(torch.cat(ends, dim=1))

    def finish(self, part: Tensor, scaled: Tensor, graph_norm: Tensor) -> Tensor:
        """From input and scaled aggregates to the output, ``(N, w), (N, 12, w), (N, 1) -> (N, outputs)``."""
        posted = self.post(torch.cat([part, scaled.flatten(1)], dim=1))
        return self.norm(posted * graph_norm)


class PNALayer(nn.Module):
    r"""Towers side by side, then one map over all of them.

    .. math::
        m_{ij} = \mathrm{pre}([x_j, x_i, e_{ij}]), \quad
        S_i = [A_i,\ A_i \log(d_i + 1) / \delta,\ A_i\, \delta / \log(d_i + 1)], \quad
        y_i = \mathrm{BN}(\mathrm{post}([x_i, S_i]) / \sqrt n)

    with A the `aggregates` of the messages and n the nodes of the graph; then
    :math:`x'_i = \mathrm{leaky}(\mathrm{mix}(y_i))`, plus :math:`x_i` where the widths are equal.
    """

    def __init__(
        self, settings: PNASettings, outputs: int, edge_channels: int, *, divide_input: bool, mean_log_degree: float
    ) -> None:
        super().__init__()
        inputs, towers = settings.channels, settings.towers
        if outputs % towers or (divide_input and inputs % towers):
            raise ValueError(f"{towers} towers need multiples of {towers} as channels (got {inputs} in, {outputs} out)")
        width = inputs // towers if divide_input else inputs
        self.towers = nn.ModuleList(Tower(width, edge_channels, outputs // towers) for _ in range(towers))
        self.mix = nn.Linear(outputs, outputs)
        self.divide_input, self.mean_log_degree, self.dropout = divide_input, mean_log_degree, settings.dropout
        self.residual = inputs == outputs

    def forward(self, states: Tensor, edges: Tensor, graphs: Graphs) -> Tensor:
        """Pass messages, ``(N, inputs) -> (N, outputs)``; ``edges`` are in the order of messages, ``(E, De)``."""
        adjacency, count = graphs.adjacency, len(self.towers)
        parts = states.chunk(count, dim=1) if self.divide_input else (states,) * count
        pairs = list(zip(cast(Sequence[Tower], self.towers), parts, strict=True))
        messages = torch.cat([tower(part, edges, adjacency) for tower, part in pairs], dim=1)  # (E, t * w)
        scaled = self._scaled(aggregates(messages, adjacency), adjacency)  # (N, 12, t * w)
        graph_norm = graphs.sizes.to(states.dtype).rsqrt().index_select(0, graphs.batch).unsqueeze(1)
        outputs = [
            functional.dropout(tower.finish(part, own, graph_norm), self.dropout, self.training)
            for (tower, part), own in zip(pairs, scaled.chunk(count, dim=2), strict=True)
        ]
        mixed = functional.leaky_relu(self.mix(torch.cat(outputs, dim=1)), 0.01)
        return states + mixed if self.residual else mixed

    def _scaled(self, values: Tensor, adjacency: Adjacency) -> Tensor:
        """Aggregates at the three scales, ``(N, 4, W) -> (N, 12, W)``; a node without neighbours has zeros anyway."""
        degrees = adjacency.in_degree.clamp(min=1).to(values.dtype)
        scale = (torch.log(degrees + 1) / self.mean_log_degree).view(-1, 1, 1)
        return torch.cat([values, values * scale, values / scale], dim=1)


class PNA(PlainModel):
    """Principal neighbourhood aggregation with edge features; the scale of degrees is that of the training graphs."""

    def __init__(self, settings: PNASettings, inputs: Inputs) -> None:
        super().__init__()
        # Graphs without any edge have a mean of 0, and nothing to scale by it.
        mean_log_degree = float(inputs.learned_by("mean_log_degree")["mean"]) or 1.0
        last_channels = settings.last_channels or settings.channels
        self.node_embedding = NodeEncoder(inputs.node_features, settings.channels)
        self.edge_embedding = build_edge_encoder(inputs.edge_features, settings.edge_channels)
        width = 0 if self.edge_embedding is None else settings.edge_channels

        def layer(channels: int, *, divide: bool) -> PNALayer:
            return PNALayer(settings, channels, width, divide_input=divide, mean_log_degree=mean_log_degree)

        first = [layer(settings.channels, divide=settings.divide_input) for _ in range(settings.layers - 1)]
        self.layers = nn.ModuleList([*first, layer(last_channels, divide=settings.divide_last_input)])
        self.head = MLP(last_channels, last_channels // 2, last_channels // 4, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        states = self.node_embedding(graphs)
        if self.edge_embedding is None:
            edges = states.new_zeros(graphs.adjacency.num_edges, 0)
        else:
            edges = self.edge_embedding(graphs.edge_attr).each_message(graphs.adjacency)  # (E, De)
        for layer in self.layers:
            states = layer(states, edges, graphs)
        return self.head(segment_sum(states, graphs.batch, graphs.num_graphs))


TITLE = "PNA, several aggregators and scalers (Corso et al. 2020)"
register(System("pna", TITLE, PNASettings, PNA, lambda _settings, _inputs: [("mean_log_degree", {})]))
