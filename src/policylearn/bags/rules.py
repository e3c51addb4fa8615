"""Bag rules: from the picks to copies. Any callable with the signature of `BagRule` is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import torch

from policylearn.bags.bag import Bag, copies_per_graph, with_unmarked
from policylearn.bags.graphs import Graphs
from policylearn.bags.own_edges import bag_of_steps, ranges, with_neighbours
from policylearn.bags.selection import NO_PICK, Selection
from policylearn.registry import Registry
from policylearn.settings.schema import ConfigError, NotNegative, Settings

BagKind = Literal["ego+", "ego", "deleted", "marked"]


class BagRule(Protocol):
    """Makes copies of the graphs, one per pick."""

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """The copies of the picks, with marks of that type, behind slot 0 (the graph itself) if ``unmarked``."""


class MarkNodes(Settings, frozen=True):
    """Each copy is the whole graph with its picked node marked, ``(R, 1)``; all copies share the graph's edges."""

    shares_edges: ClassVar[bool] = True

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        roots = with_unmarked(selection.roots) if unmarked else selection.roots
        width, device = len(roots), graphs.batch.device
        if selection.marks is not None:
            given = selection.marks  # (T, N)
            given = torch.cat([given.new_zeros(1, graphs.num_nodes), given]) if unmarked else given
            return Bag.uniform(graphs, given.t().reshape(-1, 1).to(dtype), roots)  # (S, N) -> (N * S, 1)
        if graphs.num_graphs and selection.complete:  # where each row stands is known without looking at any value
            marks = torch.zeros(graphs.num_nodes * width, 1, dtype=dtype, device=device)
            slot = torch.arange(int(unmarked), width, device=device).view(-1, 1)
            marks[(selection.roots * width + slot).flatten()] = 1
            return Bag.uniform(graphs, marks, roots)
        slots = copies_per_graph(selection, unmarked=unmarked)
        ends = slots.index_select(0, graphs.batch).cumsum(0)
        row_ptr = torch.cat([ends.new_zeros(1), ends])
        marks = torch.zeros(int(row_ptr[-1]), 1, dtype=dtype, device=device)
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        marks[row_ptr.index_select(0, selection.roots[step, graph]) + step + int(unmarked)] = 1
        return Bag(marks, row_ptr, slots, roots, graphs.batch, graphs.adjacency, None)


class EgoNets(Settings, frozen=True):
    """Each copy is what lies within some steps of its picked node, which is marked, ``(R, 1)``."""

    hops: NotNegative = 3
    """How far ego nets reach."""
    mark: bool = True
    """Whether the picked node is marked; gradients that go through marks need it."""

    shares_edges: ClassVar[bool] = False

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        if not self.mark and selection.marks is not None:
            raise ValueError("gradients go through marks here, but ego nets without marks have none; use mark=True")
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        node = selection.roots[step, graph]
        for _ in range(self.hops):
            step, node = with_neighbours(graphs.adjacency, step, node)
        return bag_of_steps(graphs, selection, step, node, dtype=dtype, unmarked=unmarked, mark=self.mark)


class DeleteNodes(Settings, frozen=True):
    """Each copy is the graph without its picked node; nothing is marked, ``(R, 1)`` zeros."""

    shares_edges: ClassVar[bool] = False

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        if selection.marks is not None:
            raise ValueError("deleted nodes have no marks to carry gradients; use an estimator such as 'reinforce'")
        step, graph = (selection.roots != NO_PICK).nonzero(as_tuple=True)
        sizes = graphs.sizes.index_select(0, graph)
        node = ranges(graphs.ptr.index_select(0, graph), sizes)
        root, step = (torch.repeat_interleave(one, sizes) for one in (selection.roots[step, graph], step))
        left = node != root
        return bag_of_steps(graphs, selection, step[left], node[left], dtype=dtype, unmarked=unmarked, mark=False)


@dataclass(frozen=True)
class WholeCopies:
    """Each copy holds all nodes of its graph, and the edges that another rule leaves, as in ESAN and SUN.

    Nodes outside an ego net and deleted nodes stay as isolated rows: norms and pooling see them.

    Args:
        rule: whose edges the copies have.
        mark: whether rows have two marks, (1, 0) at marked nodes and (0, 1) elsewhere, or none at all.
    """

    rule: MarkNodes | EgoNets | DeleteNodes
    mark: bool = True

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        whole = mark_nodes(graphs, selection, dtype=dtype, unmarked=unmarked)
        marks = torch.cat([whole.marks, 1 - whole.marks], dim=1) if self.mark else whole.marks[:, :0]
        if self.rule.shares_edges:
            return replace(whole, marks=marks)
        picks = replace(selection, marks=None)  # which edges stay is a matter of the picks, whatever marks carry
        cut = self.rule(graphs, picks, dtype=dtype, unmarked=unmarked)
        place = whole.row_ptr.index_select(0, cut.node) + cut.slot  # of each row that the rule kept
        adjacency = cut.adjacency.with_rows(place, whole.num_rows)
        return replace(whole, marks=marks, adjacency=adjacency, width=None, own_copy=whole.copy)

    @staticmethod
    def num_rows(graphs: Graphs, selection: Selection) -> int:
        """Rows of the copies of all picks; the sum of n^2 for the full bag."""
        return int(((selection.roots != NO_PICK).sum(0) * graphs.sizes).sum())


def whole_copies(kind: BagKind, hops: int) -> WholeCopies:
    """Whole copies by the name of their bag.

    Args:
        kind: `ego+`: the edges near the root, which is marked; `ego`: the same without marks; `deleted`: all edges but
            those of the root; `marked`: all edges, and the root marked.
        hops: how far ego nets reach.
    """
    if kind in ("ego+", "ego"):
        return WholeCopies(EgoNets(hops), mark=kind == "ego+")
    return {"marked": WholeCopies(mark_nodes), "deleted": WholeCopies(delete_nodes, mark=False)}[kind]


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
