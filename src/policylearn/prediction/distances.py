"""How far the held-out rows of a run are from those that it has learned from, and how its errors grow with that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policylearn.data import take_graphs
from policylearn.data.packed import Array
from policylearn.data.subset import targets_of
from policylearn.prediction.applicability import Domain, Nearness, learn_domain
from policylearn.prediction.interval_widths import DistanceEvidence
from policylearn.prediction.kernel_model import targets_by_output
from policylearn.prediction.predictor import Answer
from policylearn.training.fitting import Trained
from policylearn.training.runs import RunFacts


@dataclass(frozen=True)
class MoleculeDistances:
    """How far the held-out rows are from those that a model has learned from.

    Args:
        domain: those that it has learned from.
        near: of each part.
        evidence: what calibrates intervals that grow with the distance; None without numbers to predict.
    """

    domain: Domain
    near: dict[str, Nearness]
    evidence: DistanceEvidence | None


def find_distances(
    facts: RunFacts, trained: Trained, answers: dict[str, Answer], left_out: Array | None
) -> MoleculeDistances | None:
    """The distances of a run on molecules; None where it has learned from other graphs, or predicts atoms.

    Args:
        facts: of the run.
        trained: its data.
        answers: on its validation and test parts.
        left_out: what the kernel model says of each training and validation row from all others; None without one.
    """
    if facts.featuriser is None or facts.task.level != "graph":
        return None
    graphs, split = trained.graphs, trained.split
    rows = split.train if left_out is None else np.concatenate([split.train, split.valid])
    domain, among = learn_domain(graphs, rows, facts.node_features, facts.edge_features)
    near = {part: domain.nearness(take_graphs(graphs, trained.answers[part].rows)) for part in answers}
    if left_out is not None:
        near |= {"valid": among.rows(slice(len(split.train), None))}
    if "test" in near and np.array_equal(split.valid, split.test):
        near["test"] = near["valid"]
    if facts.task.kind != "regression" or "valid" not in answers:
        return MoleculeDistances(domain, near, None)
    targets = targets_by_output(facts.task, graphs.y[rows])
    if left_out is None:  # the network has no error of its training rows that says anything of new ones
        errors = np.abs(answers["valid"].values - targets_by_output(facts.task, targets_of(graphs, split.valid)))
        return MoleculeDistances(
            domain, near, DistanceEvidence(near["valid"], errors, 1 - near["valid"].similarity, targets)
        )
    evidence = DistanceEvidence(near["valid"], np.abs(left_out - targets), 1 - among.similarity, targets)
    return MoleculeDistances(domain, near, evidence)
