"""The picks of a policy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

NO_PICK = -1
"""Stands in ``Selection.roots`` where a graph makes fewer picks than others of its batch."""


@dataclass(frozen=True)
class Selection:
    """The nodes that a policy picked, a column a graph and a row a step; what lies between choosing and applying.

    Args:
        roots: picked node ids, counted through the whole batch; `NO_PICK` once a graph has no more picks.
        logits: scores of all nodes at each step, -inf where a node could not be picked; None if the policy has none.
        log_prob: log-probability of each pick under the distribution that it was drawn from; None if it was not drawn.
        marks: differentiable marks that equal the one-hot picks in value; None means plain one-hot.

    Shapes:
        roots and log_prob ``(T, G)``, logits and marks ``(T, N)``.
    """

    roots: Tensor
    logits: Tensor | None = None
    log_prob: Tensor | None = None
    marks: Tensor | None = None

    @property
    def picks(self) -> int:
        """T, the number of steps."""
        return len(self.roots)

    def validate(self, ptr: Tensor) -> Selection:
        """Return self, or raise a `ValueError` that names the pick that does not fit the batch.

        Args:
            ptr: where the nodes of each graph start, ``(G + 1,)``.
        """
        graphs, nodes = len(ptr) - 1, int(ptr[-1])
        if self.roots.ndim != 2 or self.roots.shape[1] != graphs:
            raise ValueError(
                f"'roots' must have shape (T, {graphs}), a row a step, a column a graph (got {tuple(self.roots.shape)})"
            )
        if self.roots.dtype != torch.long:
            raise ValueError(f"'roots' must hold node ids as int64 (got {self.roots.dtype}); use roots.long()")
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
            raise ValueError("a graph has a pick after its last one; put NO_PICK only behind all of a graph's picks")
        if self.marks is not None:
            raise ValueError("'marks' need a pick of every graph at every step; leave them out for ragged selections")

    def local_roots(self, ptr: Tensor) -> Tensor:
        """Picks as node ids counted within each graph, ``(T, G)``; `NO_PICK` stays."""
        return torch.where(self.roots == NO_PICK, self.roots, self.roots - ptr[:-1])

    def merge(self, samples: int, num_nodes: int) -> Selection:
        """Take a selection over a batch that stands ``samples`` times as more picks of the batch once.

        Args:
            samples: K.
            num_nodes: N, of the batch once.

        Shapes:
            from roots ``(T, K * G)`` to ``(K * T, G)``, all steps of the first sample first; marks likewise.
        """

        def side_by_side(values: Tensor) -> Tensor:
            return values.view(len(values), samples, -1).transpose(0, 1).flatten(0, 1)

        roots = torch.where(self.roots == NO_PICK, self.roots, self.roots % num_nodes)
        return Selection(side_by_side(roots), marks=None if self.marks is None else side_by_side(self.marks))
