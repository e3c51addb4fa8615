"""Picks by a score that is not learned."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from policylearn.bags import Graphs, Selection
from policylearn.policies.protocol import best_in_turn, check_picks
from policylearn.policies.registry import POLICIES, PickSettings, PolicyKind

NodeScore = Callable[[Graphs], Tensor]

DENSE_ENTRIES = 1 << 22
"""How many matrix entries `subgraph_centrality` holds at once; a single larger graph is held alone."""

PADDING = 8
"""Graphs are padded to a multiple of this size, so that those of about one size are taken together."""


class RankedPolicy:
    """Picks the T nodes of highest score from the top down; nodes repeat only once all are used.

    Scores count as equal within the relative difference ``tie_tolerance``, and then the lowest node id is taken.
    """

    def __init__(self, score: NodeScore, picks: int, *, tie_tolerance: float = 1e-4) -> None:
        check_picks(picks)
        self.score, self.picks, self.tie_tolerance = score, picks, tie_tolerance

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        scores = [self.score(graphs)] * self.picks if self.picks else []
        return best_in_turn(scores, graphs, tolerance=self.tie_tolerance)


def degree(graphs: Graphs) -> Tensor:
    """Incoming edges of each node, ``(N,)``."""
    return graphs.adjacency.in_degree.to(torch.float64)


def subgraph_centrality(graphs: Graphs) -> Tensor:
    r"""Logarithm of the weighted number of closed walks from each node, :math:`\log\, (e^A)_{vv}`, ``(N,)``."""
    scores = torch.empty(graphs.num_nodes, dtype=torch.float64, device=graphs.batch.device)
    padded = (graphs.sizes + PADDING - 1) // PADDING * PADDING
    for size in torch.unique(padded).tolist():
        for members in (padded == size).nonzero().squeeze(1).split(max(1, DENSE_ENTRIES // size**2)):
            _fill_centrality(scores, graphs, members, size)
    return scores


def _fill_centrality(scores: Tensor, graphs: Graphs, members: Tensor, size: int) -> None:
    """Work out the centrality of the graphs ``members`` and write it to their nodes in ``scores``."""
    place = torch.full((graphs.num_graphs,), -1, device=members.device)
    place[members] = torch.arange(len(members), device=members.device)
    in_graph = place.index_select(0, graphs.batch)  # (N,)
    edge_place = in_graph.index_select(0, graphs.edge_index[0])
    chosen = edge_place >= 0
    local = torch.arange(graphs.num_nodes, device=members.device) - graphs.ptr.index_select(0, graphs.batch)
    source, target = local[graphs.edge_index[:, chosen]]
    dense = torch.zeros(len(members), size, size, dtype=torch.float64, device=members.device)
    ones = torch.ones(len(source), dtype=torch.float64, device=members.device)
    dense.index_put_((edge_place[chosen], source, target), ones, accumulate=True)
    # exp(A) = exp(A - c) e^c keeps hubs of thousands of neighbours within range; the logarithm adds c back.
    shift = dense.sum(-1).amax(-1).sqrt()  # (G,)
    eye = torch.eye(size, dtype=torch.float64, device=members.device)
    closed = torch.linalg.matrix_exp(dense - shift[:, None, None] * eye).diagonal(dim1=1, dim2=2)
    nodes = (in_graph >= 0).nonzero().squeeze(1)
    where = in_graph.index_select(0, nodes)
    value = closed[where, local.index_select(0, nodes)]
    scores[nodes] = value.clamp(min=torch.finfo(torch.float64).tiny).log() + shift.index_select(0, where)


def _ranked(score: NodeScore) -> PolicyKind:
    return PolicyKind(PickSettings, lambda settings, _inputs: RankedPolicy(score, settings.picks), presets="random")


POLICIES.register("degree", _ranked(degree))
POLICIES.register("centrality", _ranked(subgraph_centrality))
