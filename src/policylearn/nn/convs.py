"""Message passing over the rows of a bag."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from policylearn.kernels import Layout, gin_sum, gine_sum
from policylearn.nn.features import CategoricalEdges, RealEdges


class Conv(Protocol):
    """One round of message passing, the same for every copy."""

    def __call__(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
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
    """

    def __init__(
        self, lin1: nn.Linear, norm: nn.Module, lin2: nn.Linear, edges: CategoricalEdges | RealEdges | None = None
    ) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.lin1, self.norm, self.lin2, self.edges = lin1, norm, lin2, edges

    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """Pass messages, ``(R, C_in) -> (R, C_out)``."""
        scale = 1 + self.eps
        if self.edges is None:
            summed = gin_sum(states, rows, scale)
        elif edge_attr is None:
            raise ValueError(
                "the layer has an edge encoder, but the batch has no 'edge_attr'; build it with edges of kind 'none'"
            )
        else:
            term = self.edges(edge_attr)
            summed = gine_sum(states, rows, scale, term.values, term.index)
        hidden = self.norm(self.lin1(summed), rows.copies)
        out: Tensor = self.lin2(torch.relu(hidden))
        return out


class PyGConv(nn.Module):
    """Any PyG layer as the inner convolution; it sees one copy at a time.

    Args:
        conv: takes ``(x, edge_index)``, and ``edge_attr`` where an edge encoder is given.
        edges: encoder of the edge features.
    """

    def __init__(self, conv: MessagePassing, edges: CategoricalEdges | RealEdges | None = None) -> None:
        super().__init__()
        self.conv, self.edges = conv, edges

    def forward(self, states: Tensor, rows: Layout, edge_attr: Tensor | None) -> Tensor:
        """Pass messages, ``(R, C_in) -> (R, C_out)``."""
        adjacency, copies = rows.wide()
        edge_index = torch.stack([adjacency.source, adjacency.target])
        extra = {}
        if self.edges is not None and edge_attr is not None:
            term = self.edges(edge_attr)
            index = adjacency.edge if term.index is None else term.index.index_select(0, adjacency.edge)
            extra["edge_attr"] = term.values.index_select(0, index)
        parts = states.view(adjacency.num_nodes, copies, -1).unbind(1)  # (N * S, C) -> S times (N, C)
        return torch.stack([self.conv(part, edge_index, **extra) for part in parts], dim=1).flatten(0, 1)
