"""Rules by which picks could learn better than by `reinforce`, and ZINC with a squared loss, to be compared.

``POLICYLEARN_PLUGINS=lab/rules.py python -m lab compare lab/comparisons/zinc_rules.yaml`` measures them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from policylearn.bags import Members, Selection
from policylearn.data import Task
from policylearn.data.datasets import find_entry, register
from policylearn.nn import segment_argmax, segment_log_softmax, segment_sum
from policylearn.policies import ESTIMATORS, Evidence, Pick
from policylearn.policies.estimators.reinforce import Reinforce, advantages
from policylearn.settings import Settings


class Explore(Reinforce, frozen=True):
    """`Reinforce` that keeps drawing nodes of low score."""

    uniform: float = 0.0
    """Share of the draws that is uniform over the nodes: no probability falls below this divided by their number."""
    entropy: float = 0.0
    """Weight of an entropy bonus: a pick costs this times its log-probability, beside the loss."""
    clip: float = 0.0
    """Largest advantage, in root mean squares; 0 leaves advantages as they are."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw from the mixture of the policy and the uniform distribution."""
        mixed = segment_log_softmax(logits, members.batch, members.num_graphs)
        if self.uniform:
            free = logits.isfinite()
            count = segment_sum(free.to(logits.dtype), members.batch, members.num_graphs)[members.batch]
            shares = mixed + math.log1p(-self.uniform), math.log(self.uniform) - count.log()
            mixed = torch.logaddexp(*shares).where(free, -torch.inf)
        nodes = segment_argmax((mixed + noise).detach(), members.batch, members.num_graphs)
        return Pick(nodes, logits, log_prob=mixed.index_select(0, nodes))

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Reinforce`; the bonus is compared with its mean over the batch."""
        assert selection.log_prob is not None, "drawn picks have a probability"
        found = advantages(selection.picks, evidence)
        found = found / (found.square().mean().sqrt() + 1e-8)
        if self.clip:
            found = found.clamp(-self.clip, self.clip)
        known = selection.log_prob.detach()
        bonus = known - known.mean(1, keepdim=True)
        return ((found + self.entropy * bonus) * selection.log_prob).sum(0).mean()


class Value(Settings, frozen=True):
    """Scores predict by how much a pick lowers the loss, in standard deviations; the best is taken, with noise."""

    temperature: float = 1.0
    """Of the draws in training."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw by the scores divided by the temperature."""
        nodes = segment_argmax((logits / self.temperature + noise).detach(), members.batch, members.num_graphs)
        return Pick(nodes, logits, log_prob=logits.index_select(0, nodes))

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """The squared error of the scores of the nodes that were picked."""
        prefix = evidence.prefix_costs()
        assert prefix is not None, "copies do not see each other"
        assert selection.log_prob is not None, "holds the scores of the picks"
        fall = prefix[:-1] - prefix[1:]  # (T, G)
        return functional.mse_loss(selection.log_prob, fall / (fall.std() + 1e-8))


ESTIMATORS.register("explore", Explore)
ESTIMATORS.register("value", Value)


class Squared(Task):
    """The absolute error and half of its square: large errors count for more."""

    def loss_terms(self, output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """See `Task`."""
        value, known = super().loss_terms(output, y)
        return value + value.square() / 2, known


plain = find_entry("zinc")
register(
    replace(
        plain,
        name="zinc-squared",
        title="ZINC-12k with a squared loss beside the absolute one",
        task=Squared(plain.task.kind, plain.task.loss, plain.task.metric, plain.task.targets),
        presets={
            name: {"prediction": {"layers": 6, "channels": 64}, "fit": {"batch_size": 128}}
            for name in ("learned", "random", "none", "centrality")
        },
    )
)
