"""Whole models, their recipes and their training loss."""

from policylearn.models.calibration import calibrate
from policylearn.models.config import ModelConfig, NetworkConfig, PolicyConfig
from policylearn.models.objective import LossTerms, Objective, objective
from policylearn.models.recipes import build_model
from policylearn.models.subgraph_gnn import SubgraphGNN

__all__ = [
    "LossTerms",
    "ModelConfig",
    "NetworkConfig",
    "Objective",
    "PolicyConfig",
    "SubgraphGNN",
    "build_model",
    "calibrate",
    "objective",
]
