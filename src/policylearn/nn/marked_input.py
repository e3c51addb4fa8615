"""What a network reads of rows: marks in front of the encoded features of nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs
from policylearn.nn.features import Features, NodeEncoder, real_columns, refuse_unread


class MarkedInput(nn.Module):
    """``[marks, features]``; marks are not embedded.

    Category ids are embedded in C channels (the sum of one embedding per column). Nodes with numbers alone keep them as
    they are, and nodes with nothing have a constant 1.

    Args:
        features: what nodes come with.
        channels: C.
        marks: M, marks per row.
    """

    def __init__(self, features: Features, channels: int, marks: int) -> None:
        super().__init__()
        self.features = features
        self.node_encoder = NodeEncoder(features, channels) if features.categorical else None
        plain = features.real if features.present else 1
        self.width = marks + (channels if features.categorical else plain)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        """The rows' input, ``(R, width)``."""
        return torch.cat([bag.marks, bag.spread(self._encoded(graphs).to(bag.marks.dtype))], dim=1)

    def _encoded(self, graphs: Graphs) -> Tensor:
        if self.node_encoder is not None:
            encoded: Tensor = self.node_encoder(graphs)
            return encoded
        refuse_unread(graphs, self.features)
        if self.features.real:
            return real_columns(graphs, self.features)
        return torch.ones(graphs.num_nodes, 1, device=graphs.batch.device)
