"""Layers over graphs in which a tuple of nodes is marked, the same graph once for each of its tuples."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs
from policylearn.nn.features import Features, build_edge_encoder, require_edges
from policylearn.nn.norms import RowBatchNorm
from policylearn.nn.sums import gin_sum, gine_sum


def tuple_bag(graphs: Graphs, tuples: Tensor, dtype: torch.dtype) -> Bag:
    """One copy of the graph per tuple; there is no unmarked one. Column p of the marks is -1 at node p, else 1.

    Args:
        graphs: the batch.
        tuples: node ids, counted through the whole batch; a node may stand in several places.
        dtype: of the marks.

    Shapes:
        tuples ``(m, k, G)``; marks ``(N * m, k)``.
    """
    count, size, _ = tuples.shape
    of_node = tuples.index_select(2, graphs.batch)  # (m, k, N)
    nodes = torch.arange(graphs.num_nodes, device=graphs.batch.device)
    marks = 1 - 2 * (of_node == nodes).permute(2, 0, 1).reshape(-1, size).to(dtype)
    row_ptr = torch.arange(graphs.num_nodes + 1, device=graphs.batch.device) * count
    slots = graphs.ptr.new_full((graphs.num_graphs,), count)
    return Bag(marks, row_ptr, slots, tuples[:, 0], graphs.batch, graphs.adjacency, count)


class MarkEncoder(nn.Module):
    """Marks of all places of a tuple as channels: linear map, batch norm."""

    def __init__(self, size: int, channels: int) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(size, channels), RowBatchNorm(channels)

    def forward(self, marks: Tensor) -> Tensor:
        """Encode, ``(R, k) -> (R, C)``."""
        out: Tensor = self.norm(self.lin(marks))
        return out


class TupleLayer(nn.Module):
    r"""A GIN layer with an inner width of twice its input, and a norm behind it.

    .. math::
        x'_v = \mathrm{norm2}(\mathrm{lin2}(\mathrm{relu}(\mathrm{norm1}(\mathrm{lin1}((1 + \epsilon) x_v +
        \textstyle\sum_u \mathrm{relu}(x_u + e_{uv}))))))

    Without edge features the sum is over :math:`x_u` itself.

    Args:
        inputs: width of the states that come in.
        channels: C of those that go out.
        edge_features: what edges come with.
        learn_eps: whether epsilon is a weight; it is 0 otherwise.
        last: whether no relu follows.
    """

    eps: Tensor

    def __init__(self, inputs: int, channels: int, edge_features: Features, *, learn_eps: bool, last: bool) -> None:
        super().__init__()
        if learn_eps:
            self.eps = nn.Parameter(torch.zeros(1))
        else:
            self.register_buffer("eps", torch.zeros(1))
        self.edges = build_edge_encoder(edge_features, inputs)
        self.lin1, self.norm1 = nn.Linear(inputs, 2 * inputs), RowBatchNorm(2 * inputs)
        self.lin2, self.norm2 = nn.Linear(2 * inputs, channels), RowBatchNorm(channels)
        self.last = last

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """Pass messages, ``(R, inputs) -> (R, C)``."""
        scale = 1 + self.eps
        if self.edges is None:
            summed = gin_sum(states, bag, scale)
        else:
            term = self.edges(require_edges(edge_attr))
            summed = gine_sum(states, bag, scale, term.values, term.index)
        out: Tensor = self.norm2(self.lin2(torch.relu(self.norm1(self.lin1(summed)))))
        return out if self.last else torch.relu(out)


def tuple_layers(inputs: int, channels: int, layers: int, edges: Features, *, learn_eps: bool) -> nn.ModuleList:
    """A stack of layers; epsilon is learned in the first one at most."""
    return nn.ModuleList(
        TupleLayer(
            inputs if depth == 0 else channels,
            channels,
            edges,
            learn_eps=learn_eps and depth == 0,
            last=depth == layers - 1,
        )
        for depth in range(layers)
    )


class NormedLinear(nn.Module):
    """Linear map, batch norm, relu."""

    def __init__(self, inputs: int, channels: int) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(inputs, channels), RowBatchNorm(channels)

    def forward(self, rows: Tensor) -> Tensor:
        """Map, ``(R, inputs) -> (R, C)``."""
        return torch.relu(self.norm(self.lin(rows)))
