"""Policies: which nodes of a graph to mark, and how the picks learn. One protocol, so that any callable can be one."""

from policylearn.policies.bag_view import BagView, View
from policylearn.policies.decks import Deck, RandomDeck
from policylearn.policies.draws import Pick, gumbel, log_prob_of, selection_of
from policylearn.policies.estimators import ESTIMATORS, Estimator, Imle, Reinforce, StraightThrough
from policylearn.policies.fixed import FullPolicy, NoPolicy
from policylearn.policies.learned import LearnedPolicy, LearnedSettings, draw_picks
from policylearn.policies.masks import keep_best
from policylearn.policies.protocol import Evidence, LearningPolicy, Policy, unpicked
from policylearn.policies.random import RandomPolicy, node_uniform
from policylearn.policies.ranked import RankedPolicy, degree, subgraph_centrality
from policylearn.policies.registry import POLICIES, PickSettings, PolicyInputs, PolicyKind, PolicySettings

__all__ = [
    "ESTIMATORS",
    "POLICIES",
    "BagView",
    "Deck",
    "Estimator",
    "Evidence",
    "FullPolicy",
    "Imle",
    "LearnedPolicy",
    "LearnedSettings",
    "LearningPolicy",
    "NoPolicy",
    "Pick",
    "PickSettings",
    "Policy",
    "PolicyInputs",
    "PolicyKind",
    "PolicySettings",
    "RandomDeck",
    "RandomPolicy",
    "RankedPolicy",
    "Reinforce",
    "StraightThrough",
    "View",
    "degree",
    "draw_picks",
    "gumbel",
    "keep_best",
    "log_prob_of",
    "node_uniform",
    "selection_of",
    "subgraph_centrality",
    "unpicked",
]
