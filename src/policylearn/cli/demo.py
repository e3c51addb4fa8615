"""``policylearn demo``: learn which nodes to mark in graphs that ordinary message passing cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import Batch

    from policylearn.models import SubgraphGNN

NAME = "demo"
HELP = "train a learned policy, in about a minute"

CYCLE, COMPONENTS, CLASSES = 17, 3, 4
GRAPHS_A_STEP, TEST_BATCHES, TEST_BATCH, CALIBRATION_BATCHES = 8, 4, 50, 30


def add_options(parser: ArgumentParser) -> None:
    """Options of the verb."""
    parser.add_argument("--steps", type=int, default=400, help="training steps")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, the graphs and the draws")


def run(options: Namespace) -> int:
    """Train, evaluate, print a table."""
    if options.steps < 1:
        raise ValueError(f"'steps' must be >= 1 (got {options.steps})")
    import torch
    from rich.console import Console
    from rich.table import Table

    from policylearn.models import SubgraphGNN, calibrate
    from policylearn.policies import RandomPolicy

    console = Console()
    console.print(
        f"Graphs of {COMPONENTS} rings with {CYCLE} nodes and skip links each, in {CLASSES} classes that ordinary"
        f" message passing cannot tell apart. The model marks {COMPONENTS} nodes, and has to find one in every ring."
    )
    torch.manual_seed(options.seed)
    draws = torch.Generator().manual_seed(options.seed)
    fresh = fresh_graphs([options.seed, 0], GRAPHS_A_STEP)
    model = small_model()
    train(model, fresh, options.steps, draws)
    calibrate(model, (next(fresh) for _ in range(CALIBRATION_BATCHES)), generator=draws)
    at_random = SubgraphGNN(RandomPolicy(COMPONENTS), model.encoder, model.readout, model.head, pool=model.pool)

    table = Table(title=f"{TEST_BATCHES * TEST_BATCH} new graphs after {options.steps} steps")
    table.add_column("picks")
    table.add_column("every ring found", justify="right")
    table.add_column("accuracy", justify="right")
    for name, candidate in (("learned", model), ("random, same prediction network", at_random)):
        score = evaluate(candidate, fresh_graphs([options.seed, 1], TEST_BATCH))
        table.add_row(name, f"{score.covered:.1%}", f"{score.accuracy:.1%}")
    table.add_row("guessing", "", f"{1 / CLASSES:.1%}")
    console.print(table)
    return 0


def fresh_graphs(seed: list[int], size: int) -> Iterator[Batch]:
    """New graphs for ever, ``size`` at a time; ``component`` says which ring each node is in."""
    import numpy as np
    import torch

    from policylearn.data import make_batch
    from policylearn.data.synthetic import csl_unions

    generator = np.random.default_rng(seed)
    while True:
        graphs = csl_unions(CYCLE, COMPONENTS, size, generator)
        batch = make_batch(graphs, range(size))
        batch.component = torch.from_numpy(graphs.extras["component"])
        yield batch


def small_model() -> SubgraphGNN:
    """A learned policy and a prediction network small enough for one core."""
    from policylearn.models import ModelConfig, NetworkConfig, PolicyConfig, build_model

    network = NetworkConfig(channels=32, layers=4)
    policy = PolicyConfig(picks=COMPONENTS)
    return build_model(ModelConfig(outputs=CLASSES, prediction=network, policy=policy, readout="sum"))


def train(model: SubgraphGNN, fresh: Iterator[Batch], steps: int, generator: torch.Generator) -> None:
    """Train in place, with a progress bar."""
    import torch
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from policylearn.data import Task
    from policylearn.models import objective

    task = Task("classes", "cross_entropy", "accuracy", classes=tuple(map(str, range(CLASSES))))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeRemainingColumn()) as progress:
        bar = progress.add_task("", total=steps)
        mean: float | None = None
        for batch, _ in zip(fresh, range(steps), strict=False):
            step = objective(model, batch, batch.y, task.loss_terms, generator=generator)
            optimiser.zero_grad()
            step.loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            loss = float(step.prediction_loss)
            mean = loss if mean is None else 0.95 * mean + 0.05 * loss
            progress.update(bar, advance=1, description=f"loss {mean:.3f}")


@dataclass(frozen=True)
class Score:
    """Shares of the test graphs: with a pick in every ring, and told right."""

    covered: float
    accuracy: float


def evaluate(model: SubgraphGNN, fresh: Iterator[Batch]) -> Score:
    """Score the model on new graphs."""
    import torch

    model.eval()
    covered = correct = total = 0
    with torch.no_grad():
        for batch, _ in zip(fresh, range(TEST_BATCHES), strict=False):
            selection = model.select(batch)
            found = batch.component[selection.roots].sort(dim=0).values  # (T, G)
            covered += int((found == torch.arange(COMPONENTS).unsqueeze(1)).all(0).sum())
            correct += int((model.predict(batch, selection).argmax(1) == batch.y).sum())
            total += batch.num_graphs
    return Score(covered / total, correct / total)
