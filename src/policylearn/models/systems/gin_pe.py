"""GIN + RWSE & LapPE: a GIN that reads walk and Laplacian encodings beside the types of nodes."""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn.aggr import Set2Set

from policylearn.bags import Graphs, attached
from policylearn.models.protocol import AnyBatch, PlainModel
from policylearn.models.registry import Inputs, LayerSettings, System, TransformSpec, register
from policylearn.nn import RowBatchNorm, neighbour_sum, node_numbers, node_width, sequence
from policylearn.settings.schema import DropShare, Positive

WALKS, LAPLACIAN = "walk_encoding", "laplacian_encoding"
"""The structures of these names, of the transforms of the same names."""


class EncodedGINSettings(LayerSettings, frozen=True):
    """The baseline on Alchemy."""

    walk_steps: Positive = 20
    """Columns of the walk encoding."""
    eigenvectors: Positive = 4
    """Columns of the Laplacian encoding."""
    encoding_channels: Positive = 16
    """P, width of each encoding; the types of nodes have the C - 2P channels that are left."""
    set2set_steps: Positive = 6
    """How often the readout asks the nodes."""
    dropout: DropShare = 0.0
    """After each layer."""


def encoding_mlp(inputs: int, channels: int, **first: nn.Module) -> nn.Sequential:
    """Linear map, relu, linear map without bias, after the ``first`` layers, ``(N, K) -> (N, P)``."""
    lin1, lin2 = nn.Linear(inputs, 2 * channels), nn.Linear(2 * channels, channels, bias=False)
    return sequence(**first, lin1=lin1, relu=nn.ReLU(), lin2=lin2)


class GINLayer(nn.Module):
    r"""A GIN layer with gelu, ``(N, C) -> (N, C)``.

    .. math::
        y = \mathrm{lin2}(\mathrm{gelu}(\mathrm{lin1}((1 + \epsilon) x + \textstyle\sum_u x_u))), \quad
        x' = (x + \mathrm{gelu}(\mathrm{BN}(y))) / \sqrt 2
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin1, self.lin2 = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.norm, self.dropout = RowBatchNorm(channels), dropout

    def forward(self, states: Tensor, graphs: Graphs) -> Tensor:
        summed = (1 + self.eps) * states + neighbour_sum(states, graphs.adjacency)
        new = functional.gelu(self.norm(self.lin2(functional.gelu(self.lin1(summed)))))
        return (states + functional.dropout(new, self.dropout, self.training)) / sqrt(2)


class EncodedGIN(PlainModel):
    """GIN over types, walk encoding and Laplacian encoding of the nodes; edge features are not read.

    Eigenvectors are known up to their signs: each training step flips those of whole columns at random.
    """

    def __init__(self, settings: EncodedGINSettings, inputs: Inputs) -> None:
        super().__init__()
        channels, encoding_channels = settings.channels, settings.encoding_channels
        if channels <= 2 * encoding_channels:
            raise ValueError(
                f"{channels} channels leave none for the types of nodes beside two encodings of {encoding_channels};"
                " use more channels or fewer encoding_channels"
            )
        self.node_features = inputs.node_features
        self.node_encoder = nn.Linear(node_width(inputs.node_features), channels - 2 * encoding_channels)
        self.eigenvectors, steps = settings.eigenvectors, settings.walk_steps
        self.lap = encoding_mlp(self.eigenvectors, encoding_channels)
        self.rw = encoding_mlp(steps, encoding_channels, norm=RowBatchNorm(steps))
        self.layers = nn.ModuleList(GINLayer(channels, settings.dropout) for _ in range(settings.layers))
        self.set2set = Set2Set(channels, settings.set2set_steps)
        lin1, lin2 = nn.Linear(2 * channels, 2 * channels), nn.Linear(2 * channels, inputs.outputs, bias=False)
        self.head = sequence(lin1=lin1, relu=nn.ReLU(), lin2=lin2)

    def forward(self, batch: AnyBatch, *, generator: torch.Generator | None = None) -> Tensor:
        """Predict, ``(G, outputs)``; in training with eigenvectors of random sign."""
        graphs = Graphs.of(batch)
        return self.predict(graphs, self.draw_signs(graphs, generator) if self.training else None)

    def draw_signs(self, graphs: Graphs, generator: torch.Generator | None = None) -> Tensor:
        """A sign for each eigenvector, the same in all graphs, ``(k,)``."""
        device = graphs.batch.device if generator is None else generator.device
        positive = torch.rand(self.eigenvectors, generator=generator, device=device) < 0.5
        return (2.0 * positive - 1.0).to(graphs.batch.device)

    def predict(self, graphs: Graphs, signs: Tensor | None) -> Tensor:
        """Predict with signs that are handed in, ``(G, outputs)``."""
        dtype = self.node_encoder.weight.dtype
        types = self.node_encoder(node_numbers(graphs, self.node_features, dtype))
        vectors, walks = (attached(graphs, name, name).to(dtype) for name in (LAPLACIAN, WALKS))
        if signs is not None:
            vectors = vectors * signs.to(dtype)
        states = torch.cat([types, self.lap(vectors), self.rw(walks)], dim=1)
        for layer in self.layers:
            states = layer(states, graphs)
        return self.head(self.set2set(states, graphs.batch, dim_size=graphs.num_graphs))


def transforms(settings: EncodedGINSettings, inputs: Inputs) -> list[TransformSpec]:
    """Walk and Laplacian encodings, under names of their own."""
    return [
        ("walk_encoding", {"steps": settings.walk_steps, "into": WALKS}),
        ("laplacian_encoding", {"k": settings.eigenvectors, "into": LAPLACIAN}),
    ]


register(System("gin-pe", "GIN + RWSE & LapPE (Qian et al. 2023)", EncodedGINSettings, EncodedGIN, transforms))
