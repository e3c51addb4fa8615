"""Bags of which the rows came with the data: transforms found them once per dataset."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from policylearn.bags.bag import Bag
from policylearn.bags.graphs import Graphs
from policylearn.bags.rules import induced_bag
from policylearn.bags.selection import NO_PICK


def attached(graphs: Graphs, name: str, transform: str) -> Tensor:
    """What a transform attached to the batch under that name, or a `ValueError` that says which one to apply."""
    if name not in graphs.extras:
        raise ValueError(
            f"the batch has no '{name}'; apply the transform '{transform}' to the data before batching"
            " (policylearn.data.transforms), with the settings that the model's system names"
        )
    return graphs.extras[name]


def attached_ego_nets(graphs: Graphs, marks: Sequence[str] = ("ego_distance",)) -> Bag:
    """The ego net of every node as a copy of its own, from what the transform 'ego_nets' attached.

    A copy has the number of its root, so that states can be pooled by root and by node alike.

    Args:
        graphs: the batch.
        marks: which structures of the rows become their marks, one column each.
    """
    root, node = (attached(graphs, name, "ego_nets") for name in ("ego_root", "ego_node"))
    columns = [attached(graphs, name, "ego_nets").view(len(root), 1) for name in marks]
    values = torch.cat([column if column.is_floating_point() else column.float() for column in columns], dim=1)
    return induced_bag(graphs, graphs.sizes, every_root(graphs), root, node, values)


def every_root(graphs: Graphs) -> Tensor:
    """All nodes as roots, one column per graph, `NO_PICK` where a graph has no more, ``(most nodes, G)``."""
    steps = torch.arange(int(graphs.sizes.max()), device=graphs.ptr.device).unsqueeze(1)
    return torch.where(steps < graphs.sizes, graphs.ptr[:-1] + steps, NO_PICK)
