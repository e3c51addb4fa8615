"""The paper's theorems as running code: the WL test with marks, what random marks achieve, weights written by hand."""

from policylearn.studies.theory.chance import (
    covered,
    expected_draws,
    simulate_draws,
    success_with_replacement,
    success_without_replacement,
)
from policylearn.studies.theory.checks import CHECKS, Check, check_table
from policylearn.studies.theory.depth import diameters, layers_needed, mark_is_seen
from policylearn.studies.theory.gradient_records import GradientRecord, gradient_table, load_gradients, measure_all
from policylearn.studies.theory.gradients import GradientConfig, Push, measure
from policylearn.studies.theory.identify import (
    BagKinds,
    Identification,
    bag_kinds,
    collection_told_apart,
    identification,
)
from policylearn.studies.theory.learning import METHODS, Evaluation, Learned, LearningConfig, LearningMethod, learn
from policylearn.studies.theory.records import LearningRecord, load_records, run_all
from policylearn.studies.theory.separation import Separation, covering_model, separation
from policylearn.studies.theory.summary import Summary, learning_table, summarise
from policylearn.studies.theory.weights import covering_policy, degree_aware_policy, one_shot_policy
from policylearn.studies.theory.wl import UNMARKED, Colouring, marked_copies, refine

__all__ = [
    "CHECKS",
    "METHODS",
    "UNMARKED",
    "BagKinds",
    "Check",
    "Colouring",
    "Evaluation",
    "GradientConfig",
    "GradientRecord",
    "Identification",
    "Learned",
    "LearningConfig",
    "LearningMethod",
    "LearningRecord",
    "Push",
    "Separation",
    "Summary",
    "bag_kinds",
    "check_table",
    "collection_told_apart",
    "covered",
    "covering_model",
    "covering_policy",
    "degree_aware_policy",
    "diameters",
    "expected_draws",
    "gradient_table",
    "identification",
    "layers_needed",
    "learn",
    "learning_table",
    "load_gradients",
    "load_records",
    "mark_is_seen",
    "marked_copies",
    "measure",
    "measure_all",
    "one_shot_policy",
    "refine",
    "run_all",
    "separation",
    "simulate_draws",
    "success_with_replacement",
    "success_without_replacement",
    "summarise",
]
