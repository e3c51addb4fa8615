"""Answers of a trained model: for graphs in memory, and for tables and packed files of them.

Names are imported when they are first asked for: what prepares a table should not wait for torch.
"""

from typing import TYPE_CHECKING

from policylearn.doors import opener

if TYPE_CHECKING:
    from policylearn.prediction.calibration import Calibration, Coverage
    from policylearn.prediction.outcome import Outcome, finish
    from policylearn.prediction.predictor import Answer, BatchWarning, Predictor, load
    from policylearn.prediction.table_writer import PredictOptions, Written, predict_packed, predict_table

HOMES = {
    ".calibration": (
        "Calibration",
        "Coverage",
    ),
    ".outcome": (
        "Outcome",
        "finish",
    ),
    ".predictor": (
        "Answer",
        "BatchWarning",
        "Predictor",
        "load",
    ),
    ".table_writer": (
        "PredictOptions",
        "Written",
        "predict_packed",
        "predict_table",
    ),
}
"""The names of each module that belong to the room's door."""

__getattr__ = opener(__name__, HOMES)

__all__ = [
    "Answer",
    "BatchWarning",
    "Calibration",
    "Coverage",
    "Outcome",
    "PredictOptions",
    "Predictor",
    "Written",
    "finish",
    "load",
    "predict_packed",
    "predict_table",
]
