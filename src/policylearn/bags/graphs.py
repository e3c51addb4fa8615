"""A batch of graphs, prepared once for all networks that look at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from policylearn.bags.adjacency import Adjacency, may_read, pointers

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data

KNOWN = {"x", "x_real", "edge_index", "edge_attr", "batch", "ptr", "y"}
"""What a PyG ``Batch`` holds under names of our own meaning; every other tensor of it is an extra."""


@dataclass(frozen=True)
class Members:
    """Which node belongs to which graph: the graph of each node ``(N,)``, and where each graph starts ``(G + 1,)``."""

    batch: Tensor
    ptr: Tensor

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        return len(self.batch)

    @property
    def sizes(self) -> Tensor:
        """Nodes of each graph, ``(G,)``."""
        return self.ptr[1:] - self.ptr[:-1]


@dataclass(frozen=True)
class Graphs(Members):
    """The tensors of a PyG ``Batch`` under their usual names, with the edges sorted for neighbour sums.

    Args:
        batch: the graph of each node.
        ptr: where the nodes of each graph start.
        x: node features.
        edge_attr: edge features, None where there are none.
        adjacency: the edges, sorted.
        edge_index: the edges as given.
        real: numbers per node beside category ids in ``x`` (the batch's ``x_real``), None where there are none.
        extras: every further tensor of the batch, such as what transforms of the data attached.

    Shapes:
        batch ``(N,)``, ptr ``(G + 1,)``, x ``(N, F)``, edge_attr ``(E, D)``, edge_index ``(2, E)``, real ``(N, F')``.
    """

    x: Tensor
    edge_attr: Tensor | None
    adjacency: Adjacency
    edge_index: Tensor
    real: Tensor | None = None
    extras: Mapping[str, Tensor] = field(default_factory=dict)

    @staticmethod
    def of(batch: Graphs | Batch | Data | Mapping[str, Tensor]) -> Graphs:
        """Prepare a PyG ``Batch``, a single ``Data``, or the tensors of one by name.

        What is prepared already is given back.
        """
        if isinstance(batch, Graphs):
            return batch
        given = batch if isinstance(batch, Mapping) else dict(iter(batch))
        edge_index, x, of_node, ptr = (given.get(name) for name in ("edge_index", "x", "batch", "ptr"))
        if edge_index is None:
            raise ValueError("the batch has no 'edge_index'; give one of shape (2, 0) where there are no edges")
        if x is None:
            if isinstance(batch, Mapping):
                raise ValueError("the tensors have no 'x'; give a column of ones for nodes without features")
            x = torch.ones(int(batch.num_nodes), 1, device=edge_index.device)
        nodes = len(x)
        if of_node is None:
            of_node = torch.zeros(nodes, dtype=torch.long, device=edge_index.device)
        if ptr is None:
            ptr = pointers(of_node, int(of_node.max()) + 1 if nodes else 0)
        empty = (ptr[1:] == ptr[:-1]).nonzero() if may_read(ptr) else None
        if empty is not None and len(empty):
            raise ValueError(f"graph {int(empty[0])} of the batch has no nodes; drop empty graphs before batching")
        edge_attr = given.get("edge_attr")
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.unsqueeze(1)
        x = x.unsqueeze(1) if x.dim() == 1 else x
        extras = {name: value for name, value in given.items() if name not in KNOWN and isinstance(value, Tensor)}
        adjacency = Adjacency.of(edge_index, nodes)
        return Graphs(of_node, ptr, x, edge_attr, adjacency, edge_index, given.get("x_real"), extras)
