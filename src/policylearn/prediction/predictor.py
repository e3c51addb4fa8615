"""A trained model, or an ensemble of them, that answers: values, how sure they are, and picked nodes."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from policylearn.bags import Graphs
from policylearn.data import BatchLoader, DataError, PackedGraphs, Task, join_graphs
from policylearn.data.packed import Array
from policylearn.data.preparation import prepare_in_order
from policylearn.data.subset import gather
from policylearn.data.transforms import Transform
from policylearn.prediction.applicability import Domain, Nearness
from policylearn.prediction.blend import Blend
from policylearn.prediction.calibration import USUAL, Calibration, label_chances
from policylearn.prediction.input_graphs import Items, find_misfits, pack_items
from policylearn.settings.run_files import batch_warning
from policylearn.training.evaluation import answers, local_picks, outputs_of
from policylearn.training.members import load_members
from policylearn.training.packed_run import run_folder
from policylearn.training.prepared_data import apply_stored, check_columns
from policylearn.training.runs import Run

CHUNK = 512
"""Molecules that are prepared together."""


class BatchWarning(UserWarning):
    """Predictions that depend on the other graphs of their batch."""


def load(run: str | Path) -> Predictor:
    """A trained model, ready to predict.

    Args:
        run: the folder that a training left behind, or a file that ``policylearn pack`` made of it.

    Example:
        >>> policylearn.load("runs/molecules").predict(["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    with run_folder(run) as folder:
        members = load_members(folder)
        first, *others = (found.build() for found in members)
        beside = (Calibration.load(folder), Blend.load(folder), Domain.load(folder))
    found = replace(members[0], folder=Path(run)) if folder != Path(run) else members[0]
    predictor = Predictor(found, first, tuple(others), *beside)
    if predictor.depends_on_batch:
        text = batch_warning(found.folder, found.config, found.facts.evaluation_batch_size)
        warnings.warn(text, BatchWarning, stacklevel=2)
    return predictor


@dataclass(frozen=True)
class Answer:
    """What a model says of some graphs.

    Args:
        values: in the data's units, or probabilities; an ensemble's mean.
        picks: the nodes that were marked, counted within each graph; of an ensemble those that any member has, the ones
            that most members have first.
        std: standard deviation of the values over the members of an ensemble; None for one model.
        lower: lower ends of the intervals; None without calibration, and where labels are predicted.
        upper: their upper ends.
        labels: which labels are in the set of each target; None without calibration, and where numbers are predicted.
        near: how far each molecule is from the training molecules; None where the run does not know.

    Shapes:
        values, std, lower and upper ``(R, outputs)``, one row per graph (node-level tasks: one per node); picks G
        lists; labels ``(R, targets, labels)``.
    """

    values: Array
    picks: list[list[int]]
    std: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    labels: Array | None = None
    near: Nearness | None = None


@dataclass(frozen=True, repr=False)
class Predictor:
    """A trained model with what it needs to know of its data.

    Graphs come as one SMILES or a list of them (where the run was trained on molecules), as a PyG ``Data``, a list of
    ``Data`` or a ``Batch`` with features encoded as in training, or packed. Answers are numpy arrays. They do not
    depend on the batch size, up to rounding, unless `depends_on_batch`; then the batch size is the run's own whatever
    is asked for. Move ``model`` to another device to predict there.

    Args:
        run: the run that it comes from; of an ensemble, the first.
        model: the trained model, in evaluation mode.
        others: the other members of an ensemble.
        calibration: what makes intervals; None where the run has none.
        beside: models that answer beside the network; None where the run has none.
        domain: the molecules that it has learned from; None where the run has no distances to them.
    """

    run: Run
    model: nn.Module
    others: tuple[nn.Module, ...] = ()
    calibration: Calibration | None = None
    beside: Blend | None = None
    domain: Domain | None = None

    @property
    def models(self) -> tuple[nn.Module, ...]:
        """All members; one model is an ensemble of one."""
        return (self.model, *self.others)

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
            a row per graph (node-level tasks: a row per node) and a column per target; for yes/no tasks the probability
            of yes per target, for classes a column per class.
        """
        return self.answer(items, batch_size=batch_size).values

    def picks(self, items: Items, *, batch_size: int | None = None) -> list[list[int]]:
        """The nodes that the policy marks in each graph, in the order of its picks, counted within the graph.

        Atoms count from 0 in the order of the SMILES. A model without picks gives empty lists.
        """
        return self.answer(items, batch_size=batch_size).picks

    def answer(self, items: Items, *, batch_size: int | None = None, level: float = USUAL) -> Answer:
        """Values, picks, and what is known of their error.

        Args:
            items: the graphs; a `DataError` names the first one that cannot be used and why.
            batch_size: graphs looked at together; None takes the run's.
            level: how often intervals and sets shall hold the truth.
        """
        return self.answer_prepared(self.prepare(items), batch_size=batch_size, level=level)

    def answer_molecules(self, smiles: Sequence[str], *, workers: int = 0) -> tuple[Answer, dict[int, str]]:
        """The answer of the molecules that can be read, in their order, and why the others cannot, by position.

        Args:
            smiles: one per molecule.
            workers: processes that read them, with a time limit per molecule; 0 reads them in this one, without.
        """
        fitted = [Transform.from_json(stored) for stored in self.run.facts.transforms]
        chunks = [range(start, min(start + CHUNK, len(smiles))) for start in range(0, len(smiles), CHUNK)]
        graphs: list[PackedGraphs] = []
        problems: dict[int, str] = {}
        for chunk, found in prepare_in_order(
            chunks, lambda rows: [smiles[at] for at in rows], fitted, workers, parents=self.run.facts.parents
        ):
            problems |= {chunk[at]: reason for at, reason in found.problems.items()}
            graphs += [] if found.graphs is None else [found.graphs]
        return self.answer_prepared(join_graphs(graphs)), problems

    @torch.inference_mode()
    def answer_prepared(
        self, graphs: PackedGraphs | None, *, batch_size: int | None = None, level: float = USUAL
    ) -> Answer:
        """The answer of graphs that `prepare` gave; the other arguments are those of `answer`.

        Where the batch plays no part, several batches are cut from the graphs sorted by size.
        """
        size = self.batch_size(batch_size)
        order = None
        if graphs is not None and len(graphs) > size and not self.depends_on_batch:
            order = np.argsort(graphs.num_nodes, kind="stable")
        picks: list[list[int]] = []
        parts: list[list[Array]] = [[] for _ in self.models]
        for batch in self.prepared_batches(graphs, size, order):
            bags: list[list[list[int]]] = []
            for model, part in zip(self.models, parts, strict=True):
                outputs, selection = outputs_of(model, batch)
                part.append(answers(outputs, self.task).cpu().numpy())
                bags += [] if selection is None else [local_picks(selection, batch)]
            picks += merged_picks(bags, batch.num_graphs)
        members = np.stack([self._stacked(part) for part in parts])  # (members, R, outputs)
        if graphs is not None and order is not None:
            members = members[:, self._rows_before_sorting(graphs, order)]
            place = np.argsort(order)
            picks = [picks[at] for at in place]
        if graphs is not None and "atoms" in graphs.extras:  # picks are counted in the molecules as they were given
            places = graphs.extras["atoms"]
            picks = [
                places[start + np.array(own, int)].tolist() for start, own in zip(graphs.node_ptr, picks, strict=False)
            ]
        values, std = mean_and_std(members)
        if self.beside is not None and graphs is not None:
            values = self.beside.answer(values, graphs)
        near = None if self.domain is None or graphs is None else self.domain.nearness(graphs)
        return self.with_intervals(Answer(values, picks, std, near=near), level)

    def with_intervals(self, answer: Answer, level: float = USUAL) -> Answer:
        """The answer with intervals or sets, where the run has calibration."""
        found = self.calibration
        if found is None:
            return answer
        if found.kind == "set":
            return replace(answer, labels=found.label_set(label_chances(self.task, answer.values), level, answer.near))
        lower, upper = found.interval(answer.values, answer.std, level, answer.near)
        return replace(answer, lower=lower, upper=upper)

    def misfits(self, graphs: PackedGraphs) -> dict[int, str]:
        """Why graphs cannot be predicted on, by position."""
        return find_misfits(graphs, self.run.facts.node_features, self.run.facts.edge_features)

    def batch_size(self, wanted: int | None) -> int:
        """Graphs of a batch: what was asked for where that plays no part, else the run's own."""
        if wanted is not None and wanted < 1:
            raise ValueError(f"'batch_size' must be >= 1 (got {wanted})")
        return self.run.facts.evaluation_batch_size if wanted is None or self.depends_on_batch else wanted

    def batches(self, items: Items, batch_size: int | None) -> Iterator[Graphs]:
        """The graphs as the model takes them, some at a time; the arguments are those of `answer`."""
        size = self.batch_size(batch_size)
        yield from self.prepared_batches(self.prepare(items), size)

    def prepare(self, items: Items) -> PackedGraphs | None:
        """The graphs in the packed form, checked, with the structures that the model reads; None where there are none.

        Args:
            items: the graphs; a `DataError` names the first one that cannot be used and why.
        """
        facts = self.run.facts
        packed = pack_items(items, molecules=facts.featuriser is not None, parents=facts.parents)
        if packed is None:
            return None
        self.check_features(packed)
        return apply_stored(facts.transforms, packed, columns=facts.columns, source="the input")

    def check_prepared(self, graphs: PackedGraphs) -> None:
        """Raise a `DataError` unless the model can read the graphs, which another process has prepared."""
        self.check_features(graphs)
        check_columns(graphs, self.run.facts.columns, "the input")

    def check_features(self, graphs: PackedGraphs) -> None:
        """Raise a `DataError` that names the first graph with features that the model does not know."""
        misfits = self.misfits(graphs)
        if misfits:
            first = min(misfits)
            raise DataError(f"graph {first} of the input: {misfits[first]}")

    def prepared_batches(self, graphs: PackedGraphs | None, size: int, order: Array | None = None) -> Iterator[Graphs]:
        """The graphs that `prepare` gave as the model takes them, in this order, so many at a time."""
        if graphs is None:
            return
        device = next(self.model.parameters()).device
        for named in BatchLoader(graphs, order, batch_size=size).tensors():
            yield Graphs.of({name: values.to(device) for name, values in named.items()})

    def _rows_before_sorting(self, graphs: PackedGraphs, order: Array) -> Array:
        """Where each row of an answer stands among the rows of the graphs in ``order``."""
        if self.task.level != "node":
            return np.argsort(order)
        rows, _ = gather(graphs.node_ptr, order)  # row of the input that each row of the answer is
        return np.argsort(rows)

    def _stacked(self, parts: list[Array]) -> Array:
        return np.concatenate(parts) if parts else np.zeros((0, self.task.outputs), dtype=np.float32)

    def __repr__(self) -> str:
        members = f", {len(self.models)} members" if self.others else ""
        return (
            f"Predictor({str(self.run.folder)!r}: {self.task.kind} of {', '.join(self.task.targets)},"
            f" trained on {self.run.facts.dataset['name']} with {self.run.label}{members})"
        )


def mean_and_std(members: Array) -> tuple[Array, Array | None]:
    """The mean over the members of an ensemble and their standard deviation; of one model its own values, and None.

    Shapes:
        members ``(members, R, outputs)``.
    """
    if len(members) == 1:
        return members[0], None
    mean, std = members.mean(axis=0, dtype=np.float64), members.std(axis=0, ddof=1, dtype=np.float64)
    return mean.astype(members.dtype), std.astype(members.dtype)


def merged_picks(bags: Sequence[list[list[int]]], graphs: int) -> list[list[int]]:
    """The nodes that were picked in each graph, of one bag or of several; empty lists where nothing picks."""
    if len(bags) == 1:
        return bags[0]
    return [by_votes(lists) for lists in zip(*bags, strict=True)] if bags else [[] for _ in range(graphs)]


def by_votes(lists: Sequence[list[int]]) -> list[int]:
    """The nodes of several lists, those in most lists first, then in the order of the lists."""
    votes = Counter(node for nodes in lists for node in dict.fromkeys(nodes))
    return [node for node, _ in votes.most_common()]
