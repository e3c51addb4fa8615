"""Decks: a graph without some of its nodes, in many ways."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Bag, Graphs, induced_bag
from policylearn.policies.random import structure_hash


@dataclass(frozen=True)
class Deck:
    """Which nodes each member of the graphs' decks lacks.

    Args:
        graph: the graph of each member, in order.
        gone: the nodes that it lacks, counted through the batch; `NO_PICK` for none.

    Shapes:
        graph ``(S,)``, gone ``(S, k)``.
    """

    graph: Tensor
    gone: Tensor

    def bag(self, graphs: Graphs) -> Bag:
        """Each member as a copy, with the edges between the nodes that are left; no marks."""
        sizes = graphs.sizes.index_select(0, self.graph)
        copy = torch.repeat_interleave(torch.arange(len(self.graph), device=sizes.device), sizes)
        first = graphs.ptr.index_select(0, self.graph) - (sizes.cumsum(0) - sizes)
        node = torch.arange(len(copy), device=sizes.device) + first.index_select(0, copy)
        left = ~(node.unsqueeze(1) == self.gone.index_select(0, copy)).any(1)
        slots = torch.bincount(self.graph, minlength=graphs.num_graphs)
        rootless = slots.new_full((int(slots.max()), graphs.num_graphs), NO_PICK)
        return induced_bag(graphs, slots, rootless, copy[left], node[left])

    def num_rows(self, graphs: Graphs) -> int:
        """Rows of the bag, before there is one."""
        sizes = graphs.sizes.index_select(0, self.graph).sum()
        return int(sizes - (self.gone != NO_PICK).sum())


class RandomDeck(nn.Module):
    """Removes k nodes in as many ways as there are, or in some that are drawn.

    A graph of no more than k nodes is the only member of its deck. In evaluation a draw is a function of the seed and
    of the graph's own structure, so that a graph has the same deck alone and in any batch.

    Args:
        removed: k.
        size: the most members of a deck; where a graph has no more ways than that, all are taken.
        by_order: draw as the authors' code does, which takes {a, b} and {b, a} for two ways: members may come twice,
            and a deck may lack some even where all would fit.
        seed: of the draws in evaluation.
    """

    def __init__(self, removed: int, size: int, *, by_order: bool = False, seed: int = 0) -> None:
        super().__init__()
        if removed < 1 or size < 1:
            raise ValueError(f"a deck needs 'removed' >= 1 and a size >= 1 (got {removed} and {size})")
        self.removed, self.size, self.by_order, self.seed = removed, size, by_order, seed

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Deck:
        """The deck of every graph; in evaluation ``generator`` plays no part unless it is given."""
        fixed = not self.training and generator is None
        hashes = structure_hash(graphs).tolist() if fixed else None
        members = []
        for graph, nodes in enumerate(graphs.sizes.tolist()):
            if hashes is not None:
                generator = torch.Generator().manual_seed((hashes[graph] + self.seed) % 2**63)
            members.append(self.ways(nodes, generator))
        counts = torch.tensor([len(one) for one in members])
        gone = torch.cat(members).to(graphs.ptr.device)
        of = torch.repeat_interleave(torch.arange(len(counts)), counts).to(graphs.ptr.device)
        shifted = gone + graphs.ptr.index_select(0, of).unsqueeze(1)
        return Deck(of, torch.where(gone == NO_PICK, gone, shifted))

    def ways(self, nodes: int, generator: torch.Generator | None) -> Tensor:
        """The removals of one graph, counted within it, ``(members, k)``."""
        k, total = self.removed, comb(nodes, self.removed)
        if nodes <= k:
            return torch.full((1, k), NO_PICK)
        if not self.by_order and total <= 4 * self.size:
            every = torch.combinations(torch.arange(nodes), k)
            chosen = torch.randperm(total, generator=generator)[: self.size].sort().values
            return every if total <= self.size else every.index_select(0, chosen)
        drawn: dict[tuple[int, ...], None] = {}  # far more ways than members: draw until enough differ
        while len(drawn) < min(self.size, total):
            way = torch.randperm(nodes, generator=generator)[:k].tolist()
            drawn[tuple(way if self.by_order else sorted(way))] = None
        return torch.tensor(list(drawn))

    def extra_repr(self) -> str:
        return f"removed={self.removed}, size={self.size}, by_order={self.by_order}, seed={self.seed}"
