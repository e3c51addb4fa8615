"""One step of picking: the node that each graph takes, by its best score or drawn."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.nn import segment_log_softmax


@dataclass(frozen=True)
class Pick:
    """The picks of one step.

    Shapes:
        nodes and log_prob ``(G,)``; logits and marks ``(N,)``.
    """

    nodes: Tensor
    logits: Tensor | None = None
    log_prob: Tensor | None = None
    marks: Tensor | None = None


def gumbel(size: int, generator: torch.Generator | None, like: Tensor) -> Tensor:
    """Standard Gumbel noise, ``(size,)``."""
    waiting = torch.empty(size, device=like.device, dtype=like.dtype).exponential_(generator=generator)
    return -waiting.clamp(min=torch.finfo(like.dtype).tiny).log()


def log_prob_of(logits: Tensor, nodes: Tensor, members: Members) -> Tensor:
    """Log-probability of drawing these nodes, ``(N,), (G,) -> (G,)``."""
    return segment_log_softmax(logits, members.batch, members.num_graphs).index_select(0, nodes)


def selection_of(picks: list[Pick], members: Members) -> Selection:
    """The picks of all steps as one selection."""
    if not picks:
        return Selection.nothing(members.ptr)

    def stacked(name: str) -> Tensor | None:
        present = [value for value in (getattr(pick, name) for pick in picks) if value is not None]
        return torch.stack(present) if len(present) == len(picks) else None

    nodes = torch.stack([pick.nodes for pick in picks])  # (T, G)
    return Selection(nodes, logits=stacked("logits"), log_prob=stacked("log_prob"), marks=stacked("marks"))
