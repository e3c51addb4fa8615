"""HyMN: a few marked copies at the most central nodes, and the terms of that centrality as an encoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Bag, Graphs
from policylearn.models.registry import Inputs, System, TransformSpec, register
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn import (
    CopiesThenNodes,
    EdgeTerm,
    NodeEncoder,
    RowBatchNorm,
    Scope,
    build_edge_encoder,
    gin_sum,
    gine_sum,
    require_edges,
)
from policylearn.policies import RankedPolicy
from policylearn.settings import NodePooling
from policylearn.settings.schema import DropShare, NotNegative, Positive, Settings

TERMS = "closed_walks"
TIES = 1e-6
"""Terms are stored in single precision; nodes that are alike differ by less than this share of their score."""


def centrality(graphs: Graphs) -> Tensor:
    r"""How central each node is, :math:`\sum_{k=1}^{K} (A^k)_{vv} / k!`, ``(N,)``."""
    return graphs.extras[TERMS].to(torch.float64).sum(1)


class HyMNSettings(Settings, frozen=True):
    """The run on ZINC, of 497,283 weights."""

    picks: NotNegative = 1
    """T, marked copies beside the unmarked graph."""
    terms: Positive = 20
    """K, terms of the centrality."""
    centrality_channels: Positive = 28
    """P, channels of the centrality's encoding within C."""
    layers: Positive = 10
    """Number of layers."""
    channels: Positive = 148
    """Width C."""
    head_layers: Positive = 3
    """Linear maps of the head."""
    over_copies: NodePooling = "mean"
    """How the copies of a node are pooled."""
    over_nodes: NodePooling = "sum"
    """How nodes are pooled to a graph vector."""
    norm: bool = True
    """Whether each layer ends with a batch norm."""
    dropout: DropShare = 0.0
    """In each layer."""


class CentralityEncoder(nn.Module):
    """The K terms of the centrality as P channels: batch norm, then a linear map."""

    def __init__(self, terms: int, channels: int) -> None:
        super().__init__()
        self.norm, self.lin = RowBatchNorm(terms), nn.Linear(terms, channels)

    def forward(self, terms: Tensor) -> Tensor:
        """Encode, ``(N, K) -> (N, P)``."""
        out: Tensor = self.lin(self.norm(terms.to(self.lin.weight.dtype)))
        return out


class HyMNLayer(nn.Module):
    r"""A GIN layer that sees the raw marks each time.

    .. math::
        z_v = (1 + \epsilon) [x_v, m_v] + \textstyle\sum_u [\mathrm{relu}(x_u + e_{uv}), m_u], \quad
        x'_v = \mathrm{norm2}(x_v + \mathrm{relu}(\mathrm{lin2}(\mathrm{relu}(\mathrm{norm1}(\mathrm{lin1}(z_v))))))

    Args:
        channels: C.
        norm: whether there is the outer norm.
        dropout: of what is added.
    """

    def __init__(self, channels: int, *, norm: bool, dropout: float) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin1, self.norm1 = nn.Linear(channels + 1, channels), RowBatchNorm(channels)
        self.lin2 = nn.Linear(channels, channels)
        self.norm2 = RowBatchNorm(channels) if norm else None
        self.dropout = dropout

    def forward(self, states: Tensor, bag: Bag, edges: EdgeTerm) -> Tensor:
        """Pass messages, ``(R, C) -> (R, C)``."""
        scale = 1 + self.eps
        summed = gine_sum(states, bag, scale, edges.values, edges.index)
        rows = torch.cat([summed, gin_sum(bag.marks, bag, scale)], dim=1)  # (R, C + 1)
        added = torch.relu(self.lin2(torch.relu(self.norm1(self.lin1(rows)))))
        states = states + functional.dropout(added, self.dropout, self.training)
        return states if self.norm2 is None else self.norm2(states)


class HyMNEncoder(nn.Module):
    """Types and centralities of the nodes, then layers over the marked copies; copies do not see each other."""

    scope: Scope = "copy"

    def __init__(self, settings: HyMNSettings, inputs: Inputs) -> None:
        super().__init__()
        channels, centrality_channels = settings.channels, settings.centrality_channels
        if centrality_channels >= channels:
            raise ValueError(
                f"{centrality_channels} channels of centrality leave none of {channels} for the types of nodes;"
                " use more channels or fewer centrality_channels"
            )
        self.node_embedding = NodeEncoder(inputs.node_features, channels - centrality_channels)
        self.centrality = CentralityEncoder(settings.terms, centrality_channels)
        self.edge_embedding = build_edge_encoder(inputs.edge_features, channels)
        self.layers = nn.ModuleList(
            HyMNLayer(channels, norm=settings.norm, dropout=settings.dropout) for _ in range(settings.layers)
        )

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """States of every row, ``(R, C)``."""
        nodes = torch.cat([self.node_embedding(graphs), self.centrality(graphs.extras[TERMS])], dim=1)
        states, edges = bag.spread(nodes), self._edges(graphs, nodes)
        for layer in self.layers:
            states = layer(states, bag, edges)
        return states

    def _edges(self, graphs: Graphs, nodes: Tensor) -> EdgeTerm:
        if self.edge_embedding is None:  # every edge adds the same nothing
            columns = graphs.edge_index.shape[1]
            return EdgeTerm(nodes.new_zeros(1, nodes.shape[1]), graphs.batch.new_zeros(columns))
        term: EdgeTerm = self.edge_embedding(require_edges(graphs.edge_attr))
        return term


class GeluHead(nn.Module):
    """Linear maps with gelu between, all C wide but the last."""

    def __init__(self, channels: int, layers: int, outputs: int) -> None:
        super().__init__()
        self.depth = layers
        for step in range(1, layers + 1):
            self.add_module(f"lin{step}", nn.Linear(channels, outputs if step == layers else channels))

    def forward(self, rows: Tensor) -> Tensor:
        """Map, ``(G, C) -> (G, outputs)``."""
        for step in range(1, self.depth + 1):
            rows = self.get_submodule(f"lin{step}")(rows)
            rows = rows if step == self.depth else functional.gelu(rows)
        return rows


def build(settings: HyMNSettings, inputs: Inputs) -> SubgraphGNN:
    """From settings to the network; a graph with fewer nodes than T has its most central ones marked again."""
    return SubgraphGNN(
        RankedPolicy(centrality, settings.picks, tie_tolerance=TIES),
        HyMNEncoder(settings, inputs),
        CopiesThenNodes(settings.over_copies, settings.over_nodes, level=inputs.level),
        GeluHead(settings.channels, settings.head_layers, inputs.outputs),
    )


def transforms(settings: HyMNSettings, inputs: Inputs) -> list[TransformSpec]:
    """The terms of the centrality, under a name of their own."""
    return [("closed_walk_counts", {"steps": settings.terms, "into": TERMS})]


TITLE = "HyMN, marks at central nodes (Southern et al. 2025)"
register(System("hymn", TITLE, HyMNSettings, build, transforms, levels=("graph", "node")))
