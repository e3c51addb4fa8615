"""CIN, CIN-small and SIN: message passing on nodes, edges and rings at once."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import Graphs
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, TransformSpec, register
from policylearn.nn import (
    NodeEncoder,
    build_edge_encoder,
    group_mean,
    node_numbers,
    node_width,
    require_edges,
    segment_sum,
)
from policylearn.nn.cell_layers import DIMENSIONS, CellComplex, CellLayer, CellNorm
from policylearn.settings import NodePooling
from policylearn.settings.schema import DropShare, Positive, Settings

CellFeatures = Literal["embedding", "mean", "sum"]


class CINSettings(Settings, frozen=True):
    """The run on ZINC; it has 1.70 M weights, above the 500,000 of the table that quotes it."""

    layers: Positive = 4
    """Number of layers."""
    channels: Positive = 128
    """Width C."""
    longest_ring: Positive = 18
    """The most nodes of a ring; 3 takes triangles alone."""
    cell_features: CellFeatures = "embedding"
    """What cells start with: nodes and edges with embeddings and a ring with the sum of its nodes', or every cell with
    the mean or sum of its nodes' features as they are, categories one-hot."""
    norm: CellNorm = "batch"
    """After each linear map of a layer."""
    coboundary: bool = True
    """Whether messages see the cell that their ends share."""
    jumping: bool = False
    """Whether all layers are read out side by side, or the last one alone."""
    pooling: NodePooling = "sum"
    """Over the cells of each dimension."""
    input_dropout: DropShare = 0.0
    """On the embeddings."""
    layer_dropout: DropShare = 0.0
    """Behind each layer."""
    head_dropout: DropShare = 0.0
    """Before the last map."""


class CINSmallSettings(CINSettings, frozen=True):
    """The authors' own small run on ZINC, of 131,000 weights."""

    layers: Positive = 2
    """Number of layers."""
    channels: Positive = 48
    """Width C."""


class SINSettings(CINSettings, frozen=True):
    """The run on Reddit-Binary: triangles instead of rings, no norms."""

    channels: Positive = 64
    """Width C."""
    longest_ring: Positive = 3
    """The most nodes of a ring; 3 takes triangles alone."""
    cell_features: CellFeatures = "mean"
    """What cells start with: embeddings, or the mean or sum of their nodes' features as they are."""
    norm: CellNorm = "none"
    """After each linear map of a layer."""
    coboundary: bool = False
    """Whether messages see the cell that their ends share."""
    jumping: bool = True
    """Whether all layers are read out side by side, or the last one alone."""


class CIN(nn.Module):
    """A cell isomorphism network over nodes, edges and rings; over nodes, edges and triangles it is SIN."""

    depends_on_batch = False
    objective = mean_loss

    def __init__(self, settings: CINSettings, inputs: Inputs) -> None:
        super().__init__()
        self.settings, self.node_features, channels = settings, inputs.node_features, settings.channels
        embedded = settings.cell_features == "embedding"
        self.node_embedding = NodeEncoder(inputs.node_features, channels) if embedded else None
        self.edge_embedding = build_edge_encoder(inputs.edge_features, channels) if embedded else None
        first = channels if embedded else node_width(inputs.node_features)
        self.layers = nn.ModuleList(
            CellLayer(first if depth == 0 else channels, channels, settings.norm, coboundary=settings.coboundary)
            for depth in range(settings.layers)
        )
        width = settings.layers * channels if settings.jumping else channels
        self.readout = nn.ModuleDict(
            {f"dim{dim}": nn.Linear(width, 2 * channels, bias=not settings.jumping) for dim in range(DIMENSIONS)}
        )
        self.head = nn.Linear(2 * channels, inputs.outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        pooled = self.pooled(Graphs.of(batch))
        read = [torch.relu(self.readout[f"dim{dim}"](pooled[dim])) for dim in range(DIMENSIONS)]
        output: Tensor = self.head(
            functional.dropout(sum(read[1:], read[0]), self.settings.head_dropout, self.training)
        )
        return output

    def pooled(self, graphs: Graphs) -> Tensor:
        """What is read of each dimension; zeros where a graph has no cell of it, ``(3, G, C)``."""
        cells = CellComplex.of(graphs)
        states = self._first(graphs, cells)
        seen: list[list[Tensor]] = []
        for layer in self.layers:
            states = [
                functional.dropout(one, self.settings.layer_dropout, self.training) for one in layer(states, cells)
            ]
            seen.append(states)
        if self.settings.jumping:
            states = [torch.cat(of_layers, dim=1) for of_layers in zip(*seen, strict=True)]
        pool = segment_sum if self.settings.pooling == "sum" else group_mean
        of_dimensions = zip(states, cells.graphs_of, strict=True)
        return torch.stack([pool(one, graph, graphs.num_graphs) for one, graph in of_dimensions])

    def _first(self, graphs: Graphs, cells: CellComplex) -> list[Tensor]:
        """The states of nodes, edges and rings before the first layer."""
        if self.node_embedding is None:
            nodes = node_numbers(graphs, self.node_features, self.head.weight.dtype)
            return [nodes, *cells.from_nodes(nodes, mean=self.settings.cell_features == "mean")]
        nodes = self.node_embedding(graphs)
        edges, rings = cells.from_nodes(nodes, mean=False)
        if self.edge_embedding is not None:
            given = require_edges(graphs.edge_attr)
            edges = self.edge_embedding(given.index_select(0, cells.columns)).each_edge()
        return [functional.dropout(one, self.settings.input_dropout, self.training) for one in (nodes, edges, rings)]


def transforms(settings: CINSettings, inputs: Inputs) -> list[TransformSpec]:
    """Edges and rings of every graph."""
    return [("cells", {"longest_ring": settings.longest_ring})]


OVER_BUDGET = "1.70 M weights as published, above the 500,000 of the table; cin-small is the authors' small run"
register(System("cin", "CIN, rings as cells (Bodnar et al. 2021)", CINSettings, CIN, transforms, note=OVER_BUDGET))
register(System("cin-small", "CIN-small (Bodnar et al. 2021)", CINSmallSettings, CIN, transforms))
register(System("sin", "SIN, triangles as cells (Bodnar et al. 2021)", SINSettings, CIN, transforms))
