"""Policies trained from scratch on (n, l)-CSL graphs, which the paper proves can be covered and trains none on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from cyclopts import Parameter
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch_geometric.data import Batch

from policylearn.bags import Graphs, Selection
from policylearn.data import DataError, Task, make_batch
from policylearn.data.synthetic import csl_members, csl_unions, union_classes
from policylearn.fast import accelerate
from policylearn.models import Inputs, SubgraphGNN, build_model, calibrate
from policylearn.policies import ESTIMATORS, draw_picks
from policylearn.settings import NodePooling
from policylearn.training.schedules import warmup_cosine

LearningMethod = str
METHODS: tuple[LearningMethod, ...] = (*ESTIMATORS, "random", "none", "full")
WARMUP = 0.05
"""Share of the steps in which the rate of schedule 'cosine' rises."""


NOT_AN_OPTION = Parameter(parse=False)
"""Of settings in which the runs of one command differ; '--methods' and '--seeds' name them."""


@dataclass(frozen=True)
class LearningConfig:
    """One training from scratch."""

    method: Annotated[LearningMethod, NOT_AN_OPTION] = "reinforce"
    """How nodes are picked: learned with an estimator by its name, at random, none, or all."""
    n: int = 17
    """Nodes of each component."""
    components: int = 3
    """The paper's l; as many nodes are picked (T)."""
    seed: Annotated[int, NOT_AN_OPTION] = 0
    """Of the weights, the graphs and the draws."""
    steps: int = 1000
    """Training steps, at most."""
    every: int = 50
    """Steps between evaluations."""
    bags: int = 32
    """Graphs per step; full bags, which are large, have a fourth."""
    channels: int = 32
    """Width of both networks."""
    layers: int = 4
    """Depth of both networks; a mark must reach all of its component, so at least the diameter."""
    readout: NodePooling = "sum"
    """How nodes are pooled to a graph vector."""
    learning_rate: float = 1e-3
    """Of Adam."""
    schedule: Literal["constant", "cosine"] = "constant"
    """The rate stays, or rises over the first twentieth of the steps and falls along a cosine to zero."""
    epsilon: float = 1e-8
    """Of Adam."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 does not clip."""
    tau: float = 1.0
    """Temperature of straight_through."""
    entropy: float = 0.0
    """Entropy bonus of reinforce."""
    calibration: int = 20
    """Batches from which the norms' statistics are taken before an evaluation."""
    test_graphs: int = 200
    """Unseen graphs of an evaluation."""
    goal: float = 0.99
    """The accuracy, and for a learned policy the coverage by argmax, that counts as learned."""
    settled: int = 3
    """Stop after this many evaluations in a row at the goal; 0 runs all steps."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise DataError(f"'method' must be one of {', '.join(METHODS)} (got '{self.method}')")
        if self.schedule not in ("constant", "cosine"):
            raise DataError(f"'schedule' must be constant or cosine (got '{self.schedule}')")
        for name in ("steps", "every", "bags", "layers", "calibration", "test_graphs"):
            if getattr(self, name) < 1:
                raise DataError(f"'{name}' must be >= 1 (got {getattr(self, name)})")

    @property
    def record(self) -> str:
        """The name of its record in a ledger."""
        return f"csl-{self.n}-{self.components}-{self.method}-{self.seed}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return asdict(self)

    @property
    def graphs(self) -> int:
        """Graphs of a training step."""
        return max(1, self.bags // 4) if self.method == "full" else self.bags

    @property
    def classes(self) -> int:
        """How many (n, l)-CSL graphs there are."""
        return len(union_classes(csl_members(self.n), self.components))


@dataclass(frozen=True)
class Evaluation:
    """Where a training stands: shares of the test graphs that are told right, or have a pick in every component.

    Both are with the best picks (or the random policy's), ``sampled_coverage`` with drawn ones. Seconds leave
    evaluations out; the loss is the mean over the steps since the last evaluation.
    """

    step: int
    seconds: float
    cpu_seconds: float
    loss: float
    accuracy: float
    coverage: float
    sampled_coverage: float

    def reaches(self, config: LearningConfig) -> bool:
        """Whether this counts as learned."""
        return self.accuracy >= config.goal and (config.method not in ESTIMATORS or self.coverage >= config.goal)


@dataclass(frozen=True)
class Learned:
    """A training and what came out of it."""

    config: LearningConfig
    curve: tuple[Evaluation, ...]
    model: SubgraphGNN


def first_settled(curve: Sequence[Evaluation], config: LearningConfig) -> Evaluation | None:
    """The first of ``config.settled`` evaluations in a row at the goal (at least one); None if there is no such row."""
    length = max(1, config.settled)
    for start in range(len(curve) - length + 1):
        if all(point.reaches(config) for point in curve[start : start + length]):
            return curve[start]
    return None


def learn(config: LearningConfig, report: Callable[[int, float, Evaluation | None], None] | None = None) -> Learned:
    """Train on fresh random graphs, a new batch each step, and evaluate on unseen ones.

    ``report`` is told of each step, its loss, and of the newest evaluation.
    """
    model = new_model(config)
    task = Task("classes", "cross_entropy", "accuracy", classes=tuple(map(str, range(config.classes))))
    optimiser = torch.optim.Adam(model.parameters(), lr=config.learning_rate, eps=config.epsilon, fused=True)
    rate = warmup_cosine(config.steps, WARMUP) if config.schedule == "cosine" else lambda _step: 1.0
    rates = LambdaLR(optimiser, rate)
    fresh = fresh_graphs(config, 0, config.graphs)
    draws = torch.Generator().manual_seed(config.seed)
    test = next(fresh_graphs(config, 1, config.test_graphs))
    curve: list[Evaluation] = []
    losses: list[float] = []
    wall = cpu = 0.0
    for step in range(1, config.steps + 1):
        started = time.perf_counter(), time.process_time()
        model.train()
        batch = next(fresh)
        found = model.objective(batch, batch.y, task.loss_terms, generator=draws)
        optimiser.zero_grad()
        found.loss.backward()  # type: ignore[no-untyped-call]
        if config.clip > 0:
            nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimiser.step()
        rates.step()
        losses.append(float(found.prediction_loss))
        wall, cpu = wall + time.perf_counter() - started[0], cpu + time.process_time() - started[1]
        if step % config.every == 0 or step == config.steps:
            scores = evaluate(model, config, test)
            curve.append(Evaluation(step, round(wall, 2), round(cpu, 2), round(float(np.mean(losses)), 5), *scores))
            losses = []
        if report is not None:
            report(step, float(found.prediction_loss), curve[-1] if curve else None)
        if config.settled and first_settled(curve, config) is not None:
            break
    return Learned(config, tuple(curve), model.eval())


def evaluate(model: SubgraphGNN, config: LearningConfig, test: Batch) -> tuple[float, float, float]:
    """Accuracy, coverage by the best picks and coverage by drawn ones, on test graphs.

    The norms' statistics are recomputed on training graphs, because running ones trail behind weights that move.
    What is drawn here is independent of the training, so that it goes the same way however often it is looked at.
    """
    draws = torch.Generator().manual_seed(config.seed + 1)
    batches = fresh_graphs(config, 2, config.graphs)
    calibrate(model, (next(batches) for _ in range(config.calibration)), generator=draws)
    model.eval()
    graphs = Graphs.of(test)
    with torch.no_grad():
        best = model.select(graphs)
        accuracy = float((model.predict(graphs, best).argmax(1) == test.y).double().mean())
        drawn = draw_picks(model.policy, graphs, generator=draws)
    return accuracy, share_covered(best, test, config), share_covered(drawn, test, config)


def covered(selection: Selection, component: Tensor, components: int) -> Tensor:
    """Whether the picks of each graph, all of them made, reach all of its ``components``, ``(G,)``.

    ``component`` is that of each node of the batch, 0 to ``components - 1``, ``(N,)``.
    """
    reached = torch.zeros(selection.roots.shape[1], components, dtype=torch.bool, device=component.device)
    part = component[selection.roots]  # (T, G)
    reached.scatter_(1, part.t(), True)
    return reached.all(dim=1)


def share_covered(selection: Selection, batch: Batch, config: LearningConfig) -> float:
    """Share of graphs with a pick in every component."""
    return float(covered(selection, batch.component, config.components).double().mean())


def fresh_graphs(config: LearningConfig, stream: int, size: int, *, shuffle: bool = True) -> Iterator[Batch]:
    """New graphs without end, ``size`` at a time; ``component`` says which one each node is in.

    Streams share nothing: 0 is to train, 1 to test, 2 for the norms, 3 for pictures.
    """
    generator = np.random.default_rng([config.seed, stream])
    while True:
        graphs = csl_unions(config.n, config.components, size, generator, shuffle=shuffle)
        batch = make_batch(graphs, range(size))
        batch.component = torch.from_numpy(graphs.extras["component"])
        yield batch


def new_model(config: LearningConfig) -> SubgraphGNN:
    """The untrained model of a configuration; the weights depend on the seed alone."""
    learned = config.method in ESTIMATORS
    selection: dict[str, Any] = {"name": "learned", "estimator": config.method} if learned else {"name": config.method}
    selection |= {"picks": config.components} if config.method not in ("none", "full") else {}
    selection |= {"tau": config.tau} if config.method == "straight_through" else {}
    selection |= {"entropy": config.entropy} if config.method == "reinforce" else {}
    selection |= {"seed": config.seed} if config.method == "random" else {}
    settings = {
        "prediction": {"channels": config.channels, "layers": config.layers},
        "selection": selection,
        "readout": config.readout,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model = accelerate(build_model(settings=settings, inputs=Inputs(outputs=config.classes)))
    assert isinstance(model, SubgraphGNN)
    return model
