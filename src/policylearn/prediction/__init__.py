"""Answers of a trained model: for graphs in memory, and for tables and packed files of them."""

from policylearn.prediction.calibration import Calibration, Coverage
from policylearn.prediction.outcome import Outcome, finish
from policylearn.prediction.predictor import Answer, BatchWarning, Predictor, load
from policylearn.prediction.table_writer import Wanted, Written, predict_packed, predict_table

__all__ = [
    "Answer",
    "BatchWarning",
    "Calibration",
    "Coverage",
    "Outcome",
    "Predictor",
    "Wanted",
    "Written",
    "finish",
    "load",
    "predict_packed",
    "predict_table",
]
