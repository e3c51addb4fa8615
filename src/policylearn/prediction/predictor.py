"""A trained model, or an ensemble of them, that answers: values, how sure they are, and picked nodes."""

from __future__ import annotations

import warnings
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
from policylearn.prediction.answer import Answer, combine_members
from policylearn.prediction.applicability import Domain
from policylearn.prediction.blend import Blend
from policylearn.prediction.calibration import USUAL, Calibration
from policylearn.prediction.input_graphs import Items, find_misfits, pack_items
from policylearn.settings.run_files import batch_warning
from policylearn.settings.schema import RunNote
from policylearn.training.evaluation import answers, local_picks, outputs_of
from policylearn.training.packed_run import run_folder
from policylearn.training.prepared_data import apply_stored, check_columns
from policylearn.training.runs import Run, load_members

CHUNK = 512
"""Molecules that are prepared together."""


class BatchWarning(RunNote):
    """Predictions that depend on the other graphs of their batch."""


def load(run: str | Path) -> Predictor:
    """A trained model, ready to predict, from its run folder or from a file that ``policylearn pack`` made of it.

    Example:
        >>> policylearn.load("runs/molecules").predict(["CCO", "c1ccccc1"])  # doctest: +SKIP
    """
    with run_folder(run) as folder:
        members = load_members(folder)
        first, *others = (found.build() for found in members)
        stored = (Calibration.load(folder), Blend.load(folder), Domain.load(folder))
    found = replace(members[0], folder=Path(run)) if folder != Path(run) else members[0]
    predictor = Predictor(found, first, tuple(others), *stored)
    if predictor.depends_on_batch:
        text = batch_warning(found.folder, found.config, found.facts.evaluation_batch_size)
        warnings.warn(text, BatchWarning, stacklevel=2)
    return predictor


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
        blend: models whose predictions are averaged with the network's; None where the run has none.
        domain: the molecules that it has learned from; None where the run has no distances to them.
    """

    run: Run
    model: nn.Module
    others: tuple[nn.Module, ...] = ()
    calibration: Calibration | None = None
    blend: Blend | None = None
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

    @property
    def transforms(self) -> list[Transform]:
        """What prepares graphs for the model."""
        return [Transform.from_json(stored) for stored in self.run.facts.transforms]

    def predict(self, items: Items, *, batch_size: int | None = None) -> Array:
        """The values of `answer`: numbers in the data's units, or probabilities, ``(R, outputs)``.

        A row per graph (node-level tasks: a row per node) and a column per target: for yes/no tasks the probability of
        yes, for classes a column per class.
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
        """The answer of the molecules that `prepare_molecules` can read, and why the others cannot, by position."""
        graphs, problems = self.prepare_molecules(smiles, workers=workers)
        return self.answer_prepared(graphs), problems

    def prepare_molecules(
        self, smiles: Sequence[str], *, workers: int = 0
    ) -> tuple[PackedGraphs | None, dict[int, str]]:
        """The molecules that can be read, in their order, ready for the model, and why the others cannot, by position.

        So many ``workers`` read them, with a time limit per molecule; 0 reads them in this process, without.
        """
        chunks = [range(start, min(start + CHUNK, len(smiles))) for start in range(0, len(smiles), CHUNK)]
        graphs: list[PackedGraphs] = []
        problems: dict[int, str] = {}
        for chunk, found in prepare_in_order(
            chunks, lambda rows: [smiles[at] for at in rows], self.transforms, workers, parents=self.run.facts.parents
        ):
            problems |= {chunk[at]: reason for at, reason in found.problems.items()}
            graphs += [] if found.graphs is None else [found.graphs]
        return join_graphs(graphs), problems

    @torch.inference_mode()
    def answer_prepared(
        self, graphs: PackedGraphs | None, *, batch_size: int | None = None, level: float = USUAL
    ) -> Answer:
        """The answer of graphs that `prepare` gave; the other arguments are those of `answer`.

        Where the batch plays no part, several batches are cut from the graphs sorted by size.
        """
        size = self.batch_size(batch_size)
        if graphs is None:
            nothing = np.zeros((0, self.task.outputs), dtype=np.float32)
            return self.with_intervals(Answer(nothing, [], nothing if self.others else None), level)
        order = np.arange(len(graphs))
        if len(graphs) > size and not self.depends_on_batch:
            order = np.argsort(graphs.num_nodes, kind="stable")
        picks: list[list[list[int]]] = [[] for _ in self.models]
        parts: list[list[Array]] = [[] for _ in self.models]
        for batch in self.prepared_batches(graphs, size, order):
            for model, part, own in zip(self.models, parts, picks, strict=True):
                outputs, selection = outputs_of(model, batch)
                part.append(answers(outputs, self.task).cpu().numpy())
                own += [[]] * batch.num_graphs if selection is None else local_picks(selection, batch)
        rows = gather(graphs.node_ptr, order)[0] if self.task.level == "node" else order  # of the input, by answer
        place, back = np.argsort(order), np.argsort(rows)
        found = combine_members(
            [np.concatenate(part)[back] for part in parts], [[own[at] for at in place] for own in picks]
        )
        if "atoms" in graphs.extras:  # picks are counted in the molecules as they were given
            atoms, starts = graphs.extras["atoms"], graphs.node_ptr
            given = [
                atoms[start + np.array(own, int)].tolist() for start, own in zip(starts, found.picks, strict=False)
            ]
            found = replace(found, picks=given)
        values = found.values if self.blend is None else self.blend.answer(found.values, graphs)
        near = None if self.domain is None else self.domain.nearness(graphs)
        return self.with_intervals(replace(found, values=values, near=near), level)

    def with_intervals(self, answer: Answer, level: float = USUAL) -> Answer:
        """The answer with intervals or sets, where the run has calibration."""
        return answer if self.calibration is None else self.calibration.bound(self.task, answer, level)

    def misfits(self, graphs: PackedGraphs) -> dict[int, str]:
        """Why graphs cannot be predicted on, by position."""
        return find_misfits(graphs, self.run.facts.node_features, self.run.facts.edge_features)

    def batch_size(self, wanted: int | None) -> int:
        """Graphs of a batch: what was asked for where that plays no part, else the run's own."""
        if wanted is not None and wanted < 1:
            raise ValueError(f"'batch_size' must be >= 1 (got {wanted})")
        return self.run.facts.evaluation_batch_size if wanted is None or self.depends_on_batch else wanted

    def prepare(self, items: Items) -> PackedGraphs | None:
        """The graphs in the packed form, checked, with the structures that the model reads; None for no graphs."""
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

    def prepared_batches(self, graphs: PackedGraphs, size: int, order: Array | None = None) -> Iterator[Graphs]:
        """The graphs that `prepare` gave as the model takes them, in this order, so many at a time."""
        device = next(self.model.parameters()).device
        for named in BatchLoader(graphs, order, batch_size=size).tensors():
            yield Graphs.of({name: values.to(device) for name, values in named.items()})

    def __repr__(self) -> str:
        members = f", {len(self.models)} members" if self.others else ""
        return (
            f"Predictor({str(self.run.folder)!r}: {self.task.kind} of {', '.join(self.task.targets)},"
            f" trained on {self.run.facts.dataset['name']} with {self.run.label}{members})"
        )
