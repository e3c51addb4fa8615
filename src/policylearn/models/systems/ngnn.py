"""NGNN, the authors' network: GINE on labelled ego nets, with a virtual node that joins the nets of a graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from policylearn.bags import MAX_ROWS, Bag, Graphs, attached, check_rows
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import Inputs, System, TransformSpec, built, register
from policylearn.nn import (
    EgoLabels,
    Features,
    NodeEncoder,
    NodesThenCopies,
    RowBatchNorm,
    build_gin,
    labelled_ego_nets,
    segment_sum,
)
from policylearn.settings.schema import DropShare, Positive, Settings


class VirtualUpdate(nn.Module):
    """``relu(BN(W4 relu(BN(W3 u + b3)) + b4))``, over the graphs of a batch."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.lin1, self.norm1 = nn.Linear(channels, 2 * channels), RowBatchNorm(2 * channels)
        self.lin2, self.norm2 = nn.Linear(2 * channels, channels), RowBatchNorm(channels)

    def forward(self, u: Tensor) -> Tensor:
        """Map, ``(G, C) -> (G, C)``."""
        return torch.relu(self.norm2(self.lin2(torch.relu(self.norm1(self.lin1(u))))))


class NGNN(nn.Module):
    r"""Nested GNN as on OGB: mean over the rows of each ego net, mean over the nets of each graph, one linear map.

    Layer: :math:`h \leftarrow h + p_g`, then :math:`\mathrm{relu}(\mathrm{BN}(\mathrm{GINE}(h)))`, without the relu in
    the last. The virtual node p of a graph is moved by the sum over all of its rows of what each layer read. So nets
    are not independent of each other, unlike in the paper's text.

    Args:
        node_features: what nodes come with.
        edge_features: what edges come with.
        outputs: width of the output.
        others: see `NGNNSettings`.
    """

    depends_on_batch = False
    objective = mean_loss

    def __init__(
        self,
        node_features: Features,
        edge_features: Features,
        *,
        channels: int = 300,
        outputs: int = 1,
        layers: int = 6,
        height: int = 4,
        resistance: bool = True,
        virtual_node: bool = True,
        residual: bool = False,
        dropout: float = 0.0,
        max_rows: int = MAX_ROWS,
    ) -> None:
        super().__init__()
        self.channels, self.max_rows, self.residual, self.reads_resistance = channels, max_rows, residual, resistance
        self.node_encoder = NodeEncoder(node_features, channels)
        self.labels = EgoLabels(height, channels, resistance=resistance)

        self.convs = nn.ModuleList(
            build_gin(channels, channels, hidden=2 * channels, edges=edge_features) for _ in range(layers)
        )
        self.norms = nn.ModuleList(RowBatchNorm(channels) for _ in range(layers))
        self.virtual = nn.Parameter(torch.zeros(1, channels)) if virtual_node else None
        self.updates = nn.ModuleList(VirtualUpdate(channels) for _ in range(layers - 1) if virtual_node)
        self.dropout = nn.Dropout(dropout)
        self.readout = NodesThenCopies("mean", "mean")
        self.head = nn.Linear(channels, outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        check_rows(len(attached(graphs, "ego_root", "ego_nets")), self.max_rows, 2 * self.channels)
        bag = labelled_ego_nets(graphs, resistance=self.reads_resistance)
        output: Tensor = self.head(self.readout(self._states(graphs, bag), bag, graphs))
        return output

    def _states(self, graphs: Graphs, bag: Bag) -> Tensor:
        """Rows after the last layer, ``(R, C)``."""
        h: Tensor = bag.spread(self.node_encoder(graphs)) + self.labels(bag)
        virtual = None if self.virtual is None else self.virtual.expand(graphs.num_graphs, -1)
        last = len(self.convs) - 1
        for depth, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            if virtual is not None:
                h = h + virtual.index_select(0, bag.graph_of_row)
            new = norm(conv(h, bag, graphs.edge_attr))
            new = self.dropout(new if depth == last else torch.relu(new))
            if virtual is not None and depth < last:
                heard = virtual + segment_sum(h, bag.graph_of_row, graphs.num_graphs)
                update = self.dropout(self.updates[depth](heard))
                virtual = virtual + update if self.residual else update
            h = new + h if self.residual else new
        return h


class NGNNSettings(Settings, frozen=True):
    """The published run on ogbg-molhiv."""

    channels: Positive = 300
    """Width C."""
    layers: Positive = 6
    """Number of layers."""
    height: Positive = 4
    """How far ego nets reach."""
    resistance: bool = True
    """Whether rows know their resistance to the root."""
    virtual_node: bool = True
    """Whether a virtual node joins all ego nets of a graph."""
    residual: bool = False
    """Add what each layer read to its output, and a virtual node's state to its update."""
    dropout: DropShare = 0.65
    """Dropout after every layer, and on updates of the virtual node."""
    max_rows: Positive = MAX_ROWS
    """Rows (root and node) of a batch that are too many to hold."""


def transforms(settings: Any, inputs: Inputs) -> list[TransformSpec]:
    """The ego nets of all nodes, with what their labels need."""
    return [("ego_nets", {"hops": settings.height, "arrivals": True, "resistance": settings.resistance})]


NOTE = "holds one state per node of every ego net: n times the size of a net"
register(System("ngnn", "Nested GNN (Zhang and Li 2021)", NGNNSettings, built(NGNN), transforms, note=NOTE))
