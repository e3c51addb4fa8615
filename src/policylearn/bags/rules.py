"""Bag rules: from the picks to copies. Any callable with the signature of `BagRule` is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from policylearn.bags.adjacency import Adjacency
from policylearn.bags.bag import Bag, copies_per_graph, with_unmarked
from policylearn.bags.graphs import Graphs
from policylearn.bags.selection import NO_PICK, Selection
from policylearn.registry import Registry
from policylearn.settings.schema import ConfigError, NotNegative, Settings


class BagRule(Protocol):
    """Makes copies of the graphs, one per pick."""

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """The copies of the picks.

        Args:
            graphs: the batch.
            selection: the picks.
            dtype: of the marks.
            unmarked: whether slot 0, the graph as it is, comes first.
        """


class MarkNodes(Settings, frozen=True):
    """Each copy is the whole graph with its picked node marked; all copies share the graph's edges."""

    shares_edges: ClassVar[bool] = True

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """See `BagRule`; marks ``(R, 1)``."""
        roots = with_unmarked(selection.roots) if unmarked else selection.roots
        if selection.marks is not None:
            return self._given(graphs, selection.marks, roots, dtype, unmarked)
        if graphs.num_graphs and selection.complete:
            return self._complete(graphs, selection, roots, dtype, unmarked)
        slots = copies_per_graph(selection, unmarked=unmarked)
        ends = slots.index_select(0, graphs.batch).cumsum(0)
        row_ptr = torch.cat([ends.new_zeros(1), ends])
        marks = torch.zeros(int(row_ptr[-1]), 1, dtype=dtype, device=graphs.batch.device)
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        marks[row_ptr.index_select(0, selection.roots[step, graph]) + step + int(unmarked)] = 1
        equal = len(slots) > 0 and bool((slots == slots[0]).all())
        width = int(slots[0]) if equal else None
        return Bag(marks, row_ptr, slots, roots, graphs.batch, graphs.adjacency, width)

    @staticmethod
    def _complete(graphs: Graphs, selection: Selection, roots: Tensor, dtype: torch.dtype, unmarked: bool) -> Bag:
        """As many copies of every graph: where each row stands is known without looking at any value."""
        width = selection.picks + int(unmarked)
        slots = graphs.ptr.new_full((graphs.num_graphs,), width)
        row_ptr = torch.arange(graphs.num_nodes + 1, device=graphs.batch.device) * width
        marks = torch.zeros(graphs.num_nodes * width, 1, dtype=dtype, device=graphs.batch.device)
        step = torch.arange(int(unmarked), width, device=graphs.batch.device).view(-1, 1)
        marks[(selection.roots * width + step).flatten()] = 1
        return Bag(marks, row_ptr, slots, roots, graphs.batch, graphs.adjacency, width)

    @staticmethod
    def _given(graphs: Graphs, marks: Tensor, roots: Tensor, dtype: torch.dtype, unmarked: bool) -> Bag:
        """Lay out marks that are given for every node of every pick, ``(T, N)``."""
        if unmarked:
            marks = torch.cat([marks.new_zeros(1, graphs.num_nodes), marks])
        width = len(marks)
        slots = graphs.ptr.new_full((graphs.num_graphs,), width)
        row_ptr = torch.arange(graphs.num_nodes + 1, device=graphs.batch.device) * width
        rows = marks.t().reshape(-1, 1).to(dtype)  # (S, N) -> (N * S, 1)
        return Bag(rows, row_ptr, slots, roots, graphs.batch, graphs.adjacency, width)


class EgoNets(Settings, frozen=True):
    """Each copy is what lies within some steps of its picked node."""

    hops: NotNegative = 3
    """How far ego nets reach."""
    mark: bool = True
    """Whether the picked node is marked; gradients that go through marks need it."""

    shares_edges: ClassVar[bool] = False

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """See `BagRule`; marks ``(R, 1)``."""
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        copies = _CopyNumbers(graphs, selection, unmarked)
        copy, node = copies.at(step, graph), selection.roots[step, graph]
        for _ in range(self.hops):
            copy, node = _with_neighbours(graphs.adjacency, copy, node, copies.total)
        if not self.mark and selection.marks is not None:
            raise ValueError("gradients go through marks here, but ego nets without marks have none; use mark=True")
        return copies.bag(copy, node, dtype, mark=self.mark)


class DeleteNodes(Settings, frozen=True):
    """Each copy is the graph without its picked node; nothing is marked."""

    shares_edges: ClassVar[bool] = False

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """See `BagRule`; marks ``(R, 1)``, all zero."""
        if selection.marks is not None:
            raise ValueError(
                "gradients go through marks here, but copies with deleted nodes have none; use a score-function"
                " estimator such as 'reinforce'"
            )
        copies = _CopyNumbers(graphs, selection, unmarked)
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        sizes = graphs.sizes.index_select(0, graph)
        copy = torch.repeat_interleave(copies.at(step, graph), sizes)
        node = _ranges(graphs.ptr.index_select(0, graph), sizes)
        gone = copies.at(step, graph) * graphs.num_nodes + selection.roots[step, graph]
        kept = ~torch.isin(copy * graphs.num_nodes + node, gone)
        return copies.bag(copy[kept], node[kept], dtype, mark=False)


def pieces(
    graphs: Graphs, selection: Selection, max_rows: int, *, unmarked: bool = True
) -> Iterator[tuple[Selection, bool]]:
    """A bag's copies in pieces of at most ``max_rows`` rows (but at least one copy per graph that has any left).

    Gives the picks of each piece, and whether the unmarked graph is in it: in the first one, or in none.
    """
    steps = (selection.roots != NO_PICK).sum(0)  # (G,)
    end = 0
    if unmarked:
        end = min(selection.picks, max(0, max_rows // max(graphs.num_nodes, 1) - 1))
        yield selection.steps(0, end), True
    while end < selection.picks:
        start, active = end, int(graphs.sizes[steps > end].sum())
        end = min(selection.picks, start + max(1, max_rows // max(active, 1)))
        yield selection.steps(start, end), False


RULES = Registry[type[Settings]]("bag rule", error=ConfigError)
"""Bag rules by name; each is a class of settings whose instances are called as a `BagRule`."""
RULES.register("mark", MarkNodes)
RULES.register("ego", EgoNets)
RULES.register("delete", DeleteNodes)
mark_nodes, delete_nodes = MarkNodes(), DeleteNodes()


def induced_bag(
    graphs: Graphs, slots: Tensor, slot_roots: Tensor, copy: Tensor, node: Tensor, marks: Tensor | None = None
) -> Bag:
    """Copies that each hold some nodes of their graph and the edges between them.

    Args:
        graphs: the batch.
        slots: number of copies of each graph.
        slot_roots: the root of each copy, see `Bag`.
        copy: a copy of each row, counted through the batch, graph by graph.
        node: the node of each row; a pair of copy and node comes once.
        marks: of each row; zeros if not given.

    Shapes:
        slots ``(G,)``, slot_roots ``(most copies, G)``, copy and node ``(R,)``, marks ``(R, M)``.
    """
    total = int(slots.sum())
    keys, order = torch.sort(node * total + copy)
    node, copy = node.index_select(0, order), copy.index_select(0, order)
    marks = torch.zeros(len(node), 1, device=node.device) if marks is None else marks.index_select(0, order)
    counts = torch.bincount(node, minlength=graphs.num_nodes)
    row_ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Bag(
        marks, row_ptr, slots, slot_roots, graphs.batch, _induced(graphs.adjacency, keys, node, copy, total), None, copy
    )


def _induced(adjacency: Adjacency, keys: Tensor, node: Tensor, copy: Tensor, total: int) -> Adjacency:
    """The messages of rows whose source is in the same copy; ``keys`` are node * total + copy, sorted."""
    starts, ends = adjacency.target_ptr.index_select(0, node), adjacency.target_ptr.index_select(0, node + 1)
    message = _ranges(starts, ends - starts)
    target = torch.repeat_interleave(torch.arange(len(node), device=node.device), ends - starts)
    wanted = adjacency.source.index_select(0, message) * total + copy.index_select(0, target)
    place = torch.searchsorted(keys, wanted).clamp(max=max(len(keys) - 1, 0))
    there = keys.index_select(0, place) == wanted
    return adjacency.induced(place[there], target[there], message[there], len(node))


def _with_neighbours(adjacency: Adjacency, copy: Tensor, node: Tensor, total: int) -> tuple[Tensor, Tensor]:
    """The rows and the sources of their messages, each pair of copy and node once."""
    starts, ends = adjacency.target_ptr.index_select(0, node), adjacency.target_ptr.index_select(0, node + 1)
    sources = adjacency.source.index_select(0, _ranges(starts, ends - starts))
    keys = torch.cat([node * total + copy, sources * total + torch.repeat_interleave(copy, ends - starts)])
    keys = torch.unique(keys)
    return keys % total, torch.div(keys, total, rounding_mode="floor")


def _ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """``starts[i], starts[i] + 1, ...`` of ``counts[i]`` numbers each, one after the other."""
    first = counts.cumsum(0) - counts
    places = torch.arange(int(counts.sum()), device=starts.device)
    return places + torch.repeat_interleave(starts - first, counts)


class _CopyNumbers:
    """How the copies of a selection are counted, and what is common to rules with edges of their own."""

    def __init__(self, graphs: Graphs, selection: Selection, unmarked: bool) -> None:
        self.graphs, self.selection, self.unmarked = graphs, selection, unmarked
        self.slots = copies_per_graph(selection, unmarked=unmarked)
        self.first = self.slots.cumsum(0) - self.slots
        self.total = max(int(self.slots.sum()), 1)

    def at(self, step: Tensor, graph: Tensor) -> Tensor:
        """The copy of a step of a graph."""
        return self.first.index_select(0, graph) + step + int(self.unmarked)

    def bag(self, copy: Tensor, node: Tensor, dtype: torch.dtype, *, mark: bool) -> Bag:
        """Copies that hold these nodes, with the unmarked graph in front where it is wanted."""
        graphs, selection = self.graphs, self.selection
        if self.unmarked:
            node = torch.cat([torch.arange(graphs.num_nodes, device=node.device), node])
            copy = torch.cat([self.first.index_select(0, graphs.batch), copy])
        marks = torch.zeros(len(node), 1, dtype=dtype, device=node.device)
        if mark:
            step = copy - self.first.index_select(0, graphs.batch.index_select(0, node)) - int(self.unmarked)
            picked = step >= 0
            if selection.marks is not None:
                values = selection.marks[step[picked], node[picked]].to(dtype)
                marks = marks.index_put((picked.nonzero(as_tuple=True)[0],), values.unsqueeze(1))
            else:
                steps, of = (selection.roots != NO_PICK).nonzero(as_tuple=True)
                roots = self.at(steps, of) * graphs.num_nodes + selection.roots[steps, of]
                marks[torch.isin(copy * graphs.num_nodes + node, roots)] = 1
        slot_roots = with_unmarked(selection.roots) if self.unmarked else selection.roots
        return induced_bag(graphs, self.slots, slot_roots, copy, node, marks)
