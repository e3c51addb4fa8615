"""Message passing over the rows of a bag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.nn.features import EdgeEncoder, EdgeTerm, Features, build_edge_encoder
from policylearn.nn.norms import RowBatchNorm
from policylearn.nn.sums import gin_sum, gine_sum

if TYPE_CHECKING:
    from torch_geometric.nn import MessagePassing

GINForm = Literal["zinc", "ogb", "tu"]
"""Layers that published systems share: `zinc` has C channels between the maps, `ogb` 2 C; `tu` has C, reads no edge
features and learns no epsilon."""


class Conv(Protocol):
    """One round of message passing, the same for every copy."""

    def __call__(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """Pass messages, ``(R, C_in) -> (R, C_out)``."""


class GIN(nn.Module):
    r"""Graph isomorphism layer, with edge features where an edge encoder is given (GINE).

    .. math::
        z'_v = \mathrm{mlp}\big((1 + \epsilon)\, z_v + \sum_{u \to v} \mathrm{relu}(z_u + e_{uv})\big)

    Without edge features the sum is over :math:`z_u` itself.

    Args:
        lin1: first map of the mlp.
        norm: between the maps, followed by a relu.
        lin2: second map of the mlp.
        edges: encoder of the edge features, as wide as the input.
        learn_eps: whether :math:`\epsilon` is learned; it is 0 otherwise, and no weight.
    """

    eps: Tensor

    def __init__(
        self,
        lin1: nn.Linear,
        norm: nn.Module,
        lin2: nn.Linear,
        edges: EdgeEncoder | None = None,
        *,
        learn_eps: bool = True,
    ) -> None:
        super().__init__()
        if learn_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1), persistent=False)
        self.lin1, self.norm, self.lin2, self.edges = lin1, norm, lin2, edges

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        term = self.edge_term(edge_attr)
        if term is None:
            summed = gin_sum(states, bag, self.scale)
        else:
            summed = gine_sum(states, bag, self.scale, term.values, term.index)
        return self.lin2(torch.relu(self.norm(self.lin1(summed))))

    @property
    def scale(self) -> Tensor:
        """Of a node's own state, ``(1,)``."""
        return 1 + self.eps

    def edge_term(self, edge_attr: Tensor | None) -> EdgeTerm | None:
        """The edges' vectors; None where the layer takes none."""
        return None if self.edges is None else self.edges(edge_attr)


def build_gin(
    inputs: int, channels: int, *, hidden: int | None = None, edges: Features | None = None, learn_eps: bool = True
) -> GIN:
    """A GIN layer with a batch norm over all rows, from its widths; ``edges`` are the features that it reads."""
    hidden = channels if hidden is None else hidden
    encoder = None if edges is None else build_edge_encoder(edges, inputs)
    lin1, lin2 = nn.Linear(inputs, hidden), nn.Linear(hidden, channels)
    return GIN(lin1, RowBatchNorm(hidden), lin2, encoder, learn_eps=learn_eps)


class NormedGIN(nn.Module):
    """``norm(conv(z))``, in the form of the data that a system was written for; what follows is up to the system."""

    def __init__(self, form: GINForm, inputs: int, channels: int, edges: Features) -> None:
        super().__init__()
        if form == "tu":
            self.conv = build_gin(inputs, channels, learn_eps=False)
        else:
            self.conv = build_gin(inputs, channels, hidden=channels * {"zinc": 1, "ogb": 2}[form], edges=edges)
        self.norm = RowBatchNorm(channels)

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        return self.norm(self.conv(states, bag, edge_attr))


class PyGConv(nn.Module):
    """Any PyG layer as the inner convolution; it sees one copy at a time, with encoded edges where there are any."""

    def __init__(self, conv: MessagePassing, edges: EdgeEncoder | None = None) -> None:
        super().__init__()
        self.conv, self.edges = conv, edges

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        adjacency, copies = bag.wide()
        edge_index = torch.stack([adjacency.source, adjacency.target])
        extra = {}
        if self.edges is not None and edge_attr is not None:
            extra["edge_attr"] = self.edges(edge_attr).each_message(adjacency)
        parts = states.view(adjacency.num_nodes, copies, -1).unbind(1)  # (N * S, C) -> S times (N, C)
        return torch.stack([self.conv(part, edge_index, **extra) for part in parts], dim=1).flatten(0, 1)
