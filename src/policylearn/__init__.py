"""Subgraph GNNs made cheap: learn which few marked copies of a graph to look at, and predict from those."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policylearn.prediction.estimators import PolicyLearnClassifier, PolicyLearnRegressor
    from policylearn.prediction.predictor import Predictor, load

__all__ = ["PolicyLearnClassifier", "PolicyLearnRegressor", "Predictor", "__version__", "load"]
__version__ = version("policylearn")


def __getattr__(name: str) -> Any:
    """Import what needs torch once it is asked for, so that ``import policylearn`` and ``--help`` are quick."""
    if name in ("Predictor", "load"):
        from policylearn.prediction import predictor

        return getattr(predictor, name)
    if name in ("PolicyLearnClassifier", "PolicyLearnRegressor"):
        from policylearn.prediction import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'policylearn' has no attribute '{name}'")
