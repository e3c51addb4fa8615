"""Whole models, their recipes, and the protocol by which everything else knows them."""

from policylearn.models.calibration import calibrate
from policylearn.models.config import ModelConfig
from policylearn.models.protocol import (
    GraphModel,
    LossTerms,
    Objective,
    PickingModel,
    graph_costs,
    mean_loss,
    plain_objective,
)
from policylearn.models.recipes import build_estimator, build_model, build_rule
from policylearn.models.registry import SYSTEMS, Inputs, System, all_systems, built, find_system, register
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.settings import BagConfig, EstimatorName, NetworkConfig, PolicyConfig

__all__ = [
    "SYSTEMS",
    "BagConfig",
    "EstimatorName",
    "GraphModel",
    "Inputs",
    "LossTerms",
    "ModelConfig",
    "NetworkConfig",
    "Objective",
    "PickingModel",
    "PolicyConfig",
    "SubgraphGNN",
    "System",
    "all_systems",
    "build_estimator",
    "build_model",
    "build_rule",
    "built",
    "calibrate",
    "find_system",
    "graph_costs",
    "mean_loss",
    "plain_objective",
    "register",
]
