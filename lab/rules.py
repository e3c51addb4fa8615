"""Rules by which picks could learn better than by `reinforce`, and ZINC with a squared loss, to be compared.

``POLICYLEARN_PLUGINS=lab/rules.py python -m lab compare lab/comparisons/zinc_rules.yaml`` measures them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from policylearn.bags import Bag, Graphs, Members, Selection
from policylearn.data import Task
from policylearn.data.datasets import find_entry, register
from policylearn.models import SYSTEMS, Inputs, LossTerms, Objective, SubgraphGNN, plain_objective
from policylearn.models import register as register_system
from policylearn.models.protocol import AnyBatch
from policylearn.nn import segment_argmax
from policylearn.policies import ESTIMATORS, Evidence, Pick, log_prob_of
from policylearn.policies.estimators.reinforce import Reinforce, advantages
from policylearn.settings import Settings
from policylearn.settings.run_config import POLICY_LEARN


class Explore(Reinforce, frozen=True):
    """`Reinforce` with other advantages."""

    entropy: float = 0.0
    """Weight of an entropy bonus: a pick costs this times its log-probability, beside the loss."""
    clip: float = 0.0
    """Largest advantage, in root mean squares; 0 leaves advantages as they are."""
    ranked: bool = False
    """Take the ranks of the advantages in the batch, spread over -1 to 1, in their place."""

    def surrogate(self, selection: Selection, evidence: Evidence) -> Tensor | None:
        """See `Reinforce`; the bonus is compared with its mean over the batch."""
        assert selection.log_prob is not None, "drawn picks have a probability"
        found = advantages(selection.picks, evidence)
        if self.ranked:
            found = 2 * found.argsort(1).argsort(1) / (found.shape[1] - 1) - 1
        found = found / (found.square().mean().sqrt() + 1e-8)
        if self.clip:
            found = found.clamp(-self.clip, self.clip)
        known = selection.log_prob.detach()
        bonus = known - known.mean(1, keepdim=True)
        return ((found + self.entropy * bonus) * selection.log_prob).sum(0).mean()


class RandomBatches(Reinforce, frozen=True):
    """`Reinforce` with random picks, which teach the predictor alone, in part of the batches."""

    share: float = 0.25
    """Of the batches, for each pick."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw from the policy or, for the whole batch, evenly."""
        if torch.rand(()) >= self.share:
            return super().draw(logits, noise, members)
        nodes = segment_argmax(noise.where(logits.isfinite(), -torch.inf), members.batch, members.num_graphs)
        return Pick(nodes, logits, log_prob=logits.detach().index_select(0, nodes) * 0)


class Mixed(Reinforce, frozen=True):
    """`Reinforce` of a policy that is mixed with even draws: each pick is drawn evenly with a fixed probability."""

    share: float = 0.25
    """That probability."""

    def draw(self, logits: Tensor, noise: Tensor, members: Members) -> Pick:
        """Draw from the mixture; the log-probability is that of the mixture."""
        free = logits.isfinite()
        even = segment_argmax(noise.where(free, -torch.inf), members.batch, members.num_graphs)
        drawn = super().draw(logits, noise, members)
        nodes = even.where(torch.rand(len(even)) < self.share, drawn.nodes)
        number = torch.zeros(members.num_graphs).index_add(0, members.batch, free.float())
        known = log_prob_of(logits, nodes, members) + math.log(1 - self.share)
        return Pick(nodes, logits, log_prob=torch.logaddexp(known, math.log(self.share) - number.log()))


class Candidates(Reinforce, frozen=True):
    """Draws as `Reinforce`; `CandidateGNN` computes the gradient."""

    def surrogate(self, selection: Selection, evidence: Evidence) -> None:
        """Nothing: see `CandidateGNN`."""


class CandidateGNN(SubgraphGNN):
    """Learns each pick from the costs of several nodes that could stand in its place.

    The candidates of a graph are the drawn picks and `CANDIDATES` nodes drawn evenly. Their copies are computed once,
    without gradient, for all picks. For pick t, each candidate's cost is the loss with the unmarked copy, the drawn
    picks before t, and the candidate. The expected cost under the policy, restricted to the candidates, is minimised.
    """

    def objective(
        self, batch: AnyBatch, y: Tensor, terms: LossTerms, *, generator: torch.Generator | None = None
    ) -> Objective:
        """See `SubgraphGNN`."""
        step = super().objective(batch, y, terms, generator=generator)
        drawn = step.selection
        if drawn is None or drawn.logits is None:
            return step
        graphs = Graphs.of(batch)
        roots = torch.cat([drawn.roots, even_draws(graphs, CANDIDATES, generator)])  # (T + K, G)
        buffers = [(one, one.clone()) for one in self.buffers()]
        with torch.no_grad():
            states, bag = self._encode(graphs, Selection(roots))
            costs = torch.stack([self._costs(graphs, states, bag, y, terms, t) for t in range(drawn.picks)])
            for one, before in buffers:
                one.data.copy_(before)  # the gradient of the step holds them
        added = torch.zeros(())
        for t in range(drawn.picks):
            own = roots[t:]  # (T - t + K, G): this pick, later ones, and even draws
            log_prob = drawn.logits[t][own]
            repeated = torch.stack([(own[:place] == own[place]).any(0) for place in range(len(own))])
            share = log_prob.masked_fill(repeated, -torch.inf).softmax(0)
            known = costs[t, t:]
            advantage = known - (share.detach() * known).sum(0)
            scale = (share.detach() * advantage.square()).sum(0).mean().sqrt() + 1e-8
            added = added + (share * advantage / scale).sum(0).mean()
        return replace(step, loss=step.loss + added)

    def _costs(self, graphs: Graphs, states: Tensor, bag: Bag, y: Tensor, terms: LossTerms, t: int) -> Tensor:
        """The loss with each candidate as pick t, ``(T + K, G)``; rows before t mean nothing."""
        width = len(bag.slot_roots)
        wide, marks = states.view(bag.num_nodes, width, -1), bag.marks.view(bag.num_nodes, width, -1)
        found = []
        for candidate in range(width - 1):
            slots = [*range(t + 1), 1 + candidate]
            part = Bag.uniform(graphs, marks[:, slots].flatten(0, 1), bag.slot_roots[slots])
            vectors = self.readout(wide[:, slots].flatten(0, 1), part, graphs)
            output = self._head(vectors, self._graph_columns(graphs), update_statistics=False)
            found.append(plain_objective(output, y, terms, graphs).costs)
        return torch.stack(found)


CANDIDATES = 8
"""Nodes drawn evenly per graph."""


def even_draws(graphs: Graphs, number: int, generator: torch.Generator | None) -> Tensor:
    """Nodes of each graph, drawn evenly and with repetition, ``(number, G)``."""
    sizes = graphs.ptr.diff()
    return graphs.ptr[:-1] + (torch.rand(number, len(sizes), generator=generator) * sizes).long().clamp(max=sizes - 1)


def build_candidates(settings: Any, inputs: Inputs) -> SubgraphGNN:
    """The model of `policy-learn` that learns from candidates."""
    made = SYSTEMS[POLICY_LEARN].network(settings, inputs)
    assert isinstance(made, SubgraphGNN)
    return CandidateGNN(
        made.policy, made.encoder, made.readout, made.head, rule=made.rule, vector_norm=made.vector_norm
    )


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
ESTIMATORS.register("random_batches", RandomBatches)
ESTIMATORS.register("mixed", Mixed)
ESTIMATORS.register("candidates", Candidates)
register_system(replace(SYSTEMS[POLICY_LEARN], name="candidates", network=build_candidates))


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
