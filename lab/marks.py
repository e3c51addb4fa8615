"""What each mark does for the prediction of molecules with a large ring."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import torch

from lab.pictures import Panel
from policylearn.bags import Graphs
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.packed import Array
from policylearn.models import SubgraphGNN
from policylearn.training import load_source
from policylearn.training.runs import load_run


@dataclass(frozen=True)
class MarkedRun:
    """A run's answers on the test part, then the validation part.

    Args:
        name: of the run.
        edges: of each graph.
        tested: how many graphs are of the test part.
        y: the targets.
        rings: atoms of large rings, per graph.
        picks: the marked atoms.
        answers: with the first 0 to T marks.

    Shapes:
        y ``(G,)``, picks ``(T, G)``, answers ``(T + 1, G)``.
    """

    name: str
    edges: list[Array]
    tested: int
    y: Array
    rings: list[set[int]]
    picks: Array
    answers: Array

    @property
    def large(self) -> Array:
        """Which graphs have a large ring, ``(G,)``."""
        return np.array([bool(ring) for ring in self.rings])

    def rows(self) -> list[tuple[str, ...]]:
        """Mean absolute errors with 0 to T marks, for graphs with and without a large ring."""
        errors, large = np.abs(self.answers - self.y), self.large
        hits = [bool(self.rings[place] & set(self.picks[:, place].tolist())) for place in np.flatnonzero(large)]
        told = [" → ".join(f"{error:.3f}" for error in errors[:, chosen].mean(1)) for chosen in (large, ~large)]
        share = f"{np.mean(hits):.0%}" if hits else ""
        return [
            (self.name, "with", str(large.sum()), told[0], share),
            (self.name, "without", str((~large).sum()), told[1], ""),
        ]

    def panels(self, number: int) -> list[Panel]:
        """Drawings of the first test graphs with a large ring, in the order of the data."""
        found = []
        for place in np.flatnonzero(self.large[: self.tested])[:number].tolist():
            steps = " → ".join(f"{answer:.1f}" for answer in self.answers[:, place])
            nodes = int(self.edges[place].max()) + 1
            marks = {node: str(step + 1) for step, node in enumerate(self.picks[:, place].tolist())}
            classes = [int(node in self.rings[place]) for node in range(nodes)]
            title = f"{self.name.split('-')[0]}: {steps}\ntarget {self.y[place]:.1f}"
            found.append(Panel(self.edges[place], nodes, title, classes, marks=marks))
        return found


@torch.no_grad()
def marked_run(folder: Path, picks: int, ring: int) -> MarkedRun:
    """Answer with 0 to T marks.

    Args:
        folder: of a run that predicts one number per graph.
        picks: T; may be larger than in training.
        ring: a ring of more nodes is large.
    """
    run = load_run(folder)
    dataset, model = load_source(run.config.data).dataset, run.build()
    if not isinstance(model, SubgraphGNN) or dataset.task.outputs != 1 or not hasattr(model.policy, "picks"):
        raise ValueError(f"{folder}: must have a policy with picks and predict one number; give another run")
    model.policy.picks = picks
    split, packed = dataset.splits[0], dataset.graphs
    ids = np.concatenate([split.test, split.valid])
    graphs = Graphs.of(make_batch(packed, ids))
    selection = model.select(graphs)
    answers = [model.predict(graphs, selection.steps(0, step)) for step in range(picks + 1)]
    edges = [edges_of(packed, row) for row in ids]
    return MarkedRun(
        folder.name,
        edges,
        len(split.test),
        packed.y[ids].reshape(-1),
        [large_rings(one, ring) for one in edges],
        selection.local_roots(graphs.ptr).numpy(),
        torch.stack([dataset.task.unscale(one).reshape(-1) for one in answers]).numpy(),
    )


def large_rings(edges: Array, ring: int) -> set[int]:
    """Nodes of rings of more than ``ring`` nodes, of a smallest set of rings."""
    return {node for one in smallest_rings(edges) if len(one) > ring for node in one}


def smallest_rings(edges: Array) -> list[list[int]]:
    """The nodes of each ring of a smallest set of rings (a minimum cycle basis)."""
    return list(nx.minimum_cycle_basis(nx.Graph(edges.T.tolist())))


def edges_of(graphs: PackedGraphs, graph: int) -> Array:
    """The edges of one graph, ``(2, E)``."""
    return graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]]
