"""OSAN's networks: one that scores nodes, and three that predict from copies with masked nodes (Qian et al., 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.nn.aggr import Set2Set

from policylearn.bags import NO_PICK, Adjacency, Bag, Graphs, Members, induced_bag
from policylearn.models.registry import Inputs
from policylearn.nn.encoders import dtype_of
from policylearn.nn.features import (
    EdgeTerm,
    Features,
    NodeEncoder,
    build_edge_encoder,
    edge_numbers,
    edge_term,
    node_numbers,
    node_width,
)
from policylearn.nn.norms import RowBatchNorm
from policylearn.nn.segments import group_mean, segment_mean, segment_sum
from policylearn.nn.sums import collect, gather, gine_sum

SET2SET_STEPS = 6


@dataclass(frozen=True)
class MaskedCopies:
    """Copies of which each keeps some nodes; slot 0 is the whole graph.

    Shapes:
        weights ``(E, S)``, rows ``(R, 1)``.
    """

    bag: Bag  # the copies
    weights: Tensor | None = None  # of every message; None where all count
    rows: Tensor | None = None  # 1 at rows that count in pooling, with gradient; None where all count

    @staticmethod
    def of(graphs: Graphs, mask: Tensor, *, remove_rows: bool) -> MaskedCopies:
        """All nodes stay rows; messages from and to nodes with a mask of 0, ``(N, T)``, count nothing.

        With ``remove_rows`` their rows are left out of pooling; norms see them all the same.
        """
        whole = torch.cat([mask.new_ones(graphs.num_nodes, 1), mask], dim=1)  # (N, S)
        no_roots = graphs.ptr.new_full((whole.shape[1], graphs.num_graphs), NO_PICK)
        bag = Bag.uniform(graphs, mask.new_zeros(whole.numel(), 0), no_roots)
        return MaskedCopies(bag, edge_weights(whole, graphs.adjacency), whole.reshape(-1, 1) if remove_rows else None)

    @staticmethod
    def without_rows(graphs: Graphs, mask: Tensor) -> MaskedCopies:
        """Masked nodes are really taken out, so that norms do not see them; no gradient reaches the mask."""
        whole = torch.cat([mask.new_ones(graphs.num_nodes, 1), mask], dim=1) > 0  # (N, S)
        node, slot = whole.nonzero(as_tuple=True)
        width = whole.shape[1]
        slots = graphs.ptr.new_full((graphs.num_graphs,), width)
        no_roots = graphs.ptr.new_full((width, graphs.num_graphs), NO_PICK)
        copy = graphs.batch.index_select(0, node) * width + slot
        return MaskedCopies(induced_bag(graphs, slots, no_roots, copy, node))

    def mean_of_nodes(self, states: Tensor) -> Tensor:
        """The mean over the rows that count, ``(R, C) -> (copies, C)``; no gradient reaches how many they are."""
        copies = len(self.bag.roots)
        if self.rows is None:
            return group_mean(states, self.bag.copy, copies)
        count = segment_sum(self.rows.detach(), self.bag.copy, copies)
        return segment_sum(states * self.rows, self.bag.copy, copies) / count

    def mean_of_copies(self, vectors: Tensor) -> Tensor:
        """``(copies, C) -> (G, C)``."""
        return segment_mean(vectors, self.bag.graph_of_copy, self.bag.copy_ptr)


def keep_best(scores: Tensor, members: Members, keep: int, tolerance: float = 1e-5) -> Tensor:
    """1 at the best nodes of each graph and 0 elsewhere, every column by itself, ``(N, T) -> (N, T)``.

    Nodes that tie with the last one kept are all kept. Alike nodes have scores that are equal only up to rounding, and
    rounding changes with the rest of the batch: hence the tolerance, ``tolerance * (1 + |score|)``.

    A positive ``keep`` is how many are kept at most, a negative one how many are lost; at least one is kept.
    """
    kept = members.sizes.clamp(max=keep) if keep > 0 else (members.sizes + keep).clamp(min=1)  # (G,)
    falling = torch.argsort(scores, dim=0, descending=True)
    by_graph = torch.argsort(members.batch[falling], dim=0, stable=True)
    order = falling.gather(0, by_graph)  # graph by graph, the best first
    least = scores.gather(0, order).index_select(0, members.ptr[:-1] + kept - 1)  # (G, T)
    floor = least - tolerance * (1 + least.abs())
    return (scores >= floor.index_select(0, members.batch)).to(scores.dtype)


def edge_weights(mask: Tensor, adjacency: Adjacency) -> Tensor:
    """``w_uv = m_u m_v``, of which ``m_v`` hears the mean over its incoming edges, and ``m_u`` nothing, ``(E, S)``.

    This is the authors' rule: it is not the product rule.
    """
    kept = mask.index_select(0, adjacency.source) * mask.index_select(0, adjacency.target)
    incoming = adjacency.in_degree.clamp(min=1).unsqueeze(1).to(mask.dtype)
    share = (mask / incoming).index_select(0, adjacency.target)
    return kept.detach() + (share - share.detach())


class TwoLayerEdges(nn.Module):
    """``lin2(relu(lin1(e)))`` of one-hot edges, ``(E, C)``."""

    def __init__(self, features: Features, channels: int) -> None:
        super().__init__()
        self.features = features
        self.lin1, self.lin2 = nn.Linear(features.width, channels), nn.Linear(channels, channels)

    def forward(self, graphs: Graphs) -> EdgeTerm:
        numbers = edge_numbers(graphs, self.features, self.lin1.weight.dtype)
        return EdgeTerm(self.lin2(torch.relu(self.lin1(numbers))), None)


class EmbeddedEdges(nn.Module):
    """Edges as OGB encodes bonds, or a linear map of numbers."""

    def __init__(self, features: Features, channels: int) -> None:
        super().__init__()
        encoder = build_edge_encoder(features, channels)
        assert encoder is not None
        self.encoder = encoder

    def forward(self, graphs: Graphs) -> EdgeTerm:
        return self.encoder(graphs.edge_attr)


class WeightedGIN(nn.Module):
    r"""A GIN layer whose messages have weights: ``lin2(relu(norm(lin1(z))))``, ``(R, inputs) -> (R, C)``.

    .. math:: z_v = (1 + \epsilon)\, x_v + \sum_{u \to v} w_{uv}\, \mathrm{relu}(x_u + e_{uv})

    That of OGB has 2 C channels between its maps, with a batch norm, and embeds edges; other ones have no norm.
    """

    def __init__(self, inputs: int, channels: int, features: Features, *, ogb: bool = False) -> None:
        super().__init__()
        hidden, encoder = (2 * channels, EmbeddedEdges) if ogb else (inputs, TwoLayerEdges)
        edges = encoder(features, inputs) if features.present else None
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin1, self.norm = nn.Linear(inputs, hidden), RowBatchNorm(hidden) if ogb else nn.Identity()
        self.lin2, self.edges = nn.Linear(hidden, channels), edges

    def forward(self, states: Tensor, graphs: Graphs, copies: MaskedCopies) -> Tensor:
        term = edge_term(None, graphs, states) if self.edges is None else self.edges(graphs)
        summed = gine_sum(states, copies.bag, 1 + self.eps, term.values, term.index, copies.weights)
        return self.lin2(torch.relu(self.norm(self.lin1(summed))))


class Scorer(nn.Module):
    r"""Three graph convolutions that give each node a score per copy, ``(N, T)``; the selection network.

    .. math:: x'_v = \mathrm{norm}(\mathrm{relu}(\textstyle\sum_{u \to v} \mathrm{relu}(h_u + a_{uv}) / \sqrt{d_u d_v}))

    with :math:`h = \mathrm{lin}(x)`, :math:`a = \mathrm{edge\_lin}(e)` and :math:`d = 1 +` outgoing edges. A node's own
    state has no part in it. The authors' network also scores edges, which node policies never read: these weights are
    left out here. Categories are embedded (as on OGB) or one-hot.
    """

    def __init__(self, inputs: Inputs, channels: int, copies: int, *, embed: bool, layers: int = 3) -> None:
        super().__init__()
        self.node_features, self.edge_features = inputs.node_features, inputs.edge_features
        self.node_encoder = NodeEncoder(self.node_features, channels) if embed else None
        has_edges = self.edge_features.present
        self.edge_encoder = EmbeddedEdges(self.edge_features, channels) if embed and has_edges else None
        first = channels if embed else node_width(self.node_features)
        edges = channels if embed else self.edge_features.width
        widths = [first] + [channels] * (layers - 1)
        self.lins = nn.ModuleList(nn.Linear(width, channels) for width in widths)
        self.edge_lins = nn.ModuleList(nn.Linear(edges, channels) for _ in widths) if has_edges else None
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in widths)
        self.out = nn.Linear(channels, copies)

    def forward(self, graphs: Graphs) -> Tensor:
        adjacency, dtype = graphs.adjacency, dtype_of(self)
        embedded = self.node_encoder
        x = node_numbers(graphs, self.node_features, dtype) if embedded is None else embedded(graphs)
        degree = 1 + adjacency.out_degree.to(dtype)
        norm = (degree[adjacency.source] * degree[adjacency.target]).rsqrt().unsqueeze(1)  # (E, 1)
        encoder = self.edge_encoder
        term = EdgeTerm(edge_numbers(graphs, self.edge_features, dtype), None) if encoder is None else encoder(graphs)
        edges = term.each_message(adjacency)  # (E, D)
        for depth, (lin, batch_norm) in enumerate(zip(self.lins, self.norms, strict=True)):
            messages = gather(lin(x), adjacency)
            if self.edge_lins is not None:
                messages = messages + self.edge_lins[depth](edges)
            x = batch_norm(torch.relu(collect(torch.relu(messages) * norm, adjacency)))
        return self.out(x)


class GINENetwork(nn.Module):
    """The network for ZINC: one-hot input, residuals scaled by a half's root, four maps at the end.

    ``first`` channels come in, where they are not those of the one-hot nodes.
    """

    def __init__(
        self, inputs: Inputs, channels: int, layers: int, *, dropout: float = 0.0, first: int | None = None
    ) -> None:
        super().__init__()
        self.node_features = inputs.node_features
        widths = [node_width(inputs.node_features) if first is None else first] + [channels] * (layers - 1)
        self.convs = nn.ModuleList(WeightedGIN(width, channels, inputs.edge_features) for width in widths)
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in widths)
        self.maps = nn.ModuleList(nn.Linear(channels, channels) for _ in range(3))
        self.out = nn.Linear(channels, inputs.outputs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, graphs: Graphs, copies: MaskedCopies) -> Tensor:
        x = copies.bag.spread(node_numbers(graphs, self.node_features, dtype_of(self)))
        vectors = self.mapped(copies.mean_of_nodes(self.encode(x, graphs, copies)))
        return self.out(copies.mean_of_copies(vectors))

    def encode(self, x: Tensor, graphs: Graphs, copies: MaskedCopies) -> Tensor:
        """All layers, ``(R, D) -> (R, C)``."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            y = self.dropout(torch.relu(norm(conv(x, graphs, copies))))
            x = (x + y) / math.sqrt(2) if x.shape == y.shape else y
        return x

    def mapped(self, vectors: Tensor) -> Tensor:
        """The three maps before the pooling of copies, ``(..., C) -> (..., C)``."""
        for lin in self.maps:
            vectors = torch.relu(lin(vectors))
        return vectors


class OGBNetwork(nn.Module):
    """The network for OGB's molecules: their GIN, and one linear map at the end; see `GINENetwork`."""

    def __init__(self, inputs: Inputs, channels: int, layers: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.node_encoder = NodeEncoder(inputs.node_features, channels)
        self.convs = nn.ModuleList(
            WeightedGIN(channels, channels, inputs.edge_features, ogb=True) for _ in range(layers)
        )
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in range(layers))
        self.out = nn.Linear(channels, inputs.outputs)
        self.dropout = nn.Dropout(dropout)

    def forward(self, graphs: Graphs, copies: MaskedCopies) -> Tensor:
        x = copies.bag.spread(self.node_encoder(graphs))
        for depth, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True), start=1):
            x = norm(conv(x, graphs, copies))
            x = self.dropout(torch.relu(x) if depth < len(self.convs) else x)
        return self.out(copies.mean_of_copies(copies.mean_of_nodes(x)))


class Set2SetNetwork(nn.Module):
    """The network for Alchemy: layers without norms, and Set2Set over nodes; see `GINENetwork`."""

    def __init__(self, inputs: Inputs, channels: int, layers: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.node_features = inputs.node_features
        widths = [node_width(inputs.node_features)] + [channels] * (layers - 1)
        self.convs = nn.ModuleList(WeightedGIN(width, channels, inputs.edge_features) for width in widths)
        self.dropout = nn.Dropout(dropout)
        self.set2set = Set2Set(channels, SET2SET_STEPS)
        self.map, self.out = nn.Linear(2 * channels, channels), nn.Linear(channels, inputs.outputs)

    def forward(self, graphs: Graphs, copies: MaskedCopies) -> Tensor:
        x = copies.bag.spread(node_numbers(graphs, self.node_features, dtype_of(self)))
        for conv in self.convs:
            x = self.dropout(torch.relu(conv(x, graphs, copies)))
        if copies.rows is not None:
            x = x * copies.rows  # rows of zeros still take attention
        copy, order = torch.sort(copies.bag.copy, stable=True)
        vectors = self.set2set(x.index_select(0, order), copy, dim_size=len(copies.bag.roots))
        return self.out(copies.mean_of_copies(torch.relu(self.map(vectors))))
