"""An entropy bonus for `reinforce`, to be compared where rings decide.

``POLICYLEARN_PLUGINS=lab/rules.py python -m lab compare lab/comparisons/rules.yaml`` measures it.
"""

from __future__ import annotations

from torch import Tensor

from policylearn.bags import Selection
from policylearn.policies import ESTIMATORS, Evidence
from policylearn.policies.estimators.reinforce import Reinforce


class Explore(Reinforce, frozen=True):
    """`Reinforce` in which a pick also costs its log-probability."""

    entropy: float = 0.05
    """Weight of the log-probability, beside advantages of mean square one."""

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Reinforce`; log-probabilities are compared with their mean over the batch."""
        added = super().surrogate(selection, evidence)
        if added is None or selection.log_prob is None:
            return added
        known = selection.log_prob.detach()
        return added + self.entropy * ((known - known.mean(1, keepdim=True)) * selection.log_prob).sum(0).mean()


ESTIMATORS.register("explore", Explore)
