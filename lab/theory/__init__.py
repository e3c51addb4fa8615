"""The paper's theorems as running code: the WL test with marks, what random marks achieve, weights written by hand."""

from lab.theory.checks import CHECKS, Check, check_table
from lab.theory.figure import colour_csl
from lab.theory.records import HEADINGS, LearningRecord, learning_rows, learning_table, load_records, run_all, runs_of
from policylearn.demo.learning import METHODS, Evaluation, LearningConfig, learn

__all__ = [
    "CHECKS",
    "HEADINGS",
    "METHODS",
    "Check",
    "Evaluation",
    "LearningConfig",
    "LearningRecord",
    "check_table",
    "colour_csl",
    "learn",
    "learning_rows",
    "learning_table",
    "load_records",
    "run_all",
    "runs_of",
]
