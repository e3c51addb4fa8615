"""Policies: which nodes of a graph to mark. One protocol, so that any callable can be one."""

from policylearn.policies.estimators import ESTIMATORS, Estimator, gapped, leave_one_out, straight_through
from policylearn.policies.fixed import FullPolicy, NoPolicy
from policylearn.policies.learned import LearnedPolicy, Mode
from policylearn.policies.protocol import Policy
from policylearn.policies.random import RandomPolicy
from policylearn.policies.ranked import RankedPolicy, degree, subgraph_centrality

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "FullPolicy",
    "LearnedPolicy",
    "Mode",
    "NoPolicy",
    "Policy",
    "RandomPolicy",
    "RankedPolicy",
    "degree",
    "gapped",
    "leave_one_out",
    "straight_through",
    "subgraph_centrality",
]
