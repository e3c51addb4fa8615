"""NGNN as the SUN project ran it: unmarked ego nets in which the nodes outside stay as isolated rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import MAX_ROWS, Bag, Graphs, Selection, check_rows, every_root, whole_copies
from policylearn.models.protocol import AnyBatch, mean_loss
from policylearn.models.registry import System, built, register
from policylearn.nn import (
    MLP,
    Features,
    NodeEncoder,
    NodesThenCopies,
    RowBatchNorm,
    StreamLayer,
    build_gin,
)
from policylearn.settings.schema import NotNegative, Positive, Settings


class NGNNSun(nn.Module):
    """DS-GNN without set layers: GINE on every copy, all layers side by side, means over nodes and over copies.

    Args:
        node_features: what nodes come with.
        edge_features: what edges come with.
        outputs: width of the output.
        others: see `NGNNSunSettings`.
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
        hops: int = 3,
        max_rows: int = MAX_ROWS,
    ) -> None:
        super().__init__()
        self.max_rows, self.width = max_rows, (layers + 1) * channels
        self.rule = whole_copies("ego", hops)
        self.node_encoder = NodeEncoder(node_features, channels)

        def layer() -> StreamLayer:
            return StreamLayer(build_gin(channels, channels, edges=edge_features), RowBatchNorm(channels))

        self.layers = nn.ModuleList(layer() for _ in range(layers))
        self.readout = NodesThenCopies("mean", "mean")
        self.head = MLP(self.width, 2 * self.width, outputs)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        check_rows(int((graphs.sizes**2).sum()), self.max_rows, self.width)
        bag = self.copies(graphs)
        states = [bag.spread(self.node_encoder(graphs))]
        for layer in self.layers:
            states.append(layer(states[-1], bag, graphs.edge_attr))
        output: Tensor = self.head(self.readout(torch.cat(states, dim=1), bag, graphs))
        return output

    def copies(self, graphs: Graphs) -> Bag:
        """Copies with all nodes of their graph, but only the edges of one ego net."""
        return self.rule(graphs, Selection(every_root(graphs)), unmarked=False)


class NGNNSunSettings(Settings, frozen=True):
    """SUN's settings for DS-GNN on ZINC, as wide as 500,000 weights allow: 457,543."""

    channels: Positive = 64
    """Width C."""
    layers: Positive = 6
    """Number of layers."""
    hops: NotNegative = 3
    """How far ego nets reach."""
    max_rows: Positive = MAX_ROWS
    """Rows of a batch, n * n per graph, that are too many to hold."""


NOTE = "holds n * n states per graph, in evaluation too"
TITLE = "Nested GNN as in SUN's comparison (Frasca et al. 2022)"
register(System("ngnn-sun", TITLE, NGNNSunSettings, built(NGNNSun), note=NOTE))
