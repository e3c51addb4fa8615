"""Message passing on the cells of graphs: nodes, edges and rings, as the transform 'cells' finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs
from policylearn.nn.norms import build_norm
from policylearn.nn.segments import segment_sum

CellNorm = Literal["batch", "none"]
DIMENSIONS = 3


@dataclass(frozen=True)
class Incidence:
    """Which cells of one dimension lie in which cells of the next.

    Shapes:
        lower and upper ``(I,)``; there are ``lowers`` and ``uppers`` cells.
    """

    lower: Tensor
    upper: Tensor
    lowers: int
    uppers: int

    def to_upper(self, values: Tensor) -> Tensor:
        """Sum over the cells that lie in a cell, ``(I, C) -> (uppers, C)``."""
        return segment_sum(values, self.upper, self.uppers)

    def to_lower(self, values: Tensor) -> Tensor:
        """Sum over the cells that a cell lies in, ``(I, C) -> (lowers, C)``."""
        return segment_sum(values, self.lower, self.lowers)


@dataclass(frozen=True)
class CellComplex:
    """Nodes, edges and rings of a batch.

    Args:
        incidences: of nodes and edges, and of edges and rings.
        graphs_of: the graph of each node, edge and ring.
        columns: the column of ``edge_index`` that each edge is.
    """

    incidences: tuple[Incidence, Incidence]
    graphs_of: tuple[Tensor, Tensor, Tensor]
    columns: Tensor

    @staticmethod
    def of(graphs: Graphs) -> CellComplex:
        """From the structures that the transform 'cells' attached."""
        if "cell_edge" not in graphs.extras:
            raise ValueError("the batch has no 'cell_edge'; apply the transform 'cells' that the model names")
        edge, ring_edge, ring_id = (graphs.extras[name] for name in ("cell_edge", "ring_edge", "ring_id"))
        edges, rings = len(edge), len(graphs.extras["ring"])
        both = torch.arange(edges, device=edge.device).repeat_interleave(2)
        of_edge = graphs.batch.index_select(0, edge[:, 0])
        of_ring = of_edge.new_zeros(rings).scatter(0, ring_id, of_edge.index_select(0, ring_edge))
        return CellComplex(
            (Incidence(edge.flatten(), both, graphs.num_nodes, edges), Incidence(ring_edge, ring_id, edges, rings)),
            (graphs.batch, of_edge, of_ring),
            graphs.extras["cell_column"],
        )

    def from_nodes(self, nodes: Tensor, *, mean: bool) -> list[Tensor]:
        """Each cell's sum (or mean) over its nodes, for edges and rings, ``(N, C) -> (E, C), (R, C)``."""
        ends, sides = self.incidences
        edges = ends.to_upper(nodes.index_select(0, ends.lower))
        rings = sides.to_upper(edges.index_select(0, sides.lower)) / 2  # each node of a ring ends two of its edges
        if not mean:
            return [edges, rings]
        sizes = torch.bincount(sides.upper, minlength=sides.uppers).to(nodes.dtype)
        return [edges / 2, rings / sizes.unsqueeze(1)]


class TwoMaps(nn.Module):
    """Linear map, norm, relu, twice."""

    def __init__(self, inputs: int, channels: int, norm: CellNorm) -> None:
        super().__init__()
        self.lin1, self.norm1 = nn.Linear(inputs, channels), build_norm(norm, channels)
        self.lin2, self.norm2 = nn.Linear(channels, channels), build_norm(norm, channels)

    def forward(self, rows: Tensor) -> Tensor:
        """Map, ``(R, inputs) -> (R, C)``."""
        return torch.relu(self.norm2(self.lin2(torch.relu(self.norm1(self.lin1(rows))))))


class Combine(nn.Module):
    """Linear map of two states side by side, norm, relu."""

    def __init__(self, channels: int, norm: CellNorm) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(2 * channels, channels), build_norm(norm, channels)

    def forward(self, up: Tensor, boundary: Tensor) -> Tensor:
        """Combine, ``(R, C)`` twice ``-> (R, C)``."""
        return torch.relu(self.norm(self.lin(torch.cat([up, boundary], dim=1))))


class CellUpdate(nn.Module):
    r"""How the cells of one dimension change.

    .. math::
        a_i &= (1 + \epsilon_{up}) h_i + \textstyle\sum_{j, r} \mathrm{relu}(\mathrm{message}([h_j, h_r])) \\
        b_i &= (1 + \epsilon_{boundary}) h_i + \textstyle\sum_{s} h_s \\
        h'_i &= \mathrm{combine}(\mathrm{up}(a_i), \mathrm{boundary}(b_i))

    over the cells r of the next dimension that i lies in, the other cells j in r, and the cells s that lie in i.
    Without the coboundary in messages these are :math:`h_j` alone.
    """

    eps_up: Tensor
    eps_boundary: Tensor

    def __init__(self, inputs: int, channels: int, norm: CellNorm, *, coboundary: bool) -> None:
        super().__init__()
        self.register_buffer("eps_up", torch.zeros(1))
        self.register_buffer("eps_boundary", torch.zeros(1))
        self.message = nn.Linear(2 * inputs, inputs) if coboundary else None
        self.up, self.boundary = TwoMaps(inputs, channels, norm), TwoMaps(inputs, channels, norm)
        self.combine = Combine(channels, norm)

    def forward(
        self, own: Tensor, upper: tuple[Tensor, Incidence] | None, lower: tuple[Tensor, Incidence] | None
    ) -> Tensor:
        """Update, ``(R, inputs) -> (R, C)``; upper and lower are the states of the neighbouring dimensions."""
        up, boundary = (1 + self.eps_up) * own, (1 + self.eps_boundary) * own
        if upper is not None:
            up = up + self._from_above(own, *upper)
        if lower is not None:
            states, inside = lower
            boundary = boundary + inside.to_upper(states.index_select(0, inside.lower))
        updated: Tensor = self.combine(self.up(up), self.boundary(boundary))
        return updated

    def _from_above(self, own: Tensor, above: Tensor, inside: Incidence) -> Tensor:
        """What a cell hears through the cells that it lies in, ``(R, inputs) -> (R, inputs)``.

        A message depends on its sender and on the shared cell, not on who hears it. So all messages within a cell are
        summed once, and each of its cells takes its own away: a ring of k edges costs k messages, not k (k - 1).
        """
        messages = own.index_select(0, inside.lower)
        if self.message is not None:
            messages = torch.relu(self.message(torch.cat([messages, above.index_select(0, inside.upper)], dim=1)))
        others = inside.to_upper(messages).index_select(0, inside.upper) - messages
        return inside.to_lower(others)


class CellLayer(nn.Module):
    """One `CellUpdate` for each dimension, all from the states before the layer."""

    def __init__(self, inputs: int, channels: int, norm: CellNorm, *, coboundary: bool) -> None:
        super().__init__()
        self.dim0, self.dim1, self.dim2 = (
            CellUpdate(inputs, channels, norm, coboundary=coboundary) for _ in range(DIMENSIONS)
        )

    def forward(self, states: Sequence[Tensor], cells: CellComplex) -> list[Tensor]:
        """Update nodes, edges and rings."""
        (nodes, edges, rings), (ends, sides) = states, cells.incidences
        return [
            self.dim0(nodes, (edges, ends), None),
            self.dim1(edges, (rings, sides), (nodes, ends)),
            self.dim2(rings, None, (edges, sides)),
        ]
