"""Which way each estimator pushes the picks, measured against the true gradient of the expected loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from policylearn.demo.learning import LearningConfig, csl_task, fresh_graphs, new_model
from policylearn.models import EstimatorName, PolicyConfig, SubgraphGNN, build_estimator, calibrate
from policylearn.policies import as_learned

CANDIDATES: tuple[tuple[EstimatorName, float], ...] = (
    ("rloo", 1.0),
    ("straight_through", 0.33),
    ("straight_through", 1.0),
    ("straight_through", 2.0),
    ("gapped", 1.0),
)
"""Estimators with their temperatures; rloo has none."""


@dataclass(frozen=True)
class GradientConfig:
    """One measurement."""

    learning: LearningConfig
    """Graphs, networks and seed; `steps` train the prediction network on picks of the untrained policy, and `bags` is
    how many bags one gradient is taken from."""
    batches: int = 100
    """Gradients of each estimator."""
    reference: int = 200
    """Gradients of rloo that the true one is taken from."""

    def __post_init__(self) -> None:
        for name in ("batches", "reference"):
            if getattr(self, name) < 2:
                raise ValueError(f"'{name}' must be >= 2 (got {getattr(self, name)})")

    @property
    def record(self) -> str:
        """The name of its record in a ledger."""
        learning = self.learning
        return f"gradients-{learning.n}-{learning.components}-{learning.steps}-{learning.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return asdict(self)


@dataclass(frozen=True)
class Push:
    """How an estimator's gradients lie to the true one.

    Args:
        estimator: whose.
        tau: its temperature.
        along: mean share of the true gradient, which is 1 without bias and negative if it goes the other way.
        error: standard error of ``along``.
        scatter: standard deviation of the share over single gradients.
    """

    estimator: EstimatorName
    tau: float
    along: float
    error: float
    scatter: float


def measure(config: GradientConfig, report: Callable[[float], None] | None = None) -> list[Push]:
    """Train the prediction network on the picks of an untrained policy, then compare the policy's gradients.

    The true gradient is that of the expected loss as an evaluation has it, with fixed statistics in the norms of the
    prediction network: then a bag has no say in another's loss, and the mean of rloo's gradients has no bias. The
    estimators are measured as training has them, with the batch's statistics.

    Args:
        config: what and how.
        report: told of the share that is done.
    """
    total = config.learning.steps + config.reference + config.batches * len(CANDIDATES)
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if report is not None:
            report(done / total)

    model = with_undecided_policy(config.learning, tick)
    unbiased = []
    for gradient in gradients(model, config.learning, "rloo", 1.0, stream=3, batches=config.reference):
        unbiased.append(gradient)
        tick()
    true = torch.stack(unbiased).mean(0)
    pushes = []
    model.train()
    for estimator, tau in CANDIDATES:
        shares = []
        for gradient in gradients(model, config.learning, estimator, tau, stream=4, batches=config.batches):
            shares.append(float(gradient @ true / (true @ true)))
            tick()
        found = torch.tensor(shares, dtype=torch.float64)
        scatter = float(found.std())
        pushes.append(Push(estimator, tau, float(found.mean()), scatter / config.batches**0.5, scatter))
    return pushes


def with_undecided_policy(config: LearningConfig, tick: Callable[[], None]) -> SubgraphGNN:
    """A model whose prediction network has learned and whose policy has not; the policy alone is in training mode."""
    model, task = new_model(config), csl_task(config.classes)
    policy = as_learned(model.policy).requires_grad_(False)
    rest = [weight for weight in model.parameters() if weight.requires_grad]
    optimiser = torch.optim.Adam(rest, lr=config.learning_rate, fused=True)
    fresh, draws = fresh_graphs(config, 0, config.graphs), torch.Generator().manual_seed(config.seed)
    model.train()
    for _ in range(config.steps):
        batch = next(fresh)
        optimiser.zero_grad()
        model.objective(batch, batch.y, task.loss_terms, generator=draws).loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        tick()
    unseen = fresh_graphs(config, 2, config.graphs)
    calibrate(model, (next(unseen) for _ in range(config.calibration)), generator=draws)
    model.eval().requires_grad_(False)
    policy.train().requires_grad_(True)
    return model


def gradients(
    model: SubgraphGNN, config: LearningConfig, estimator: EstimatorName, tau: float, *, stream: int, batches: int
) -> Iterator[Tensor]:
    """Gradients of the selection network's weights, of as many bags for every estimator, ``(W,)`` each."""
    policy, task = as_learned(model.policy), csl_task(config.classes)
    settings = PolicyConfig(estimator=estimator, tau=tau, samples=config.samples, standardise=False)
    policy.estimator = build_estimator(settings)
    weights = list(policy.parameters())
    graphs = config.bags // policy.bags_per_graph
    fresh, draws = fresh_graphs(config, stream, graphs), torch.Generator().manual_seed(stream)
    for _ in range(batches):
        batch = next(fresh)
        loss = model.objective(batch, batch.y, task.loss_terms, generator=draws).loss
        found = torch.autograd.grad(loss, weights, allow_unused=True, materialize_grads=True)
        yield torch.cat([part.flatten() for part in found])
