"""GNN-AK and GNN-AK+: every layer runs a small network on the ego net of each node."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, attached, attached_ego_nets, check_rows
from policylearn.models.protocol import PlainModel
from policylearn.models.registry import Inputs, RowLimitSettings, System, TransformSpec, register
from policylearn.nn.features import EdgeTerm, Features, NodeEncoder, build_edge_encoder
from policylearn.nn.norms import RowBatchNorm, sequence
from policylearn.nn.segments import group_pool
from policylearn.nn.sums import gine_sum
from policylearn.settings import NodePooling
from policylearn.settings.schema import DropShare, NotNegative, Positive

StatePart = Literal["centroid", "subgraph", "context"]
Joining = Literal["concat", "add"]

HOPS_KNOWN = 20
"""Rows of the table of distances; the first is kept for pairs without a path, of which ego nets have none."""


class GNNAKSettings(RowLimitSettings, frozen=True):
    """GNN-AK as published for ZINC: 521,095 weights there; a width of 124 stays below 500,000."""

    layers: Positive = 6
    """Outer layers."""
    channels: Positive = 128
    inner_layers: Positive = 1
    """Layers inside the ego nets."""
    hops: NotNegative = 3
    """How far ego nets reach."""
    hop_channels: NotNegative = 0
    """Width of the embedded distance to the root, which gates read as well; 0 leaves both out."""
    parts: tuple[StatePart, ...] = ("centroid", "subgraph")
    """What a node's state is made of."""
    combine: Joining = "concat"
    """One map of the parts side by side, or their sum."""
    pool: NodePooling = "sum"
    """Of rows to nodes and of nodes to the graph."""
    dropout: DropShare = 0.0
    """Dropout of rows, states and the graph's vector."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hop_channels and not 0 <= self.hops < HOPS_KNOWN - 1:
            raise ValueError(f"'hops' must be < {HOPS_KNOWN - 1} where distances are embedded (got {self.hops})")


class GNNAKPlusSettings(GNNAKSettings, frozen=True):
    """GNN-AK+ as published for ZINC: 924,679 weights there; a width of 90 stays below 500,000."""

    hop_channels: NotNegative = 16
    parts: tuple[StatePart, ...] = ("centroid", "subgraph", "context")


class InnerLayer(nn.Module):
    r"""GINE inside the ego nets: :math:`t + \mathrm{relu}(\mathrm{BN}(W_2\, \mathrm{relu}(\mathrm{BN}(W_1 a))))`."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.eps, self.dropout = nn.Parameter(torch.zeros(1)), nn.Dropout(dropout)
        self.lin1, self.norm1 = nn.Linear(channels, channels, bias=False), RowBatchNorm(channels)
        self.lin2, self.norm2 = nn.Linear(channels, channels, bias=False), RowBatchNorm(channels)

    def forward(self, rows: Tensor, bag: Bag, edges: EdgeTerm) -> Tensor:
        summed = gine_sum(rows, bag, 1 + self.eps, edges.values, edges.index)
        new = self.lin2(torch.relu(self.norm1(self.lin1(summed))))
        return self.dropout(torch.relu(self.norm2(new))) + rows


def transformed(channels: int, dropout: float) -> nn.Sequential:
    """``relu(BN(W dropout(t)))`` of each row, before rows are pooled."""
    lin, norm = nn.Linear(channels, channels, bias=False), RowBatchNorm(channels)
    return sequence(dropout=nn.Dropout(dropout), lin=lin, norm=norm, relu=nn.ReLU())


class AKLayer(nn.Module):
    """The ego nets of all nodes, and each node's new state from its row in its own net and from pooled rows."""

    def __init__(self, settings: GNNAKSettings, edge_features: Features) -> None:
        super().__init__()
        channels, hop_channels, dropout = settings.channels, settings.hop_channels, settings.dropout
        wide, parts = channels + hop_channels, settings.parts
        self.parts, self.combine, self.pool, self.hop_channels = parts, settings.combine, settings.pool, hop_channels
        self.has_edges = edge_features.present  # one learned vector stands for all edges that come with nothing
        edges = build_edge_encoder(edge_features if edge_features.present else Features((1,)), wide)
        assert edges is not None
        self.edges = edges
        self.inner = nn.ModuleList(InnerLayer(wide, dropout) for _ in range(settings.inner_layers))
        self.transforms = nn.ModuleDict({part: transformed(channels, dropout) for part in parts if part != "centroid"})
        if hop_channels:
            self.hops = nn.Embedding(HOPS_KNOWN, hop_channels)
            self.narrow = nn.Linear(wide, channels)
            self.gates = nn.ModuleDict({part: nn.Linear(hop_channels, channels) for part in parts})
        if settings.combine == "concat":
            self.out = nn.Linear(channels * len(parts), channels, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, graphs: Graphs, bag: Bag) -> Tensor:
        """New states before the norm, ``(N, C) -> (N, C)``."""
        rows = bag.spread(h)  # (N, C) -> (R, C)
        hops = self.hops(bag.marks[:, 0].long() + 1) if self.hop_channels else None
        if hops is not None:
            rows = torch.cat([rows, hops], dim=1)  # (R, C) -> (R, D)
        attr = graphs.edge_attr if self.has_edges else graphs.edge_index.new_zeros(graphs.edge_index.shape[1], 1)
        edges = self.edges(attr)
        for layer in self.inner:
            rows = layer(rows, bag, edges)
        if hops is not None:
            rows = self.narrow(rows)  # (R, D) -> (R, C)
        parts = [self._part(part, rows, hops, bag) for part in self.parts]
        if self.combine == "add":
            return torch.stack(parts).sum(0)
        return self.out(self.dropout(torch.cat(parts, dim=1)))

    def _part(self, part: str, rows: Tensor, hops: Tensor | None, bag: Bag) -> Tensor:
        """One part of each node's state, ``(R, C) -> (N, C)``."""
        own = bag.node == bag.root
        rows = rows[own] if part == "centroid" else self.transforms[part](rows)
        if hops is not None:
            rows = rows * torch.sigmoid(self.gates[part](hops[own] if part == "centroid" else hops))
        if part == "centroid":
            return rows  # in the order of nodes, as all rows are
        group = bag.root if part == "subgraph" else bag.node
        return group_pool(rows, group, bag.num_nodes, self.pool)


class GNNAK(PlainModel):
    """GNN-AK, and with ``hop_channels`` GNN-AK+; every node's ego net is a copy of its own."""

    def __init__(self, settings: GNNAKSettings, inputs: Inputs) -> None:
        super().__init__()
        channels, layers, dropout = settings.channels, settings.layers, settings.dropout
        self.pool, self.max_rows, self.width = settings.pool, settings.max_rows, channels + settings.hop_channels
        self.node_encoder = NodeEncoder(inputs.node_features, channels)
        self.layers = nn.ModuleList(AKLayer(settings, inputs.edge_features) for _ in range(layers))
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.lin1, self.norm = nn.Linear(channels, channels, bias=False), RowBatchNorm(channels)
        self.lin2 = nn.Linear(channels, inputs.outputs)

    def outputs(self, graphs: Graphs) -> Tensor:
        check_rows(len(attached(graphs, "ego_root", "ego_nets")), self.max_rows, self.width)
        bag = attached_ego_nets(graphs)
        h = self.node_encoder(graphs)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            h = self.dropout(torch.relu(norm(layer(h, graphs, bag)))) + h
        vector = self.dropout(group_pool(h, graphs.batch, graphs.num_graphs, self.pool))
        return self.lin2(torch.relu(self.norm(self.lin1(vector))))


def transforms(settings: GNNAKSettings, inputs: Inputs) -> list[TransformSpec]:
    """The ego nets of all nodes."""
    return [("ego_nets", {"hops": settings.hops})]


NOTE = "holds one state per node of every ego net: n times the size of a net"
register(System("gnn-ak", "GNN-AK, GNN as kernel (Zhao et al. 2021)", GNNAKSettings, GNNAK, transforms, note=NOTE))
register(System("gnn-ak-plus", "GNN-AK+ (Zhao et al. 2021)", GNNAKPlusSettings, GNNAK, transforms, note=NOTE))
