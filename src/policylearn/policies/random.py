"""Uniform picks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, Selection
from policylearn.nn import segment_sum
from policylearn.policies.protocol import best_in_turn, check_picks
from policylearn.policies.registry import POLICIES, PickSettings, PolicyInputs, PolicyKind
from policylearn.settings.schema import Seed


class RandomPolicy(nn.Module):
    """Picks nodes uniformly at random.

    In evaluation, unless a generator is given, the draw is a function of the seed and of the graph's own structure, so
    that a graph gets the same picks alone and in any batch. Without replacement nodes repeat only once all are used.
    """

    def __init__(self, picks: int, *, replacement: bool = False, seed: int = 0) -> None:
        super().__init__()
        check_picks(picks)
        self.picks, self.replacement, self.seed = picks, replacement, seed

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        seed = self.seed if not self.training and generator is None else None
        uniform = node_uniform(graphs, self.picks, seed=seed, generator=generator)  # (N, T)
        return best_in_turn(uniform.unbind(1), graphs, again=self.replacement)


class RandomSettings(PickSettings, frozen=True):
    """Nodes are picked uniformly at random."""

    mask_selected: bool = True
    """Draw without replacement."""
    seed: Seed = 0
    """Of the draws in evaluation."""


def _build(settings: RandomSettings, _inputs: PolicyInputs) -> RandomPolicy:
    return RandomPolicy(settings.picks, replacement=not settings.mask_selected, seed=settings.seed)


POLICIES.register("random", PolicyKind(RandomSettings, _build))


def node_uniform(graphs: Graphs, columns: int, *, seed: int | None, generator: torch.Generator | None = None) -> Tensor:
    """Numbers in [0, 1), ``(N, columns)``, float64.

    With a seed they are a function of it and of each graph's structure, whatever the batch; without they are drawn.
    """
    device = graphs.batch.device
    if seed is None or not columns:
        return torch.rand(graphs.num_nodes, columns, generator=generator, device=device, dtype=torch.float64)
    seeds = structure_hash(graphs) + seed * 1_000_003
    return torch.stack([hashed_uniform(seeds + column, graphs) for column in range(columns)], dim=1)


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
