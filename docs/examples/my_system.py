"""A system of your own: the mean of the nodes' vectors, without a look at the edges."""

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.models import Inputs, System, mean_loss, register
from policylearn.nn import MLP, NodeEncoder, segment_mean
from policylearn.settings import Settings


class DeepSetSettings(Settings, frozen=True):
    """Nodes without their edges."""

    channels: int = 32
    """Width of the network."""


class DeepSet(nn.Module):
    """``head(mean of the nodes)``."""

    depends_on_batch = False
    objective = mean_loss  # of a model that learns nothing but to predict

    def __init__(self, settings: DeepSetSettings, inputs: Inputs) -> None:
        super().__init__()
        self.encoder = NodeEncoder(inputs.node_features, settings.channels)
        self.head = MLP(settings.channels, settings.channels, inputs.outputs)

    def forward(self, batch: Graphs, *, generator: torch.Generator | None = None) -> Tensor:
        """Outputs, ``(G, outputs)``."""
        graphs = Graphs.of(batch)
        output: Tensor = self.head(segment_mean(self.encoder(graphs), graphs.batch, graphs.ptr))  # (N, C) -> (G, C)
        return output


register(System("deep-set", "deep set of nodes (Zaheer et al., 2017)", DeepSetSettings, DeepSet))
