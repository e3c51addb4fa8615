"""A bag rule of your own: a copy marks the picked node by one and its neighbours by a share."""

from dataclasses import replace

import torch

from policylearn.bags import RULES, Bag, Graphs, Selection, mark_nodes
from policylearn.settings import Settings


class MarkNeighbours(Settings, frozen=True):
    """Marks the picked node by one and its neighbours by a share of that."""

    share: float = 0.5
    """The mark of a neighbour."""

    def __call__(
        self, graphs: Graphs, selection: Selection, *, dtype: torch.dtype = torch.float32, unmarked: bool = True
    ) -> Bag:
        """The copies of the picks."""
        bag = mark_nodes(graphs, selection, dtype=dtype, unmarked=unmarked)
        edges = bag.row_adjacency
        heard = torch.zeros_like(bag.marks).index_add(0, edges.target, bag.marks[edges.source])  # (R, 1)
        return replace(bag, marks=torch.maximum(bag.marks, heard.clamp(max=1) * self.share))


RULES.register("neighbours", MarkNeighbours)
