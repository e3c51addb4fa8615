"""Picks by a score that is not learned."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from policylearn.bags import Graphs, Selection
from policylearn.nn import segment_argmax
from policylearn.policies.protocol import check_picks, unpicked
from policylearn.policies.registry import POLICIES, PickSettings, PolicyKind

NodeScore = Callable[[Graphs], Tensor]

DENSE_ENTRIES = 1 << 22
"""How many matrix entries `subgraph_centrality` holds at once; a single larger graph is held alone."""

PADDED = 1.3
"""How many times larger than the smallest the largest graph may be of those that it pads to one size."""


class RankedPolicy:
    """Picks the T nodes of highest score; among equals the lowest node id.

    Args:
        score: gives one number per node.
        picks: T.
        tie_tolerance: scores count as equal within this relative difference.
    """

    def __init__(self, score: NodeScore, picks: int, *, tie_tolerance: float = 1e-4) -> None:
        check_picks(picks)
        self.score, self.picks, self.tie_tolerance = score, picks, tie_tolerance

    def __call__(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Pick from the top down; nodes repeat only once all are used."""
        if not self.picks:
            return Selection.nothing(graphs.ptr)
        scores, picked = self.score(graphs), list[Tensor]()
        for _ in range(self.picks):
            free = scores.where(unpicked(picked, graphs.members), -torch.inf)
            picked.append(segment_argmax(free, graphs.batch, graphs.num_graphs, self.tie_tolerance))
        return Selection(torch.stack(picked))


def degree(graphs: Graphs) -> Tensor:
    """Incoming edges of each node, ``(N,)``."""
    return (graphs.adjacency.target_ptr[1:] - graphs.adjacency.target_ptr[:-1]).to(torch.float64)


def subgraph_centrality(graphs: Graphs) -> Tensor:
    r"""Logarithm of the weighted number of closed walks from each node, :math:`\log\, (e^A)_{vv}`, ``(N,)``.

    Small graphs of about one size are taken together, padded to that of the largest.
    """
    scores = torch.empty(graphs.num_nodes, dtype=torch.float64, device=graphs.batch.device)
    order = torch.argsort(graphs.sizes, stable=True)
    sizes = graphs.sizes.index_select(0, order).tolist()
    start = 0
    while start < len(sizes):
        end, most = start + 1, PADDED * sizes[start]
        while end < len(sizes) and sizes[end] <= most and (end + 1 - start) * sizes[end] ** 2 <= DENSE_ENTRIES:
            end += 1
        _fill_centrality(scores, graphs, order[start:end], sizes[end - 1])
        start = end
    return scores


def _fill_centrality(scores: Tensor, graphs: Graphs, members: Tensor, largest: int) -> None:
    """Work out the centrality of the graphs ``members`` and write it to their nodes in ``scores``."""
    place = torch.full((graphs.num_graphs,), -1, device=members.device)
    place[members] = torch.arange(len(members), device=members.device)
    in_graph = place.index_select(0, graphs.batch)  # (N,)
    edge_place = in_graph.index_select(0, graphs.edge_index[0])
    chosen = edge_place >= 0
    local = torch.arange(graphs.num_nodes, device=members.device) - graphs.ptr.index_select(0, graphs.batch)
    source, target = local[graphs.edge_index[:, chosen]]
    dense = torch.zeros(len(members), largest, largest, dtype=torch.float64, device=members.device)
    ones = torch.ones(len(source), dtype=torch.float64, device=members.device)
    dense.index_put_((edge_place[chosen], source, target), ones, accumulate=True)
    # exp(A) = exp(A - c) e^c keeps hubs of thousands of neighbours within range; the logarithm adds c back.
    shift = dense.sum(-1).amax(-1).sqrt()  # (G,)
    eye = torch.eye(largest, dtype=torch.float64, device=members.device)
    closed = torch.linalg.matrix_exp(dense - shift[:, None, None] * eye).diagonal(dim1=1, dim2=2)
    nodes = (in_graph >= 0).nonzero().squeeze(1)
    where = in_graph.index_select(0, nodes)
    value = closed[where, local.index_select(0, nodes)]
    scores[nodes] = value.clamp(min=torch.finfo(torch.float64).tiny).log() + shift.index_select(0, where)


def _ranked(score: NodeScore) -> PolicyKind:
    return PolicyKind(PickSettings, lambda settings, _inputs: RankedPolicy(score, settings.picks), presets="random")


POLICIES.register("degree", _ranked(degree))
POLICIES.register("centrality", _ranked(subgraph_centrality))
