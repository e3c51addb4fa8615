"""Uniform picks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, Selection
from policylearn.nn import segment_sum
from policylearn.policies.draws import Pick, selection_of, top_nodes
from policylearn.policies.protocol import check_picks, unpicked


class RandomPolicy(nn.Module):
    """Picks nodes uniformly at random.

    In evaluation the draw is a function of the seed and of the graph's own structure, so that a graph gets the same
    picks alone and in any batch, today and tomorrow.

    Args:
        picks: T.
        replacement: whether a node may be picked again; without, nodes repeat only once all are used.
        seed: of the draws in evaluation.
        marks_per_copy: k, nodes marked in each copy.
    """

    def __init__(self, picks: int, *, replacement: bool = False, seed: int = 0, marks_per_copy: int = 1) -> None:
        super().__init__()
        check_picks(picks, marks_per_copy)
        self.picks, self.replacement, self.seed, self.marks_per_copy = picks, replacement, seed, marks_per_copy

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Draw T copies per graph; in evaluation ``generator`` plays no part unless it is given."""
        fixed = not self.training and generator is None
        return self._picked(graphs, self.seed if fixed else None, generator)

    def drawn(self, graphs: Graphs, number: int, *, seed: int = 0) -> Selection:
        """See `DrawingPolicy`; the first is the draw of evaluation."""
        return self._picked(graphs, self.seed + seed + number, None)

    def _picked(self, graphs: Graphs, seed: int | None, generator: torch.Generator | None) -> Selection:
        """By a seed and the graphs' structure, or drawn anew."""
        device = graphs.batch.device
        fingerprint = None if seed is None else structure_hash(graphs) + seed * 1_000_003
        chosen: list[Pick] = []
        for step in range(self.picks):
            if fingerprint is None:
                keys = torch.rand(graphs.num_nodes, generator=generator, device=device, dtype=torch.float64)
            else:
                keys = hashed_uniform(fingerprint + step, graphs)
            taken = [] if self.replacement else [pick.nodes for pick in chosen]
            keys = keys.where(unpicked(taken, graphs.members), -torch.inf)
            chosen.append(Pick(top_nodes(keys, graphs.members, self.marks_per_copy)))
        return selection_of(chosen, graphs.members)

    def extra_repr(self) -> str:
        return f"picks={self.picks}, replacement={self.replacement}, seed={self.seed}"


def structure_hash(graphs: Graphs) -> Tensor:
    """A number per graph from its edges and size alone, whatever the order of the edges and the batch, ``(G,)``."""
    graph = graphs.batch.index_select(0, graphs.edge_index[0])
    local = graphs.edge_index - graphs.ptr.index_select(0, graph)
    edges = segment_sum(_mix(_mix(local[0]) + local[1]), graph, graphs.num_graphs)
    return _mix(edges + _mix(graphs.sizes))


def hashed_uniform(seeds: Tensor, graphs: Graphs) -> Tensor:
    """A number in [0, 1) per node from its graph's seed, ``(G,)``, and its place in the graph, ``(N,)``."""
    local = torch.arange(graphs.num_nodes, device=graphs.batch.device) - graphs.ptr.index_select(0, graphs.batch)
    bits = _mix(_mix(seeds).index_select(0, graphs.batch) + local)
    return _shift_right(bits, 11).to(torch.float64) / 2**53


def _mix(z: Tensor) -> Tensor:
    """Scramble 64-bit integers (the finaliser of splitmix64; products wrap around)."""
    z = z + -7046029254386353131
    z = (z ^ _shift_right(z, 30)) * -4658895280553007687
    z = (z ^ _shift_right(z, 27)) * -7723592293110705685
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, bits: int) -> Tensor:
    # torch has no unsigned shift on int64: drop the copies of the sign bit.
    return (z >> bits) & ((1 << (64 - bits)) - 1)
