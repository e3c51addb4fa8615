"""How the gradient reaches a choice that was drawn, one file per way."""

from policylearn.policies.estimators.imle import Imle, Solver
from policylearn.policies.estimators.protocol import ESTIMATORS, Estimator
from policylearn.policies.estimators.reinforce import Reinforce
from policylearn.policies.estimators.straight_through import StraightThrough

__all__ = ["ESTIMATORS", "Estimator", "Imle", "Reinforce", "Solver", "StraightThrough"]
