"""The picks of a policy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from policylearn.bags.adjacency import may_read

NO_PICK = -1
"""Stands in ``Selection.roots`` where a graph makes fewer picks than others of its batch."""


@dataclass(frozen=True)
class Selection:
    """The nodes that a policy picked, one column per graph and one row per copy; between choosing and applying.

    Args:
        roots: picked node ids, counted through the whole batch; `NO_PICK` once a graph has no more picks.
        logits: scores of all nodes at each step, -inf where a node could not be picked; None if the policy has none.
        log_prob: log-probability of each pick under the distribution that it was drawn from; None if it was not drawn.
        marks: differentiable marks that equal the hard ones in value; None means plain ones.

    Shapes:
        roots and log_prob ``(T, G)``, logits and marks ``(T, N)``.
    """

    roots: Tensor
    logits: Tensor | None = None
    log_prob: Tensor | None = None
    marks: Tensor | None = None

    @property
    def picks(self) -> int:
        """T, the number of marked copies of a graph (at most)."""
        return len(self.roots)

    @cached_property
    def complete(self) -> bool:
        """Whether every graph has T picks; looked up once, since a GPU must be waited for."""
        return self.roots.numel() == 0 or not bool((self.roots == NO_PICK).any())

    def validate(self, ptr: Tensor) -> Selection:
        """Return self, or raise a `ValueError` that names the pick that does not fit the batch.

        Args:
            ptr: where the nodes of each graph start, ``(G + 1,)``.
        """
        graphs = len(ptr) - 1
        if self.roots.ndim != 2 or self.roots.shape[1] != graphs:
            raise ValueError(f"'roots' must have shape (T, {graphs}) (got {tuple(self.roots.shape)})")
        if self.roots.dtype != torch.long:
            raise ValueError(f"'roots' must hold node ids as int64 (got {self.roots.dtype}); use roots.long()")
        if not may_read(ptr):
            return self
        nodes = int(ptr[-1])
        for name in ("logits", "marks"):
            value = getattr(self, name)
            if value is not None and value.shape != (self.picks, nodes):
                raise ValueError(f"'{name}' must have shape ({self.picks}, {nodes}) (got {tuple(value.shape)})")
        inside = (self.roots >= ptr[:-1]) & (self.roots < ptr[1:])
        if not bool(inside.all()):  # mostly all are, and that is all there is to know
            self._validate_ragged(ptr, inside)
        return self

    def _validate_ragged(self, ptr: Tensor, inside: Tensor) -> None:
        """See `validate`, where some entries are no nodes of their graph; ``inside`` says which are, ``(T, G)``."""
        wrong = (~inside & (self.roots != NO_PICK)).nonzero()
        if len(wrong):
            step, graph = wrong[0].tolist()
            raise ValueError(
                f"pick {step} of graph {graph} is node {int(self.roots[step, graph])}, but that graph holds nodes"
                f" {int(ptr[graph])} to {int(ptr[graph + 1]) - 1}; count node ids through the whole batch"
            )
        if bool((inside[1:] & ~inside[:-1]).any()):
            raise ValueError("a graph has a pick after its last one; put NO_PICK only after all of a graph's picks")
        if self.marks is not None:
            raise ValueError("'marks' need a pick of every graph at every step; leave them out for ragged selections")

    def local_roots(self, ptr: Tensor) -> Tensor:
        """Picks as node ids counted within each graph, ``(T, G)``; `NO_PICK` stays."""
        return torch.where(self.roots == NO_PICK, self.roots, self.roots - ptr[:-1])

    def steps(self, start: int, end: int) -> Selection:
        """The copies of some steps alone, without scores and probabilities."""
        marks = None if self.marks is None else self.marks[start:end]
        return Selection(self.roots[start:end], marks=marks)

    @staticmethod
    def nothing(ptr: Tensor) -> Selection:
        """No pick of any graph, T = 0."""
        return Selection(ptr.new_zeros(0, len(ptr) - 1))

    @staticmethod
    def full(ptr: Tensor) -> Selection:
        """Every node of every graph, in the order of the batch; T is the size of the largest graph."""
        sizes = ptr.diff()
        steps = torch.arange(int(sizes.max()), device=ptr.device).unsqueeze(1)  # (T, 1)
        return Selection(torch.where(steps < sizes, ptr[:-1] + steps, NO_PICK))
