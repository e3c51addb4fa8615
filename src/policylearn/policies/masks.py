"""Choices of many nodes at once: which nodes of a graph each copy keeps."""

from __future__ import annotations

import torch
from torch import Tensor

from policylearn.bags import Members


def keep_best(scores: Tensor, members: Members, keep: int, tolerance: float = 1e-5) -> Tensor:
    """1 at the best nodes of each graph and 0 elsewhere, every column by itself, ``(N, T) -> (N, T)``.

    Nodes that tie with the last one kept are all kept. Alike nodes have scores that are equal only up to rounding, and
    rounding changes with the rest of the batch: hence the tolerance, ``tolerance * (1 + |score|)``.

    A positive ``keep`` is how many are kept at most, a negative one how many are lost; at least one is kept.
    """
    kept = members.sizes.clamp(max=keep) if keep > 0 else (members.sizes + keep).clamp(min=1)  # (G,)
    falling = torch.argsort(scores, dim=0, descending=True)
    by_graph = torch.argsort(members.batch[falling], dim=0, stable=True)
    order = falling.gather(0, by_graph)  # graph by graph, the best first
    least = scores.gather(0, order).index_select(0, members.ptr[:-1] + kept - 1)  # (G, T)
    floor = least - tolerance * (1 + least.abs())
    return (scores >= floor.index_select(0, members.batch)).to(scores.dtype)
