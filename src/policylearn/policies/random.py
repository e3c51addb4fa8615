"""Uniform picks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Graphs, Selection
from policylearn.nn import segment_argmax, segment_sum
from policylearn.policies.protocol import check_picks, unpicked
from policylearn.policies.registry import POLICIES, PickSettings, PolicyKind
from policylearn.settings.schema import Seed


class RandomPolicy(nn.Module):
    """Picks nodes uniformly at random.

    In evaluation the draw is a function of the seed and of the graph's own structure, so that a graph gets the same
    picks alone and in any batch.

    Args:
        picks: T.
        replacement: whether a node may be picked again; without, nodes repeat only once all are used.
        seed: of the draws in evaluation.
    """

    def __init__(self, picks: int, *, replacement: bool = False, seed: int = 0) -> None:
        super().__init__()
        check_picks(picks)
        self.picks, self.replacement, self.seed = picks, replacement, seed

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        """Draw T nodes per graph; in evaluation ``generator`` plays no part unless it is given."""
        fixed = not self.training and generator is None
        if not self.picks:
            return Selection.nothing(graphs.ptr)
        uniform = node_uniform(graphs, self.picks, seed=self.seed if fixed else None, generator=generator)  # (N, T)
        picked: list[Tensor] = []
        for keys in uniform.unbind(1):
            free = unpicked([] if self.replacement else picked, graphs.members)
            picked.append(segment_argmax(keys.where(free, -torch.inf), graphs.batch, graphs.num_graphs))
        return Selection(torch.stack(picked))

    def extra_repr(self) -> str:
        return f"picks={self.picks}, replacement={self.replacement}, seed={self.seed}"


class RandomSettings(PickSettings, frozen=True):
    """Nodes are picked uniformly at random."""

    mask_selected: bool = True
    """Draw without replacement."""
    seed: Seed = 0
    """Of the draws in evaluation."""


POLICIES.register(
    "random",
    PolicyKind(
        RandomSettings,
        lambda settings, _inputs: RandomPolicy(
            settings.picks, replacement=not settings.mask_selected, seed=settings.seed
        ),
    ),
)


def node_uniform(graphs: Graphs, columns: int, *, seed: int | None, generator: torch.Generator | None = None) -> Tensor:
    """Numbers in [0, 1), ``(N, columns)``, float64.

    Args:
        graphs: the batch.
        columns: how many per node.
        seed: with it they are a function of the seed and of each graph's structure, whatever batch it is in; without,
            they are drawn.
        generator: to draw from.
    """
    if seed is None:
        device = graphs.batch.device
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
