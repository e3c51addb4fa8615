"""The training loss of a model whose picks are learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from policylearn.bags import Selection
from policylearn.models.subgraph_gnn import SubgraphGNN
from policylearn.nn import Graphs, Members, segment_sum
from policylearn.policies import LearnedPolicy, leave_one_out

LossTerms = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Outputs and targets to the loss of every label and whether it is known, both ``(R, K)``."""


@dataclass(frozen=True)
class Objective:
    """What one training step minimises, and what it saw on the way.

    Args:
        loss: to be minimised; its gradient reaches both networks.
        prediction_loss: the mean loss, for logs.
        outputs: the model's outputs; with several samples a graph, of all of them.
        selection: the picks.

    Shapes:
        loss and prediction_loss scalar; outputs ``(K * G, outputs)``.
    """

    loss: Tensor
    prediction_loss: Tensor
    outputs: Tensor
    selection: Selection


def objective(
    model: SubgraphGNN,
    batch: Batch | Data | Graphs,
    y: Tensor,
    terms: LossTerms,
    *,
    generator: torch.Generator | None = None,
) -> Objective:
    r"""One training step's loss.

    With `rloo` each graph gets K bags, and the picks are moved by

    .. math:: \frac{1}{KG} \sum_{k,g} \Big(c_{kg} - \frac{1}{K-1} \sum_{j \ne k} c_{jg}\Big) \nabla \log \pi(B_{kg})

    where :math:`c_{kg}` is the graph's own loss with its k-th bag. Other policies, and `straight_through`, whose
    marks carry the gradient, take the mean loss alone.

    Args:
        model: in training mode.
        batch: G graphs.
        y: their targets, a row a graph (node tasks: a row a node).
        terms: the loss of each label; the mean is over the known ones.
        generator: where the policy draws from.
    """
    graphs = Graphs.of(batch)
    policy = model.policy
    selection, samples = training_bags(model, graphs, generator=generator)
    outputs = model.predict(graphs, selection, samples=samples)
    values, known = terms(outputs, y.repeat(samples, *([1] * (y.dim() - 1))))
    mean = values.sum() / known.sum().clamp(min=1)
    if samples == 1:
        return Objective(mean, mean.detach(), outputs, selection)
    members = graphs.members.repeat(samples)
    costs = graph_costs(values.detach(), known, members).view(samples, -1)  # (K * G,) -> (K, G)
    assert isinstance(policy, LearnedPolicy), "no other policy draws several bags a graph"
    advantage = leave_one_out(costs, standardise=policy.standardise)
    assert selection.log_prob is not None, "a learned policy gives the probability of its picks in training"
    log_prob = selection.log_prob.sum(0).view(samples, -1)  # (T, K * G) -> (K, G)
    return Objective(mean + (advantage * log_prob).mean(), mean.detach(), outputs, selection)


def training_bags(
    model: SubgraphGNN, graphs: Graphs, *, generator: torch.Generator | None = None
) -> tuple[Selection, int]:
    """The bags of a training step and how many a graph has: K with `rloo`, else one.

    Args:
        model: in training mode.
        graphs: G graphs.
        generator: where the policy draws from.
    """
    policy = model.policy
    if isinstance(policy, LearnedPolicy) and policy.estimator == "rloo" and policy.picks > 0:
        return policy(graphs, generator=generator, samples=policy.samples), policy.samples
    return model.select(graphs, generator=generator), 1


def graph_costs(values: Tensor, known: Tensor, members: Members) -> Tensor:
    """Each graph's mean loss over its known labels, those of its nodes in node tasks, ``(R, K) -> (G,)``."""
    total, count = values.sum(1), known.sum(1).to(values.dtype)
    if len(total) != members.num_graphs:
        total = segment_sum(total, members.batch, members.num_graphs)
        count = segment_sum(count, members.batch, members.num_graphs)
    return total / count.clamp(min=1)
