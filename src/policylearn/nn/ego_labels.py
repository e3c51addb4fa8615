"""Where a node stands in an ego net, as a vector."""

from __future__ import annotations

from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, attached_ego_nets


class EgoLabels(nn.Module):
    r"""Nested GNN's labels of the rows of ego nets: :math:`z[d + 1] + z[d' + 1] + (w r + b)`.

    d is the distance to the root; the second label repeats it where two edges or more lead nearer to the root, and is 0
    elsewhere, which has a vector of its own; r is the resistance to the root.

    Args:
        hops: how far the nets reach.
        channels: C.
        resistance: whether the last term is there.
    """

    def __init__(self, hops: int, channels: int, *, resistance: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(hops + 2, channels)
        self.resistance = nn.Linear(1, channels) if resistance else None

    def forward(self, bag: Bag) -> Tensor:
        """Encode the marks of `labelled_ego_nets`, ``(R, C)``."""
        first = bag.marks[:, 0].long() + 1
        labels: Tensor = self.table(first) + self.table(first * (bag.marks[:, 1] >= 2))
        if self.resistance is not None:
            labels = labels + self.resistance(bag.marks[:, 2:3].to(labels.dtype))
        return labels


def labelled_ego_nets(graphs: Graphs, *, resistance: bool) -> Bag:
    """The ego nets that came with the data; marks are distance, arrivals and, where wanted, resistance."""
    names = ("ego_distance", "ego_arrivals", *(["ego_resistance"] if resistance else []))
    return attached_ego_nets(graphs, names)
