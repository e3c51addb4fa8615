"""Whole models by name, and the protocol by which everything else knows them."""

from policylearn.models.calibration import calibrate
from policylearn.models.protocol import (
    GraphModel,
    LossTerms,
    Objective,
    PickingModel,
    graph_costs,
    mean_loss,
    plain_objective,
)
from policylearn.models.registry import SYSTEMS, Inputs, System, build_model, built, chosen_system, complete, register
from policylearn.models.subgraph_gnn import SubgraphGNN

__all__ = [
    "SYSTEMS",
    "GraphModel",
    "Inputs",
    "LossTerms",
    "Objective",
    "PickingModel",
    "SubgraphGNN",
    "System",
    "build_model",
    "built",
    "calibrate",
    "chosen_system",
    "complete",
    "graph_costs",
    "mean_loss",
    "plain_objective",
    "register",
]
