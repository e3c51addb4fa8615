"""Reconstruction GNN: one network on the graph without some of its nodes, in many ways, and the mean over these."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Bag, Graphs, check_rows, induced_bag
from policylearn.models.protocol import AnyBatch, PlainModel
from policylearn.models.registry import Inputs, RowLimitSettings, System, register
from policylearn.nn.features import edge_numbers, node_numbers, node_width
from policylearn.nn.norms import MLP, RowBatchNorm
from policylearn.nn.readouts import NodesThenCopies
from policylearn.nn.sums import collect, gather, gine_sum
from policylearn.policies.random import structure_hash
from policylearn.settings.schema import DropShare, Positive, Seed

Base = Literal["gine", "gcn"]


class ReconstructionSettings(RowLimitSettings, frozen=True):
    """The published network, with all members that lack one node; for OGB's data no settings are published."""

    layers: Positive = 4
    channels: Positive = 300
    base: Base = "gine"
    """The network that every member goes through."""
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


@dataclass(frozen=True)
class Deck:
    """The graphs without some of their nodes, in many ways.

    Shapes:
        graph ``(S,)``, gone ``(S, k)``.
    """

    graph: Tensor  # the graph of each member, in order
    gone: Tensor  # the nodes that it lacks, counted through the batch; `NO_PICK` for none

    def bag(self, graphs: Graphs) -> Bag:
        """Each member as a copy, with the edges between the nodes that are left; no marks."""
        sizes = graphs.sizes.index_select(0, self.graph)
        copy = torch.repeat_interleave(torch.arange(len(self.graph), device=sizes.device), sizes)
        first = graphs.ptr.index_select(0, self.graph) - (sizes.cumsum(0) - sizes)
        node = torch.arange(len(copy), device=sizes.device) + first.index_select(0, copy)
        left = ~(node.unsqueeze(1) == self.gone.index_select(0, copy)).any(1)
        slots = torch.bincount(self.graph, minlength=graphs.num_graphs)
        rootless = slots.new_full((int(slots.max()), graphs.num_graphs), NO_PICK)
        return induced_bag(graphs, slots, rootless, copy[left], node[left])

    def num_rows(self, graphs: Graphs) -> int:
        """Rows of the bag, before there is one."""
        return int(graphs.sizes.index_select(0, self.graph).sum() - (self.gone != NO_PICK).sum())


class RandomDeck(nn.Module):
    """Removes k nodes in as many ways as there are, or in some that are drawn.

    A graph of no more than k nodes is the only member of its deck. In evaluation a draw is a function of the seed and
    of the graph's own structure, so that a graph has the same deck alone and in any batch. With ``by_order`` members
    may come twice, and a deck may lack some even where all would fit; see `ReconstructionSettings`.
    """

    def __init__(self, removed: int, size: int, *, by_order: bool = False, seed: int = 0) -> None:
        super().__init__()
        self.removed, self.size, self.by_order, self.seed = removed, size, by_order, seed

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Deck:
        fixed = not self.training and generator is None
        members = []
        hashes = structure_hash(graphs).tolist() if fixed else [0] * graphs.num_graphs
        for nodes, own in zip(graphs.sizes.tolist(), hashes, strict=True):
            seeded = torch.Generator().manual_seed((own + self.seed) % 2**63) if fixed else generator
            members.append(self.ways(nodes, seeded))
        counts = torch.tensor([len(one) for one in members])
        gone = torch.cat(members).to(graphs.ptr.device)
        of = torch.repeat_interleave(torch.arange(len(counts)), counts).to(graphs.ptr.device)
        shifted = gone + graphs.ptr.index_select(0, of).unsqueeze(1)
        return Deck(of, torch.where(gone == NO_PICK, gone, shifted))

    def ways(self, nodes: int, generator: torch.Generator | None) -> Tensor:
        """The removals of one graph, counted within it, ``(members, k)``."""
        k, total = self.removed, comb(nodes, self.removed)
        if nodes <= k:
            return torch.full((1, k), NO_PICK)
        if not self.by_order and total <= 4 * self.size:
            every = torch.combinations(torch.arange(nodes), k)
            chosen = torch.randperm(total, generator=generator)[: self.size].sort().values
            return every if total <= self.size else every.index_select(0, chosen)
        drawn: dict[tuple[int, ...], None] = {}  # far more ways than members: draw until enough differ
        while len(drawn) < min(self.size, total):
            way = torch.randperm(nodes, generator=generator)[:k].tolist()
            drawn[tuple(way if self.by_order else sorted(way))] = None
        return torch.tensor(list(drawn))


class PlainGINE(nn.Module):
    """GINE without norms; edges pass through two maps of their own, as wide as the states that come in."""

    def __init__(self, inputs: int, channels: int, edges: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.edges = MLP(edges, inputs, inputs)
        self.mlp = MLP(inputs, inputs, channels)

    def forward(self, rows: Tensor, bag: Bag, edges: Tensor) -> Tensor:
        return self.mlp(gine_sum(rows, bag, 1 + self.eps, self.edges(edges), None))


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
        adjacency = bag.row_adjacency
        states = self.lin(rows)
        degree = (adjacency.out_degree + 1).to(states.dtype).unsqueeze(1)  # (R, 1)
        messages = torch.relu(gather(states, adjacency) + self.edges(edges).index_select(0, adjacency.edge))
        scale = degree[adjacency.source] * degree[adjacency.target]
        return collect(messages / scale.sqrt(), adjacency) + torch.relu(states + self.root) / degree


class DeckGNN(PlainModel):
    """The members of each graph's deck, their mean, then an MLP; norms come after the relu of each layer."""

    def __init__(self, settings: ReconstructionSettings, inputs: Inputs) -> None:
        super().__init__()
        self.node_features, self.edge_features = inputs.node_features, inputs.edge_features
        self.deck = RandomDeck(settings.removed, settings.deck_size, by_order=settings.by_order, seed=settings.seed)
        channels = settings.channels
        self.max_rows, self.width = settings.max_rows, channels * settings.layers
        conv = {"gine": PlainGINE, "gcn": EdgeGCN}[settings.base]
        widths = [node_width(inputs.node_features), *[channels] * (settings.layers - 1)]
        self.convs = nn.ModuleList(conv(width, channels, max(1, inputs.edge_features.width)) for width in widths)
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in widths)
        self.readout = NodesThenCopies("mean", "mean", nn.Sequential(nn.Linear(self.width, channels), nn.ReLU()))
        self.lin1, self.lin2 = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.dropout = nn.Dropout(settings.dropout)
        self.lin3 = nn.Linear(channels, inputs.outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        graphs = Graphs.of(batch)
        return self.predict(graphs, self.deck(graphs, generator=generator))

    def predict(self, graphs: Graphs, deck: Deck) -> Tensor:
        """The output for decks that are handed in, ``(G, outputs)``."""
        check_rows(deck.num_rows(graphs), self.max_rows, self.width)
        bag, dtype = deck.bag(graphs), self.lin1.weight.dtype
        edges = edge_numbers(graphs, self.edge_features, dtype)
        edges = edges if edges.shape[1] else edges.new_ones(len(edges), 1)
        rows, states = bag.spread(node_numbers(graphs, self.node_features, dtype)), []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            rows = norm(torch.relu(conv(rows, bag, edges)))
            states.append(rows)
        vector = torch.relu(self.lin1(self.readout(torch.cat(states, dim=1), bag, graphs)))  # (R, L * C) -> (G, C)
        return self.lin3(self.dropout(torch.relu(self.lin2(vector))))


NOTE = "a deck of all members holds n * n states per graph; smaller ones are drawn, in evaluation too"
TITLE = "Reconstruction GNN (Cotta et al. 2021)"
register(System("reconstruction", TITLE, ReconstructionSettings, DeckGNN, note=NOTE))
