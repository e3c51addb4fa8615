"""The GIN layers that published systems have in common, by the data that they were written for."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from policylearn.bags import Bag
from policylearn.nn.convs import GIN, build_gin
from policylearn.nn.features import Features
from policylearn.nn.norms import RowBatchNorm

GINForm = Literal["zinc", "ogb", "tu"]
"""`zinc`: C channels between the maps; `ogb`: 2 C of them; `tu`: C, no edge features, and no learned epsilon."""


def published_gin(form: GINForm, inputs: int, channels: int, edges: Features) -> GIN:
    """The layer of that form.

    Args:
        form: which.
        inputs: channels that come in.
        channels: C, channels that go out.
        edges: what edges come with.
    """
    if form == "tu":
        return build_gin(inputs, channels, learn_eps=False)
    if form in ("zinc", "ogb"):
        return build_gin(inputs, channels, hidden=channels * (2 if form == "ogb" else 1), edges=edges)
    raise ValueError(f"unknown form '{form}' of a GIN layer; use zinc, ogb or tu")


class NormedGIN(nn.Module):
    """``norm(conv(z))``, in the form of the data that a system was written for; what follows is up to the system.

    Args:
        form: see `published_gin`.
        inputs: channels that come in.
        channels: C, channels that go out.
        edges: what edges come with.
    """

    def __init__(self, form: GINForm, inputs: int, channels: int, edges: Features) -> None:
        super().__init__()
        self.conv, self.norm = published_gin(form, inputs, channels, edges), RowBatchNorm(channels)

    def forward(self, states: Tensor, bag: Bag, edge_attr: Tensor | None) -> Tensor:
        """Pass messages, ``(R, C_in) -> (R, C)``."""
        out: Tensor = self.norm(self.conv(states, bag, edge_attr))
        return out
