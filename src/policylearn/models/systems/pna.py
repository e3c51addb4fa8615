"""PNA: towers of linear messages, aggregated in four ways at three scales of the degree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Adjacency, Graphs
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, TransformSpec, register
from policylearn.nn import (
    NodeEncoder,
    RowBatchNorm,
    build_edge_encoder,
    collect,
    gather,
    require_edges,
    segment_max,
    segment_min,
    segment_sum,
)
from policylearn.settings.schema import DropShare, NotNegative, Positive, Settings

VARIANCE_FLOOR = 1e-5


def aggregates(messages: Tensor, adjacency: Adjacency) -> Tensor:
    """Mean, max, min and standard deviation of the messages of each node; zeros where there is none.

    The gradient of a largest or smallest value is shared by all messages that have it.

    Shapes:
        messages ``(E, W)`` grouped by target -> ``(N, 4, W)``.
    """
    degrees = in_degree(adjacency)
    there, count = (degrees > 0).unsqueeze(1), degrees.clamp(min=1).unsqueeze(1).to(messages.dtype)
    sums = collect(torch.cat([messages, messages * messages], dim=1), adjacency)  # (N, 2W)
    mean, square = (sums / count).chunk(2, dim=1)
    deviation = torch.sqrt(torch.relu(square - mean * mean) + VARIANCE_FLOOR)
    extremes = (pool(messages, adjacency.target, len(degrees)) for pool in (segment_max, segment_min))
    parts = [mean, *(values.where(there, 0.0) for values in (*extremes, deviation))]
    return torch.stack(parts, dim=1)


def in_degree(adjacency: Adjacency) -> Tensor:
    """Incoming edges of each node, ``(N,)``."""
    return adjacency.target_ptr[1:] - adjacency.target_ptr[:-1]


class PNASettings(Settings, frozen=True):
    """The run of about 500,000 weights on ZINC (369,235 counted)."""

    layers: Positive = 16
    """Number of layers."""
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
    """Behind each tower."""


class Tower(nn.Module):
    """The weights of one tower: linear messages, and what becomes of their aggregates.

    Args:
        width: w of its input.
        edge_channels: width of the edges' vectors.
        outputs: width of its output.
    """

    def __init__(self, width: int, edge_channels: int, outputs: int) -> None:
        super().__init__()
        self.pre = nn.Linear(2 * width + edge_channels, width)
        self.post = nn.Linear(13 * width, outputs)
        self.norm = RowBatchNorm(outputs)

    def forward(self, part: Tensor, edges: Tensor, adjacency: Adjacency) -> Tensor:
        """The messages, the sender first, ``(N, w) -> (E, w)``."""
        ends = [gather(part, adjacency), part.index_select(0, adjacency.target), edges]
        messages: Tensor = self.pre(torch.cat(ends, dim=1))
        return messages

    def finish(self, part: Tensor, scaled: Tensor, graph_norm: Tensor) -> Tensor:
        """From input and scaled aggregates to the output, ``(N, w), (N, 12, w), (N, 1) -> (N, outputs)``."""
        posted = self.post(torch.cat([part, scaled.flatten(1)], dim=1))
        normed: Tensor = self.norm(posted * graph_norm)
        return normed


class PNALayer(nn.Module):
    r"""Towers side by side, then one map over all of them.

    .. math::
        m_{ij} = \mathrm{pre}([x_j, x_i, e_{ij}]), \quad
        S_i = [A_i,\ A_i \log(d_i + 1) / \delta,\ A_i\, \delta / \log(d_i + 1)], \quad
        y_i = \mathrm{BN}(\mathrm{post}([x_i, S_i]) / \sqrt n)

    with A the `aggregates` of the messages and n the nodes of the graph; then
    :math:`x'_i = \mathrm{leaky}(\mathrm{mix}(y_i))`, plus :math:`x_i` where the widths are equal.

    Args:
        settings: see `PNASettings`.
        outputs: width of the states that go out.
        edge_channels: width of the edges' vectors.
        divide_input: whether each tower sees its share of the input's channels, or all of them.
        mean_log_degree: the delta of the scales.
    """

    def __init__(
        self, settings: PNASettings, outputs: int, edge_channels: int, *, divide_input: bool, mean_log_degree: float
    ) -> None:
        super().__init__()
        inputs, towers = settings.channels, settings.towers
        if outputs % towers or (divide_input and inputs % towers):
            raise ValueError(
                f"{towers} towers cannot share {inputs} channels in and {outputs} out; use a multiple of {towers}"
            )
        self.width = inputs // towers if divide_input else inputs
        self.towers = nn.ModuleList(Tower(self.width, edge_channels, outputs // towers) for _ in range(towers))
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
        degrees = in_degree(adjacency).clamp(min=1).to(values.dtype)
        scale = (torch.log(degrees + 1) / self.mean_log_degree).view(-1, 1, 1)
        return torch.cat([values, values * scale, values / scale], dim=1)


class PNA(nn.Module):
    """Principal neighbourhood aggregation with edge features; the scale of degrees is that of the training graphs."""

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: PNASettings, inputs: Inputs) -> None:
        super().__init__()
        # Graphs without any edge have a mean of 0, and nothing to scale by it.
        mean_log_degree = float(inputs.learned_by("mean_log_degree")["mean"]) or 1.0
        last_channels, outputs = settings.last_channels or settings.channels, inputs.outputs
        self.node_embedding = NodeEncoder(inputs.node_features, settings.channels)
        self.edge_embedding = build_edge_encoder(inputs.edge_features, settings.edge_channels)
        width = 0 if self.edge_embedding is None else settings.edge_channels

        def layer(channels: int, *, divide: bool) -> PNALayer:
            return PNALayer(settings, channels, width, divide_input=divide, mean_log_degree=mean_log_degree)

        first = [layer(settings.channels, divide=settings.divide_input) for _ in range(settings.layers - 1)]
        self.layers = nn.ModuleList([*first, layer(last_channels, divide=settings.divide_last_input)])
        widths = [last_channels, last_channels // 2, last_channels // 4, outputs]
        self.head = nn.ModuleDict({f"lin{step}": nn.Linear(a, b) for step, (a, b) in enumerate(pairwise(widths), 1)})

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        states = self.node_embedding(graphs)
        edges = self._edges(graphs, states)
        for layer in self.layers:
            states = layer(states, edges, graphs)
        pooled = segment_sum(states, graphs.batch, graphs.num_graphs)
        hidden = torch.relu(self.head["lin1"](pooled))
        output: Tensor = self.head["lin3"](torch.relu(self.head["lin2"](hidden)))
        return output

    def _edges(self, graphs: Graphs, states: Tensor) -> Tensor:
        """The edges' vectors in the order of messages, ``(E, De)``; no columns without edge features."""
        if self.edge_embedding is None:
            return states.new_zeros(graphs.adjacency.num_edges, 0)
        each: Tensor = self.edge_embedding(require_edges(graphs.edge_attr)).each_edge()
        return each.index_select(0, graphs.adjacency.edge)


def transforms(settings: PNASettings, inputs: Inputs) -> list[TransformSpec]:
    """The mean of the degrees' logarithms."""
    return [("mean_log_degree", {})]


register(System("pna", "PNA, several aggregators and scalers (Corso et al. 2020)", PNASettings, PNA, transforms))
