"""The values of settings that have a few names to choose from."""

from __future__ import annotations

from typing import Literal

NormKind = Literal["batch", "layer", "none"]
CopyPooling = Literal["mean", "sum", "min"]
NodePooling = Literal["mean", "sum"]
GraphReadout = Literal["mean", "sum", "both"]
"""How the nodes of a graph become its vector; a mean alone does not know how many there were."""
Mode = Literal["incremental", "paper"]
CostBaseline = Literal["batch", "past", "prefix", "all"]
EstimatorName = Literal["reinforce", "rloo", "straight_through", "gapped", "imle"]
Level = Literal["graph", "node"]
"""Whether a prediction belongs to a graph or to a node."""
RuleName = Literal["mark", "ego", "delete"]
PoolingOrder = Literal["copies", "nodes"]
PolicyName = Literal["learned", "random", "full", "none", "degree", "centrality"]
LEARNING: tuple[str, ...] = ("learned",)
"""Policies whose picks are learned: mode, estimator and the like are settings of theirs alone."""
COUNTING: tuple[str, ...] = ("learned", "random", "degree", "centrality")
"""Policies that make as many picks as 'picks' says."""
PriorName = Literal["degree", "centrality"]
ConvName = Literal["gin", "gcn", "sage", "gatv2"]
