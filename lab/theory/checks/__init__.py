"""Every statement of the paper as a check that runs, over ranges of parameters."""

from lab.theory.checks import families, hand_built, random_policies, regular
from lab.theory.checks.record import HEADINGS, Check, MakeCheck, check_table

CHECKS: dict[str, MakeCheck] = {
    "figure-1": families.figure_1,
    "indistinguishable": families.indistinguishable,
    "one-mark": families.one_mark,
    "every-component": families.every_component,
    "whole-families": families.whole_families,
    "other-families": families.other_families,
    "with-replacement": random_policies.with_replacement,
    "without-replacement": random_policies.without_replacement,
    "vanishing": random_policies.vanishing,
    "draws": random_policies.draws,
    "uniform-first-pick": random_policies.uniform_first_pick,
    "one-shot": random_policies.one_shot_selection,
    "srg-different": regular.different_parameters,
    "srg-all-pairs": regular.all_parameters,
    "srg-equal": regular.equal_parameters,
    "sr25": regular.stored_graphs,
    "layers": families.enough_layers,
    "covering-weights": hand_built.covering,
    "covering-elsewhere": hand_built.covering_elsewhere,
    "too-shallow": hand_built.too_shallow,
    "identification": hand_built.identification,
    "degree-aware-weights": hand_built.degree_aware,
    "one-shot-weights": hand_built.any_one_shot,
}
"""The checks by name, in the order of the paper."""

__all__ = ["CHECKS", "HEADINGS", "Check", "MakeCheck", "check_table"]
