"""Copies that keep every node and lose only edges, as ESAN and SUN make them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch

from policylearn.bags.bag import Bag
from policylearn.bags.graphs import Graphs
from policylearn.bags.rules import BagRule, EgoNets, delete_nodes, mark_nodes
from policylearn.bags.selection import NO_PICK, Selection

BagKind = Literal["ego+", "ego", "deleted", "marked"]


@dataclass(frozen=True)
class WholeCopies:
    """Each copy holds all nodes of its graph; of the edges it holds those that another rule leaves.

    Nodes outside an ego net and deleted nodes stay as isolated rows: norms and pooling see them.

    Args:
        rule: whose edges the copies have.
        mark: whether rows have two marks, (1, 0) at marked nodes and (0, 1) elsewhere, or none at all.
    """

    rule: BagRule
    mark: bool = True

    @property
    def shares_edges(self) -> bool:
        """Whether all copies have the edges of the graph itself."""
        return bool(getattr(self.rule, "shares_edges", False))

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """See `BagRule`; marks ``(R, 2)`` or ``(R, 0)``."""
        whole = mark_nodes(graphs, selection, dtype=dtype, unmarked=unmarked)
        marks = torch.cat([whole.marks, 1 - whole.marks], dim=1) if self.mark else whole.marks[:, :0]
        if self.shares_edges:
            return replace(whole, marks=marks)
        picks = replace(selection, marks=None)  # which edges stay is a matter of the picks, whatever marks carry
        cut = self.rule(graphs, picks, dtype=dtype, unmarked=unmarked)
        place = whole.row_ptr.index_select(0, cut.node) + cut.slot  # the row of each row that the rule kept
        edges = cut.row_adjacency
        everyone = torch.arange(edges.num_edges, device=place.device)
        adjacency = edges.induced(place[edges.source], place[edges.target], everyone, whole.num_rows)
        return replace(whole, marks=marks, adjacency=adjacency, width=None, own_copy=whole.copy)


def whole_copies(kind: BagKind, hops: int) -> WholeCopies:
    """Whole copies by the name of their bag.

    Args:
        kind: `ego+`: the edges near the root, which is marked; `ego`: the same without marks; `deleted`: all edges but
            those of the root; `marked`: all edges, and the root marked.
        hops: how far ego nets reach.
    """
    if kind in ("ego+", "ego"):
        return WholeCopies(EgoNets(hops), mark=kind == "ego+")
    if kind == "deleted":
        return WholeCopies(delete_nodes, mark=False)
    if kind == "marked":
        return WholeCopies(mark_nodes)
    raise ValueError(f"unknown bag '{kind}'; use ego+, ego, deleted or marked")


def rows_of_copies(graphs: Graphs, selection: Selection) -> int:
    """Rows of the copies of all picks, each with all nodes of its graph; sum of n^2 for the full bag."""
    copies = (selection.roots != NO_PICK).sum(0)
    return int((copies * graphs.sizes).sum())
