"""Policies: which nodes of a graph to mark, and how the picks learn. One protocol, so that any callable can be one."""

from policylearn.policies.decks import Deck, RandomDeck
from policylearn.policies.draws import Pick, selection_of, top_nodes
from policylearn.policies.estimators import Estimator, Gapped, Imle, Reinforce, Rloo, StraightThrough, leave_one_out
from policylearn.policies.fixed import FullPolicy, NoPolicy
from policylearn.policies.learned import LearnedPolicy, as_learned, draw_picks
from policylearn.policies.masks import keep_best, kept_sizes, node_uniform
from policylearn.policies.protocol import (
    DrawingPolicy,
    Evidence,
    LearningPolicy,
    Policy,
    bags_per_graph,
    surrogate_loss,
    unpicked,
)
from policylearn.policies.random import RandomPolicy
from policylearn.policies.ranked import RankedPolicy, degree, log_degree, subgraph_centrality
from policylearn.policies.views import BagView, View

__all__ = [
    "BagView",
    "Deck",
    "DrawingPolicy",
    "Estimator",
    "Evidence",
    "FullPolicy",
    "Gapped",
    "Imle",
    "LearnedPolicy",
    "LearningPolicy",
    "NoPolicy",
    "Pick",
    "Policy",
    "RandomDeck",
    "RandomPolicy",
    "RankedPolicy",
    "Reinforce",
    "Rloo",
    "StraightThrough",
    "View",
    "as_learned",
    "bags_per_graph",
    "degree",
    "draw_picks",
    "keep_best",
    "kept_sizes",
    "leave_one_out",
    "log_degree",
    "node_uniform",
    "selection_of",
    "subgraph_centrality",
    "surrogate_loss",
    "top_nodes",
    "unpicked",
]
