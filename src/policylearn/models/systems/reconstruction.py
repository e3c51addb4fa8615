"""Reconstruction GNN: one network on the graph without some of its nodes, in many ways, and the mean over these."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import MAX_ROWS, Bag, Graphs, check_rows
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, register
from policylearn.nn import (
    MLP,
    NodesThenCopies,
    RowBatchNorm,
    collect,
    edge_numbers,
    edge_width,
    gather,
    gine_sum,
    node_numbers,
    node_width,
)
from policylearn.policies import Deck, RandomDeck
from policylearn.settings.schema import DropShare, Positive, Seed, Settings

Base = Literal["gine", "gcn"]


class ReconstructionSettings(Settings, frozen=True):
    """The published network, with all members that lack one node; for OGB's data no settings are published."""

    base: Base = "gine"
    """The network that every member goes through."""
    channels: Positive = 300
    """Width C."""
    layers: Positive = 4
    """Number of layers."""
    removed: Positive = 1
    """Nodes that each member of a deck lacks."""
    deck_size: Positive = 1000
    """The most members of a deck; where a graph has more ways to lose nodes, so many are drawn."""
    by_order: bool = False
    """Draw as the authors' code does, which takes {a, b} and {b, a} for two ways to lose two nodes."""
    seed: Seed = 0
    """Of the draws in evaluation."""
    dropout: DropShare = 0.0
    """Dropout before the last map."""
    max_rows: Positive = MAX_ROWS
    """Rows (member and node) of a batch that are too many to hold."""


class PlainGINE(nn.Module):
    """GINE without norms; edges pass through two maps of their own, as wide as the states that come in."""

    def __init__(self, inputs: int, channels: int, edges: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.edges = MLP(edges, inputs, inputs)
        self.mlp = MLP(inputs, inputs, channels)

    def forward(self, rows: Tensor, bag: Bag, edges: Tensor) -> Tensor:
        """Pass messages, ``(R, inputs) -> (R, C)``."""
        out: Tensor = self.mlp(gine_sum(rows, bag, 1 + self.eps, self.edges(edges), None))
        return out


class EdgeGCN(nn.Module):
    r"""GCN with edges, as OGB has it.

    .. math::
        u_v = \sum_{w \to v} \frac{\mathrm{relu}(s_w + e_{wv})}{\sqrt{d_w d_v}} + \frac{\mathrm{relu}(s_v + r)}{d_v}

    with :math:`s = W h + b`, d one more than the number of edges that leave a node, and r a learned vector.
    """

    def __init__(self, inputs: int, channels: int, edges: int) -> None:
        super().__init__()
        self.lin = nn.Linear(inputs, channels)
        self.root = nn.Parameter(torch.randn(1, channels))
        self.edges = MLP(edges, channels, channels)

    def forward(self, rows: Tensor, bag: Bag, edges: Tensor) -> Tensor:
        """Pass messages, ``(R, inputs) -> (R, C)``."""
        adjacency = bag.row_adjacency
        states = self.lin(rows)
        degree = (adjacency.source_ptr.diff() + 1).to(states.dtype).unsqueeze(1)  # (R, 1)
        messages = torch.relu(gather(states, adjacency) + self.edges(edges).index_select(0, adjacency.edge))
        scale = degree[adjacency.source] * degree[adjacency.target]
        return collect(messages / scale.sqrt(), adjacency) + torch.relu(states + self.root) / degree


class ReconstructionGNN(nn.Module):
    """The members of each graph's deck, their mean, then an MLP; norms come after the relu of each layer."""

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: ReconstructionSettings, inputs: Inputs) -> None:
        super().__init__()
        self.node_features, self.edge_features = inputs.node_features, inputs.edge_features
        self.deck = RandomDeck(settings.removed, settings.deck_size, by_order=settings.by_order, seed=settings.seed)
        channels = settings.channels
        self.max_rows, self.width = settings.max_rows, channels * settings.layers
        conv = {"gine": PlainGINE, "gcn": EdgeGCN}[settings.base]
        widths = [node_width(inputs.node_features), *[channels] * (settings.layers - 1)]
        self.convs = nn.ModuleList(conv(width, channels, max(1, edge_width(inputs.edge_features))) for width in widths)
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in widths)
        self.readout = NodesThenCopies("mean", "mean", nn.Sequential(nn.Linear(self.width, channels), nn.ReLU()))
        self.lin1, self.lin2 = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.dropout = nn.Dropout(settings.dropout)
        self.lin3 = nn.Linear(channels, inputs.outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        return self.predict(graphs, self.deck(graphs, generator=generator))

    def predict(self, graphs: Graphs, deck: Deck) -> Tensor:
        """The output for decks that are handed in, ``(G, outputs)``."""
        check_rows(deck.num_rows(graphs), self.max_rows, self.width)
        bag = deck.bag(graphs)
        vector = torch.relu(self.lin1(self.readout(self._states(graphs, bag), bag, graphs)))
        output: Tensor = self.lin3(self.dropout(torch.relu(self.lin2(vector))))
        return output

    def _states(self, graphs: Graphs, bag: Bag) -> Tensor:
        """The states after all layers side by side, ``(R, L * C)``."""
        dtype = self.lin1.weight.dtype
        edges = edge_numbers(graphs, self.edge_features, dtype)
        edges = edges if edges.shape[1] else edges.new_ones(len(edges), 1)
        rows, states = bag.spread(node_numbers(graphs, self.node_features, dtype)), []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            rows = norm(torch.relu(conv(rows, bag, edges)))
            states.append(rows)
        return torch.cat(states, dim=1)


register(
    System(
        "reconstruction",
        "Reconstruction GNN (Cotta et al. 2021)",
        ReconstructionSettings,
        ReconstructionGNN,
        random_in_evaluation=True,
        note="a deck of all members holds n * n states per graph; smaller ones are drawn, in evaluation too",
    )
)
