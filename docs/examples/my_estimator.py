"""An estimator of your own: REINFORCE with the batch's mean cost as its only baseline."""

from torch import Tensor

from policylearn.bags import Members, Selection
from policylearn.nn import segment_argmax
from policylearn.policies import ESTIMATORS, Evidence, Pick, log_prob_of
from policylearn.settings import Settings


class PlainReinforce(Settings, frozen=True):
    """Each pick is pushed by how much better its graph did than the mean of the batch."""

    scale: float = 1.0
    """What the push is multiplied by."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw a node per graph, with its log-probability."""
        nodes = segment_argmax((logits + noise).detach(), members.batch, members.num_graphs)
        return Pick(nodes, logits, log_prob=log_prob_of(logits, nodes, members))

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor:
        """What is added to the loss."""
        advantage = evidence.costs - evidence.costs.mean()  # (G,)
        return self.scale * (advantage * selection.log_prob).mean()


ESTIMATORS.register("plain_reinforce", PlainReinforce)
