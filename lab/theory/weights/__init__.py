"""Weights written by hand, after the paper's proofs, in the same networks that are otherwise trained."""

from lab.theory.weights.covering import covering_policy, load_covering_weights
from lab.theory.weights.degree_aware import degree_aware_policy
from lab.theory.weights.drawn import draw_weights
from lab.theory.weights.one_shot import OneShot, one_shot_policy, random_one_shot, table_one_shot

__all__ = [
    "OneShot",
    "covering_policy",
    "degree_aware_policy",
    "draw_weights",
    "load_covering_weights",
    "one_shot_policy",
    "random_one_shot",
    "table_one_shot",
]
