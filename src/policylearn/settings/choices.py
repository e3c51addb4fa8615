"""The values of settings that have a few names to choose from."""

from __future__ import annotations

from typing import Literal

NormKind = Literal["batch", "layer", "none"]
CopyPooling = Literal["mean", "sum", "min"]
NodePooling = Literal["mean", "sum"]
GraphReadout = Literal["mean", "sum", "both"]
"""How the nodes of a graph become its vector; a mean alone does not know how many there were."""
Level = Literal["graph", "node"]
"""Whether a prediction belongs to a graph or to a node."""
PoolingOrder = Literal["copies", "nodes"]
ConvName = Literal["gin", "gcn", "sage", "gatv2"]
POLICY_LEARN = "policy-learn"
"""The model that is trained where none is named."""
