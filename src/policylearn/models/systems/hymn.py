"""HyMN: a few marked copies at the most central nodes, and the terms of that centrality as an encoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Bag, Graphs, attached
from policylearn.models.registry import Inputs, LayerSettings, System, register
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn.encoders import dtype_of
from policylearn.nn.features import EdgeTerm, NodeEncoder, build_edge_encoder, edge_term
from policylearn.nn.norms import MLP, RowBatchNorm, sequence
from policylearn.nn.readouts import CopiesThenNodes
from policylearn.nn.scope import Scope
from policylearn.nn.sums import gin_sum, gine_sum
from policylearn.policies import RankedPolicy
from policylearn.settings import NodePooling
from policylearn.settings.schema import DropShare, NotNegative, Positive

TERMS = "closed_walks"
TIES = 1e-6
"""Terms are stored in single precision; nodes that are alike differ by less than this share of their score."""


def centrality(graphs: Graphs) -> Tensor:
    r"""How central each node is, :math:`\sum_{k=1}^{K} (A^k)_{vv} / k!`, ``(N,)``."""
    return attached(graphs, TERMS, "closed_walk_counts").to(torch.float64).sum(1)


class HyMNSettings(LayerSettings, frozen=True):
    """The run on ZINC, of 497,283 weights."""

    layers: Positive = 10
    channels: Positive = 148
    picks: NotNegative = 1
    """T, marked copies beside the unmarked graph."""
    terms: Positive = 20
    """K, terms of the centrality."""
    centrality_channels: Positive = 28
    """P, channels of the centrality's encoding within C."""
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


class HyMNLayer(nn.Module):
    r"""A GIN layer that sees the raw marks each time, ``(R, C) -> (R, C)``; the outer norm may be left out.

    .. math::
        z_v = (1 + \epsilon) [x_v, m_v] + \textstyle\sum_u [\mathrm{relu}(x_u + e_{uv}), m_u], \quad
        x'_v = \mathrm{norm2}(x_v + \mathrm{relu}(\mathrm{lin2}(\mathrm{relu}(\mathrm{norm1}(\mathrm{lin1}(z_v))))))
    """

    def __init__(self, channels: int, *, norm: bool, dropout: float) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin1, self.norm1 = nn.Linear(channels + 1, channels), RowBatchNorm(channels)
        self.lin2 = nn.Linear(channels, channels)
        self.norm2 = RowBatchNorm(channels) if norm else None
        self.dropout = dropout

    def forward(self, states: Tensor, bag: Bag, edges: EdgeTerm) -> Tensor:
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
        self.centrality = sequence(
            norm=RowBatchNorm(settings.terms), lin=nn.Linear(settings.terms, centrality_channels)
        )
        self.edge_embedding = build_edge_encoder(inputs.edge_features, channels)
        self.layers = nn.ModuleList(
            HyMNLayer(channels, norm=settings.norm, dropout=settings.dropout) for _ in range(settings.layers)
        )

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """States of every row, ``(R, C)``."""
        terms = attached(graphs, TERMS, "closed_walk_counts").to(dtype_of(self))
        nodes = torch.cat([self.node_embedding(graphs), self.centrality(terms)], dim=1)
        states, edges = bag.spread(nodes), edge_term(self.edge_embedding, graphs, nodes)
        for layer in self.layers:
            states = layer(states, bag, edges)
        return states


def build(settings: HyMNSettings, inputs: Inputs) -> SubgraphGNN:
    """From settings to the network; a graph with fewer nodes than T has its most central ones marked again."""
    return SubgraphGNN(
        RankedPolicy(centrality, settings.picks, tie_tolerance=TIES),
        HyMNEncoder(settings, inputs),
        CopiesThenNodes(settings.over_copies, settings.over_nodes, level=inputs.level),
        MLP(*[settings.channels] * settings.head_layers, inputs.outputs, activation=functional.gelu),
    )


register(
    System(
        "hymn",
        "HyMN, marks at central nodes (Southern et al. 2025)",
        HyMNSettings,
        build,
        lambda settings, _: [("closed_walk_counts", {"steps": settings.terms, "into": TERMS})],
        levels=("graph", "node"),
    )
)
