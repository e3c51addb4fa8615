"""What each pick does to a prediction: the network's answers with the first 0 to T picks, and the picks drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

import numpy as np
import torch
from rdkit import rdBase
from torch import nn

from policylearn.data import PackedGraphs, Task
from policylearn.data.molecules import parse
from policylearn.data.packed import Array
from policylearn.data.subset import local_nodes
from policylearn.explain.molecules import MOST_ATOMS, molecule_svg
from policylearn.explain.traces import Trace, trace_selection
from policylearn.models import PickingModel, SubgraphGNN
from policylearn.policies import FullPolicy, NoPolicy
from policylearn.prediction.answer_columns import AnswerColumns
from policylearn.prediction.predictor import Predictor
from policylearn.training.evaluation import answers


@dataclass(frozen=True)
class PickStep:
    """One pick."""

    number: int  # from 1
    node: int
    chance: float | None  # of this node; None where the policy has no probabilities
    svg: str  # the graph, shaded by the probabilities before the pick; empty where it is too large
    said: str  # what the network predicts with this pick and those before it; empty where it cannot be asked


@dataclass(frozen=True)
class PickedGraph:
    """A graph with its picks, ready for a page."""

    name: str  # the SMILES of a molecule
    svg: str
    said: str = ""  # what the network predicts without a pick
    steps: tuple[PickStep, ...] = ()  # empty where the policy picks nothing in particular
    nodes: tuple[tuple[int, str, tuple[float, ...]], ...] = ()  # number, symbol and probability at each pick


@dataclass(frozen=True)
class PickedAnswers:
    """The picks of a predictor's first member on some graphs, and what this network says with the first of them.

    Args:
        task: what it predicts.
        traces: the picks on each graph; empty where the model picks no single nodes.
        values: with the first 0 to T picks; empty where the model cannot be asked with fewer.
        numbers: of each graph's nodes, as they are shown: the atoms of the molecule as it was given.

    Shapes:
        values ``(T + 1, G, outputs)``.
    """

    task: Task
    traces: list[Trace]
    values: Array
    numbers: list[list[int]]

    def draw(self, graph: int, name: str, *, molecule: bool) -> PickedGraph:
        """The picks on one graph; a molecule is drawn from its name, which is its SMILES."""
        trace = self.traces[graph] if self.traces else None
        if trace is None or len(trace.picks) == trace.num_nodes:  # a full bag picks nothing in particular
            return PickedGraph(name, molecule_svg(name) if molecule else "")
        shown = self.numbers[graph]
        picked = [shown[node] for node in trace.picks]
        chances = np.zeros((len(trace.probabilities or ()), 1 + max(shown)))  # an atom that is no node has none
        if trace.probabilities is not None:
            chances[:, shown] = trace.probabilities
        said = [prediction_text(self.task, one) for one in self.values[:, graph]] or [""] * (1 + len(picked))
        steps = []
        for step, node in enumerate(picked):
            row, marked = chances[step].tolist() if len(chances) else (), picked[: step + 1]
            if molecule:
                svg = molecule_svg(name, chances=row, picked=marked)
            else:
                svg = trace.svg("force", name, chances=row, picked=marked) if trace.num_nodes <= MOST_ATOMS else ""
            steps.append(PickStep(step + 1, node, row[node] if row else None, svg, said[step + 1]))
        symbols = _symbols(name) if molecule and len(chances) else [""] * trace.num_nodes
        columns = [(at, symbols[at], tuple(chances[: len(steps), at].tolist())) for at in sorted(shown) if len(chances)]
        return PickedGraph(name, molecule_svg(name) if molecule else "", said[0], tuple(steps), tuple(columns))


def picks_nodes(model: nn.Module) -> TypeGuard[PickingModel]:
    """Whether a model looks at some nodes and not at others."""
    return isinstance(model, PickingModel) and not isinstance(getattr(model, "policy", None), NoPolicy | FullPolicy)


@torch.no_grad()
def picked_answers(predictor: Predictor, graphs: PackedGraphs) -> PickedAnswers:
    """The picks on graphs that ``predictor.prepare`` gave, and the network's answers with the first of them."""
    model, traces, values = predictor.model, [], []
    nodes = graphs.extras.get("atoms", local_nodes(graphs))
    numbers = [nodes[start:end].tolist() for start, end in pairwise(graphs.node_ptr)]
    if not picks_nodes(model):
        return PickedAnswers(predictor.task, [], np.zeros((0, len(graphs), 0)), numbers)
    asked = isinstance(model, SubgraphGNN) and predictor.task.level == "graph"
    for batch in predictor.prepared_batches(graphs, predictor.batch_size(None)):
        selection = model.select(batch)
        traces += [trace_selection(selection, batch, graph) for graph in range(batch.num_graphs)]
        prefixes = [selection.steps(0, picks) for picks in range(selection.picks + 1)] if asked else []
        values.append([answers(model.predict(batch, one), predictor.task).cpu().numpy() for one in prefixes])
    found = [np.concatenate(one) for one in zip(*values, strict=True)]
    return PickedAnswers(predictor.task, traces, np.array(found).reshape(len(found), len(graphs), -1), numbers)


def picked_molecules(predictor: Predictor, smiles: Sequence[str]) -> list[PickedGraph]:
    """What the policy looks at in each molecule that can be read."""
    prepared = predictor.prepare(list(smiles))
    if prepared is None:
        return []
    found = picked_answers(predictor, prepared)
    return [found.draw(graph, one, molecule=True) for graph, one in enumerate(smiles)]


def prediction_text(task: Task, values: Array) -> str:
    """A prediction in words."""
    if task.kind == "regression":
        return ", ".join(f"{value:.4g}" for value in values)
    names = AnswerColumns(task).subjects()
    return ", ".join(f"{name} {value:.1%}" for name, value in zip(names, values, strict=True))


def _symbols(smiles: str) -> list[str]:
    with rdBase.BlockLogs():
        molecule = parse(smiles)
    return [] if molecule is None else [atom.GetSymbol() for atom in molecule.GetAtoms()]
