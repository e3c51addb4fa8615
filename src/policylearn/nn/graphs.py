"""A batch of graphs, prepared once for all networks that look at it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.bags import Bag
from policylearn.kernels import Adjacency, Layout


@dataclass(frozen=True)
class Members:
    """Which node belongs to which graph.

    Args:
        batch: the graph of each node.
        ptr: where the nodes of each graph start.

    Shapes:
        batch ``(N,)``, ptr ``(G + 1,)``.
    """

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

    def repeat(self, times: int) -> Members:
        """All graphs ``times`` over; graph g of round k becomes graph ``k * G + g``."""
        if times == 1:
            return self
        rounds = torch.arange(times, device=self.batch.device).unsqueeze(1)
        batch = (self.batch + rounds * self.num_graphs).reshape(-1)
        ptr = torch.cat([self.ptr[:1], (self.ptr[1:] + rounds * self.num_nodes).reshape(-1)])
        return Members(batch, ptr)


@dataclass(frozen=True)
class Graphs:
    """The tensors of a PyG ``Batch`` under their usual names, with the edges sorted for neighbour sums.

    Args:
        x: node features.
        edge_attr: edge features, None where there are none.
        members: which node belongs to which graph.
        adjacency: the edges.
        edge_index: the edges as given.

    Shapes:
        x ``(N, F)``, edge_attr ``(E, D)``, edge_index ``(2, E)``.
    """

    x: Tensor
    edge_attr: Tensor | None
    members: Members
    adjacency: Adjacency
    edge_index: Tensor

    @staticmethod
    def of(batch: Graphs | Batch | Data) -> Graphs:
        """Prepare a PyG ``Batch`` (or a single ``Data``); what is prepared already is given back."""
        if isinstance(batch, Graphs):
            return batch
        if batch.edge_index is None:
            raise ValueError(
                "the batch has no 'edge_index'; give an empty one of shape (2, 0) for graphs without edges"
            )
        edge_index = batch.edge_index
        nodes = int(batch.num_nodes)
        x = batch.x if batch.x is not None else torch.ones(nodes, 1, device=edge_index.device)
        assignment = getattr(batch, "batch", None)
        if assignment is None:
            assignment = torch.zeros(nodes, dtype=torch.long, device=edge_index.device)
        ptr = getattr(batch, "ptr", None)
        if ptr is None:
            count = int(assignment.max()) + 1 if nodes else 0
            sizes = torch.bincount(assignment, minlength=count)
            ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        empty = (ptr[1:] == ptr[:-1]).nonzero()
        if len(empty):
            raise ValueError(f"graph {int(empty[0])} of the batch has no nodes; drop empty graphs before batching")
        edge_attr = batch.edge_attr
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.unsqueeze(1)
        x = x.unsqueeze(1) if x.dim() == 1 else x
        return Graphs(x, edge_attr, Members(assignment, ptr), Adjacency.of(edge_index, nodes), edge_index)

    @property
    def batch(self) -> Tensor:
        """The graph of each node, ``(N,)``."""
        return self.members.batch

    @property
    def ptr(self) -> Tensor:
        """Where the nodes of each graph start, ``(G + 1,)``."""
        return self.members.ptr

    @property
    def num_graphs(self) -> int:
        return self.members.num_graphs

    @property
    def num_nodes(self) -> int:
        return self.members.num_nodes

    @property
    def sizes(self) -> Tensor:
        """Nodes of each graph, ``(G,)``."""
        return self.members.sizes

    def repeat(self, times: int) -> Graphs:
        """The whole batch ``times`` over; graph g of round k becomes graph ``k * G + g``."""
        rounds = torch.arange(times, device=self.batch.device).unsqueeze(1)
        shifted = self.edge_index.unsqueeze(1) + rounds * self.num_nodes  # (2, K, E)
        edge_index = shifted.reshape(2, -1)
        return Graphs(
            x=self.x.repeat(times, 1),
            edge_attr=None if self.edge_attr is None else self.edge_attr.repeat(times, 1),
            members=self.members.repeat(times),
            adjacency=Adjacency.of(edge_index, self.num_nodes * times),
            edge_index=edge_index,
        )


def rows_of(graphs: Graphs, bag: Bag) -> Layout:
    """How the rows of a bag of these graphs hang together."""
    return Layout(graphs.adjacency, bag.row_ptr, bag.width)
