"""How the gradient reaches a choice that was drawn, one file per way."""

from policylearn.policies.estimators.imle import Imle, Solver
from policylearn.policies.estimators.protocol import Estimator
from policylearn.policies.estimators.reinforce import Reinforce
from policylearn.policies.estimators.rloo import Rloo, leave_one_out
from policylearn.policies.estimators.straight_through import Gapped, StraightThrough

__all__ = ["Estimator", "Gapped", "Imle", "Reinforce", "Rloo", "Solver", "StraightThrough", "leave_one_out"]
