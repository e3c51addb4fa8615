"""A trained model that answers: values, picked nodes, and how much an answer hangs on the picks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from policylearn.bags import NO_PICK, Selection
from policylearn.data import BatchLoader, DataError, PackedGraphs, Task
from policylearn.data.packed import Array
from policylearn.models import SubgraphGNN
from policylearn.nn import Graphs
from policylearn.prediction.input_graphs import Items, find_misfits, pack_items
from policylearn.prediction.sampled_bags import sampled_outputs
from policylearn.training.evaluation import answers
from policylearn.training.runs import Run, load_run


class BatchWarning(UserWarning):
    """Predictions that depend on the other graphs of their batch."""


def load(run: str | Path) -> Predictor:
    """A trained model, ready to predict.

    Args:
        run: the folder that a training left behind.

    Example:
        >>> policylearn.load("runs/molecules").predict(["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    found = load_run(Path(run))
    predictor = Predictor(found, found.build())
    if predictor.depends_on_batch:
        warnings.warn(dependence(found), BatchWarning, stacklevel=2)
    return predictor


@dataclass(frozen=True)
class Answer:
    """What a model says of some graphs.

    Args:
        values: in the data's units, or probabilities.
        picks: the nodes that were marked, counted within each graph.
        spread: standard deviation of the values over drawn bags, where it was asked for.

    Shapes:
        values and spread ``(R, outputs)``, a row a graph (node-level tasks: a row a node); picks G lists.
    """

    values: Array
    picks: list[list[int]]
    spread: Array | None = None


@dataclass(frozen=True, repr=False)
class Predictor:
    """A trained model with what it needs to know of its data.

    Graphs come as one SMILES or a list of them (where the run was trained on molecules), as a PyG ``Data``, a list of
    ``Data`` or a ``Batch`` with features encoded as in training, or packed. Answers are numpy arrays. They do not
    depend on the batch size, up to rounding, unless `depends_on_batch`; then the batch size is the run's own whatever
    is asked for. Move ``model`` to another device to predict there.

    Args:
        run: the run that it comes from.
        model: the trained model, in evaluation mode.
    """

    run: Run
    model: SubgraphGNN

    @property
    def task(self) -> Task:
        """What is predicted."""
        return self.run.facts.task

    @property
    def depends_on_batch(self) -> bool:
        """Whether norms look at the whole batch in prediction too, as in `paper` mode."""
        return self.run.facts.depends_on_batch

    def predict(self, items: Items, *, batch_size: int | None = None) -> Array:
        """Numbers in the data's units (regression) or probabilities, ``(R, outputs)``.

        Args:
            items: the graphs; a `DataError` names the first one that cannot be used and why.
            batch_size: graphs looked at together; None takes the run's.

        Shapes:
            a row a graph (node-level tasks: a row a node) and a column a target; for yes/no tasks the probability of
            yes a target, for classes a column a class.
        """
        return self.answer(items, batch_size=batch_size).values

    @torch.inference_mode()
    def picks(self, items: Items, *, batch_size: int | None = None) -> list[list[int]]:
        """The nodes that the policy marks in each graph, in the order of its picks, counted within the graph.

        Atoms count from 0 in the order of the SMILES. A policy without picks gives empty lists.
        """
        return [
            picked
            for graphs in self._batches(items, batch_size)
            for picked in local_picks(self.model.select(graphs), graphs)
        ]

    @torch.inference_mode()
    def spread(self, items: Items, *, samples: int = 16, seed: int = 0, batch_size: int | None = None) -> Array:
        """Standard deviation of the predictions over bags that the policy draws, ``(R, outputs)``.

        Args:
            items: the graphs.
            samples: K >= 2, bags a graph.
            seed: of the draws, which depend on it and on the graph alone.
            batch_size: graphs looked at together; None takes the run's.
        """
        self.check_spread(samples, seed)
        parts = [self._spread(graphs, samples, seed) for graphs in self._batches(items, batch_size)]
        return self._stacked(parts)

    @torch.inference_mode()
    def answer(self, items: Items, *, batch_size: int | None = None, samples: int = 0, seed: int = 0) -> Answer:
        """Values and picks at once, and with ``samples`` > 0 the spread; the arguments are those of `spread`."""
        if samples:
            self.check_spread(samples, seed)
        values, picks, spread = [], [], []
        for graphs in self._batches(items, batch_size):
            selection = self.model.select(graphs)
            values.append(answers(self.model.predict(graphs, selection), self.task).cpu().numpy())
            picks += local_picks(selection, graphs)
            if samples:
                spread.append(self._spread(graphs, samples, seed))
        return Answer(self._stacked(values), picks, self._stacked(spread) if samples else None)

    def check_spread(self, samples: int, seed: int) -> None:
        """Raise unless the policy draws and the numbers make sense."""
        selection = self.run.config.selection
        if selection.name not in ("learned", "random") or selection.picks == 0:
            picks = f" with {selection.picks} picks" if selection.name in ("learned", "random") else ""
            raise ValueError(
                f"the policy '{selection.name}'{picks} draws nothing, so its predictions have no spread;"
                " ask for it of a run with a learned or random policy"
            )
        if samples < 2 or seed < 0:
            raise ValueError(f"a spread needs 'samples' >= 2 and 'seed' >= 0 (got {samples} and {seed})")

    def misfits(self, graphs: PackedGraphs) -> dict[int, str]:
        """Why graphs cannot be predicted on, by position."""
        return find_misfits(graphs, self.run.facts.node_features, self.run.facts.edge_features)

    def batch_size(self, wanted: int | None) -> int:
        """Graphs of a batch: what was asked for where that plays no part, else the run's own."""
        if wanted is not None and wanted < 1:
            raise ValueError(f"'batch_size' must be >= 1 (got {wanted})")
        return self.run.facts.evaluation_batch_size if wanted is None or self.depends_on_batch else wanted

    def _batches(self, items: Items, batch_size: int | None) -> Iterator[Graphs]:
        size = self.batch_size(batch_size)
        packed = pack_items(items, molecules=self.run.facts.featuriser is not None)
        if packed is None:
            return
        misfits = self.misfits(packed)
        if misfits:
            first = min(misfits)
            raise DataError(f"graph {first} of the input: {misfits[first]}")
        device = next(self.model.parameters()).device
        for batch in BatchLoader(packed, batch_size=size):
            yield Graphs.of(batch.to(device))

    def _spread(self, graphs: Graphs, samples: int, seed: int) -> Array:
        outputs = sampled_outputs(self.model, graphs, samples, seed)  # (K, R, outputs)
        drawn = answers(outputs.flatten(0, 1), self.task).view_as(outputs)
        deviation: Array = drawn.double().std(dim=0).to(drawn.dtype).cpu().numpy()
        return deviation

    def _stacked(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.zeros((0, self.task.outputs), dtype=np.float32)

    def __repr__(self) -> str:
        facts, selection = self.run.facts, self.run.config.selection
        return (
            f"Predictor({str(self.run.folder)!r}: {self.task.kind} of {', '.join(self.task.targets)},"
            f" trained on {facts.dataset['name']} with policy {selection.name!r}, {selection.picks} picks)"
        )


def local_picks(selection: Selection, graphs: Graphs) -> list[list[int]]:
    """The picks of each graph, counted within the graph."""
    columns = selection.local_roots(graphs.ptr).t().tolist()  # (T, G) -> G lists
    return [[node for node in column if node != NO_PICK] for column in columns]


def dependence(run: Run) -> str:
    """The warning about a model whose outputs depend on the batch."""
    paper = run.config.selection.name == "learned" and run.config.selection.mode == "paper"
    reason = "was trained in 'paper' mode" if paper else "has batch norms without running statistics"
    return (
        f"{run.folder}: the model {reason}, so each prediction depends on the other graphs of its batch;"
        f" batches are cut in the order of the input, {run.facts.evaluation_batch_size} graphs each as in the run's"
        " evaluation, whatever batch size is asked for"
    )
