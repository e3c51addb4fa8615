"""The copies of a batch of graphs, as rows. Slot 0 is the unmarked graph; this file is the home of that convention.

A row is one node in one copy. Rows are ordered by node, and the copies of a node lie side by side. Where copies
have the edges of the graph itself, they share one adjacency and the copies of a node can be handled as one wide row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from policylearn.bags.adjacency import Adjacency
from policylearn.bags.graphs import Graphs
from policylearn.bags.selection import NO_PICK, Selection


@dataclass(frozen=True, eq=False)
class Bag:
    """Copies of each graph of a batch.

    Args:
        marks: what tells a row from the same node in other copies, such as 1 at the root; may carry gradient.
        row_ptr: where the rows of each node start.
        slots: number of copies of each graph.
        slot_roots: the node that each copy belongs to, `NO_PICK` for the unmarked graph and where there is no copy.
        graph: the graph of each node.
        adjacency: over the nodes where copies share the graph's edges, over the rows where each has its own;
            ``adjacency.edge`` points into the graph's ``edge_index`` in both cases.
        width: the number of copies where copies share edges and all graphs have equally many, else None.
        own_copy: the copy of each row where copies have edges of their own, else None.

    Shapes:
        marks ``(R, M)``, row_ptr ``(N + 1,)``, slots ``(G,)``, slot_roots ``(most copies of a graph, G)``, graph
        ``(N,)``, own_copy ``(R,)``.
    """

    marks: Tensor
    row_ptr: Tensor
    slots: Tensor
    slot_roots: Tensor
    graph: Tensor
    adjacency: Adjacency
    width: int | None
    own_copy: Tensor | None = None

    @staticmethod
    def uniform(graphs: Graphs, marks: Tensor, roots: Tensor) -> Bag:
        """Equally many copies of every graph that share its edges, marks ``(N * S, M)`` and roots ``(S, G)``."""
        width = len(roots)
        row_ptr = torch.arange(graphs.num_nodes + 1, device=graphs.batch.device) * width
        slots = graphs.ptr.new_full((graphs.num_graphs,), width)
        return Bag(marks, row_ptr, slots, roots, graphs.batch, graphs.adjacency, width)

    @property
    def num_rows(self) -> int:
        return len(self.marks)

    @property
    def num_nodes(self) -> int:
        return len(self.row_ptr) - 1

    @property
    def shares_edges(self) -> bool:
        """Whether all copies have the edges of the graph itself."""
        return self.own_copy is None

    @cached_property
    def rows_per_node(self) -> Tensor:
        """In how many copies each node is, ``(N,)``."""
        return self.row_ptr[1:] - self.row_ptr[:-1]

    @cached_property
    def node(self) -> Tensor:
        """The node of each row, ``(R,)``."""
        nodes = torch.arange(self.num_nodes, device=self.row_ptr.device)
        return torch.repeat_interleave(nodes, self.rows_per_node, output_size=self.num_rows)

    @cached_property
    def copy_ptr(self) -> Tensor:
        """Where the copies of each graph start, ``(G + 1,)``."""
        return torch.cat([self.slots.new_zeros(1), self.slots.cumsum(0)])

    @cached_property
    def copy(self) -> Tensor:
        """The copy of each row, counted through the batch, graph by graph, ``(R,)``."""
        if self.own_copy is not None:
            return self.own_copy
        rows = torch.arange(self.num_rows, device=self.row_ptr.device)
        first = self.copy_ptr.index_select(0, self.graph) - self.row_ptr[:-1]  # (N,)
        return rows + first.index_select(0, self.node)

    @cached_property
    def graph_of_row(self) -> Tensor:
        """The graph of each row, ``(R,)``."""
        return self.graph.index_select(0, self.node)

    @cached_property
    def slot(self) -> Tensor:
        """Which of its graph's copies each row is in, ``(R,)``."""
        return self.copy - self.copy_ptr.index_select(0, self.graph_of_row)

    @cached_property
    def roots(self) -> Tensor:
        """The root of each copy, `NO_PICK` for unmarked graphs, ``(S,)``."""
        slots = torch.arange(len(self.slot_roots), device=self.slots.device)
        return self.slot_roots.t()[slots < self.slots.unsqueeze(1)]  # (most, G) -> (S,)

    @cached_property
    def root(self) -> Tensor:
        """The root of each row's copy, `NO_PICK` in unmarked graphs, ``(R,)``."""
        return self.roots.index_select(0, self.copy)

    @cached_property
    def graph_of_copy(self) -> Tensor:
        """The graph of each copy, ``(S,)``."""
        graphs = torch.arange(len(self.slots), device=self.slots.device)
        return torch.repeat_interleave(graphs, self.slots, output_size=len(self.roots))

    @cached_property
    def row_adjacency(self) -> Adjacency:
        """An adjacency of single rows."""
        return self.adjacency.expand(self.row_ptr) if self.shares_edges else self.adjacency

    def wide(self) -> tuple[Adjacency, int]:
        """An adjacency, and how many copies lie side by side in each of its rows.

        With shared edges and equally many copies those of a node are one wide row over the nodes' own adjacency.
        """
        return (self.row_adjacency, 1) if self.width is None else (self.adjacency, self.width)

    def spread(self, nodes: Tensor) -> Tensor:
        """Give each row its node's own values, ``(N, C) -> (R, C)``."""
        return torch.repeat_interleave(nodes, self.rows_per_node, dim=0, output_size=self.num_rows)

    def keep_edges(self, kept: Tensor) -> Bag:
        """The same copies without some of their edges.

        Shapes:
            kept booleans, one per edge of `row_adjacency`.
        """
        rows = self.row_adjacency
        if kept.dtype != torch.bool or kept.shape != rows.source.shape:
            need, got = tuple(rows.source.shape), tuple(kept.shape)
            raise ValueError(f"'kept' must be torch.bool of shape {need}, one per edge (got {kept.dtype} of {got})")
        edge = kept.nonzero().squeeze(1)
        fewer = rows.induced(rows.source[edge], rows.target[edge], edge, self.num_rows)
        return replace(self, adjacency=fewer, width=None, own_copy=self.copy)

    def first_copies(self, rows: Tensor, copies: int) -> Tensor:
        """The rows of the first copies of each graph alone, ``(R, C) -> (R', C)``."""
        if self.width is None:
            return rows[self.slot < copies]
        return rows.view(self.num_nodes, self.width, -1)[:, :copies].flatten(0, 1)


def with_unmarked(roots: Tensor) -> Tensor:
    """Roots of a bag's copies with that of slot 0 in front, ``(T, G) -> (T + 1, G)``."""
    return torch.cat([roots.new_full((1, *roots.shape[1:]), NO_PICK), roots])


def copies_per_graph(selection: Selection, *, unmarked: bool) -> Tensor:
    """How many copies each graph has, ``(G,)``."""
    return (selection.roots != NO_PICK).sum(0) + int(unmarked)


class RowLimitError(ValueError):
    """A batch has more rows than are allowed."""


def check_rows(rows: int, max_rows: int, channels: int) -> None:
    """Raise a `RowLimitError` where a batch needs more rows of states than are allowed, before they are allocated."""
    if rows > max_rows:
        gigabytes = rows * channels * 4 / 1e9
        raise RowLimitError(
            f"the copies of this batch have {rows:,} rows (one per node and copy), {gigabytes:.3g} GB for the states of"
            f" each layer in single precision, but 'max_rows' is {max_rows:,}; use smaller batches, raise 'max_rows',"
            " or choose a model that looks at few copies"
        )
