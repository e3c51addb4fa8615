"""The paper's theorems as running code: the WL test with marks, what random marks achieve, weights written by hand."""

from lab.theory.chance import (
    expected_draws,
    simulate_draws,
    success_with_replacement,
    success_without_replacement,
)
from lab.theory.checks import CHECKS, Check, check_table
from lab.theory.depth import diameters, layers_needed, mark_is_seen
from lab.theory.identify import (
    BagKinds,
    Identification,
    bag_kinds,
    collection_told_apart,
    identification,
)
from lab.theory.records import LearningRecord, load_records, run_all
from lab.theory.separation import Separation, covering_model, separation
from lab.theory.summary import Summary, learning_table, summarise
from lab.theory.weights import covering_policy, degree_aware_policy, one_shot_policy
from lab.theory.wl import UNMARKED, Colouring, marked_copies, refine
from policylearn.demo.learning import METHODS, Evaluation, Learned, LearningConfig, LearningMethod, learn

__all__ = [
    "CHECKS",
    "METHODS",
    "UNMARKED",
    "BagKinds",
    "Check",
    "Colouring",
    "Evaluation",
    "Identification",
    "Learned",
    "LearningConfig",
    "LearningMethod",
    "LearningRecord",
    "Separation",
    "Summary",
    "bag_kinds",
    "check_table",
    "collection_told_apart",
    "covering_model",
    "covering_policy",
    "degree_aware_policy",
    "diameters",
    "expected_draws",
    "identification",
    "layers_needed",
    "learn",
    "learning_table",
    "load_records",
    "mark_is_seen",
    "marked_copies",
    "one_shot_policy",
    "refine",
    "run_all",
    "separation",
    "simulate_draws",
    "success_with_replacement",
    "success_without_replacement",
    "summarise",
]
