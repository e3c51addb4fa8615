"""NGNN as its group published it for ZINC with I2-GNN: every layer reads the labels of the ego nets."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from policylearn.bags import MAX_ROWS, Bag, Graphs, attached, check_rows
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import System, built, register
from policylearn.models.systems.ngnn import NOTE, transforms
from policylearn.nn import (
    EgoLabels,
    Features,
    NodeEncoder,
    NodesThenCopies,
    RowBatchNorm,
    build_gin,
    labelled_ego_nets,
)
from policylearn.settings.schema import Positive, Settings

TYPE_CHANNELS = 8
"""Width of the embedded node type; the type stands beside it as a plain number."""

NetPooling = Literal["mean", "root"]


class LabelledLayer(nn.Module):
    r""":math:`\mathrm{elu}(\mathrm{BN}(\mathrm{GINE}([h, q])))` with q the labels of the rows, as wide as h."""

    def __init__(self, inputs: int, channels: int, edge_features: Features, height: int, *, resistance: bool) -> None:
        super().__init__()
        wide = 2 * inputs
        self.labels = EgoLabels(height, inputs, resistance=resistance)
        self.conv = build_gin(wide, channels, hidden=2 * wide, edges=edge_features)
        self.norm = RowBatchNorm(channels)

    def forward(self, h: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """One layer, ``(R, inputs) -> (R, C)``."""
        labelled = torch.cat([h, self.labels(bag)], dim=1)
        return functional.elu(self.norm(self.conv(labelled, bag, edge_attr)))


class NGNNZinc(nn.Module):
    """Nested GNN with residual layers, pooled over each ego net (or its root alone), then over the nets.

    Args:
        node_features: what nodes come with.
        edge_features: what edges come with.
        outputs: width of the output.
        others: see `NGNNZincSettings`.
    """

    depends_on_batch = False
    objective = mean_loss

    def __init__(
        self,
        node_features: Features,
        edge_features: Features,
        *,
        channels: int = 64,
        outputs: int = 1,
        layers: int = 6,
        height: int = 3,
        resistance: bool = True,
        pool: NetPooling = "mean",
        max_rows: int = MAX_ROWS,
    ) -> None:
        super().__init__()
        self.channels, self.max_rows, self.reads_resistance = channels, max_rows, resistance
        self.plain_columns = len(node_features.categorical)
        self.node_encoder = NodeEncoder(node_features, TYPE_CHANNELS)
        widths = [TYPE_CHANNELS + self.plain_columns, *[channels] * (layers - 1)]
        self.layers = nn.ModuleList(
            LabelledLayer(width, channels, edge_features, height, resistance=resistance) for width in widths
        )
        self.readout = NodesThenCopies(pool, "mean")
        self.lin1, self.lin2, self.lin3 = nn.Linear(channels, 32), nn.Linear(32, 16), nn.Linear(16, outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        check_rows(len(attached(graphs, "ego_root", "ego_nets")), self.max_rows, 4 * self.channels)
        bag = labelled_ego_nets(graphs, resistance=self.reads_resistance)
        types = self.node_encoder(graphs)
        h = bag.spread(torch.cat([types, graphs.x[:, : self.plain_columns].to(types.dtype)], dim=1))
        for depth, layer in enumerate(self.layers):
            new = layer(h, bag, graphs.edge_attr)
            h = new if depth == 0 else new + h
        vector = functional.elu(self.lin1(self.readout(h, bag, graphs)))
        output: Tensor = self.lin3(functional.elu(self.lin2(vector)))
        return output


class NGNNZincSettings(Settings, frozen=True):
    """The defaults of the published script; height and labels as in the group's command for ZINC."""

    channels: Positive = 64
    """Width C."""
    layers: Positive = 6
    """Number of layers."""
    height: Positive = 3
    """How far ego nets reach."""
    resistance: bool = True
    """Whether rows know their resistance to the root."""
    pool: NetPooling = "mean"
    """Mean over an ego net, or the row of its root."""
    max_rows: Positive = MAX_ROWS
    """Rows (root and node) of a batch that are too many to hold."""


TITLE = "Nested GNN for ZINC (Huang et al. 2022)"
register(System("ngnn-zinc", TITLE, NGNNZincSettings, built(NGNNZinc), transforms, note=NOTE))
