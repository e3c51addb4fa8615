"""Blend the network with a kernel model and boosted trees, on tables of molecules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from scipy.optimize import nnls

from policylearn.data import PackedGraphs, Split, Task, take_graphs
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.data.structures import FINGERPRINT
from policylearn.prediction.kernel_model import KERNEL, MOST_ROWS, KernelModel, fit_kernel_model, targets_by_output
from policylearn.prediction.stored_arrays import reading
from policylearn.prediction.trees import TREES, TreeModel, fit_trees
from policylearn.settings.run_files import RunError

BLEND = "blend.json"
BLEND_FILES = (BLEND, KERNEL, TREES)
"""What a blend leaves in a run folder."""
NETWORK = "network"
ALONE = {NETWORK: "network", KernelModel.name: "kernel model", TreeModel.name: "boosted trees"}
"""What the models are called."""
FEWEST_ROWS = 20
"""Training rows with a target that the kernel model and the trees need."""
PRIOR_WEIGHT = 40
"""Weight of the prior of the shares: one over the variance of a share about it."""
PRIORS = {
    "regression": {NETWORK: 0.1, KernelModel.name: 0.6, TreeModel.name: 0.3},
    "binary": {NETWORK: 0.2, KernelModel.name: 0.4, TreeModel.name: 0.4},
}
"""Shares before any row is seen, from inner splits (docs/assays.md); classes have those of yes or no."""


@dataclass(frozen=True)
class Blend:
    """A kernel model and boosted trees beside the network, both learned from training and validation rows."""

    shares: Mapping[str, Sequence[float]]  # of the network and of each model in every output; they add up to one
    trees: TreeModel
    kernel: KernelModel | None = None  # None where rows are too many

    @property
    def models(self) -> tuple[KernelModel | TreeModel, ...]:
        """Those that there are."""
        return (self.trees,) if self.kernel is None else (self.kernel, self.trees)

    def answer(self, network: Array, graphs: PackedGraphs) -> Array:
        """The blended predictions for molecules, ``(G, outputs)``."""
        return self.mix({NETWORK: network} | {model.name: model.predict(graphs) for model in self.models})

    def mix(self, values: Mapping[str, Array]) -> Array:
        """The weighted mean of predictions by model name, ``(G, outputs)``."""
        total = sum(np.array(self.shares[name]) * one for name, one in values.items())
        return np.asarray(total).astype(values[NETWORK].dtype)

    def save(self, folder: Path) -> None:
        """Write it into a run folder, as plain arrays and JSON."""
        for model in self.models:
            model.save(folder)
        write_text(folder / BLEND, json.dumps({"shares": self.shares}) + "\n")

    @staticmethod
    def load(folder: Path) -> Blend | None:
        """Read it back; None where the run has none."""
        path = folder / BLEND
        if not path.is_file():
            return None
        trees, kernel = TreeModel.load(folder), KernelModel.load(folder)
        with reading(path):
            shares = msgspec.convert(json.loads(path.read_text())["shares"], dict[str, list[float]])
        missing = sorted(set(shares) - {NETWORK} - {one.name for one in (trees, kernel) if one is not None})
        if trees is None or missing:
            raise RunError(f"{path}: the file of '{(missing or ['trees'])[0]}' is missing; restore it, or train again")
        return Blend(shares, trees, kernel)


@dataclass(frozen=True)
class FittedBlend:
    """A fitted blend with its predictions by part, and those of each model alone by part and name.

    ``left_out`` are the kernel model's leave-one-out predictions for training and validation rows; None without it.
    """

    model: Blend
    answers: dict[str, Array]
    alone: dict[str, dict[str, Array]]
    left_out: Array | None


def fit_blend(
    task: Task, graphs: PackedGraphs, split: Split, network: Mapping[str, Array], *, seed: int = 0
) -> FittedBlend:
    """Fit a kernel model and trees, and find on the validation rows what shares they and the network get.

    Graphs are molecules with fingerprints, descriptors and targets; ``network`` holds the network's predictions by
    part. No model has seen the validation rows that it is judged by: the kernel leaves each out in turn, and trees are
    fitted twice, first on the training rows alone.
    """
    alone = {part: {NETWORK: values} for part, values in network.items()}
    both, kernel, left_out = np.concatenate([split.train, split.valid]), None, None
    if len(both) <= MOST_ROWS:
        kernel, left_out = fit_kernel_model(task, graphs, both, seed=seed)
    before, trees = (fit_trees(task, graphs, rows, seed=seed) for rows in (split.train, both))
    for part, said in alone.items():
        molecules = take_graphs(graphs, getattr(split, part))
        validates = part == "valid" or np.array_equal(split.valid, split.test)
        if kernel is not None and left_out is not None:
            said[kernel.name] = left_out[len(split.train) :] if validates else kernel.predict(molecules)
        said[trees.name] = (before if validates else trees).predict(molecules)
    truth = targets_by_output(task, graphs.y[split.valid])
    model = Blend(find_shares(task.kind, truth, alone["valid"]), trees, kernel)
    return FittedBlend(model, {part: model.mix(values) for part, values in alone.items()}, alone, left_out)


def find_shares(kind: str, y: Array, alone: Mapping[str, Array]) -> dict[str, list[float]]:
    """The shares, at least 0 and 1 in all, that fit rows best which no model has seen; by name, for each output.

    Few rows say little, so that shares are drawn to the prior: the most likely ones, where errors are as large as those
    of the best model and shares vary about the prior as `PRIOR_WEIGHT` says. A useless model gets next to nothing.

    Classes have one share for all, so that their probabilities add up to one. The truth is by output, NaN where it is
    not known, ``(R, outputs)``; ``alone`` is what each model says, by name.
    """
    outputs = y.shape[1]
    if kind == "classes":
        y, alone = y.reshape(-1, 1), {name: one.reshape(-1, 1) for name, one in alone.items()}
    known_prior = PRIORS.get(kind, PRIORS["binary"])
    prior = np.array([known_prior[name] for name in alone])
    prior = prior / prior.sum()
    found = []
    for at, truth in enumerate(y.T):
        known = ~np.isnan(truth)
        said = np.stack([one[known, at] for one in alone.values()], axis=1).astype(np.float64)
        middle = said.mean(axis=1, keepdims=True)
        noise = ((said - truth[known, None]) ** 2).mean(axis=0).min()
        held = np.sqrt(PRIOR_WEIGHT * noise + 1e-12)
        sure = 1e3 * (held + np.abs(said - middle).sum())  # so that shares add up to one
        rows = np.concatenate([said - middle, held * np.eye(len(prior)), np.full((1, len(prior)), sure)])
        shares, _ = nnls(rows, np.concatenate([truth[known] - middle[:, 0], held * prior, [sure]]))
        found.append(shares / shares.sum())
    table = np.repeat(np.array(found), outputs if kind == "classes" else 1, axis=0)
    return {name: table[:, at].tolist() for at, name in enumerate(alone)}


def can_blend(task: Task, graphs: PackedGraphs, rows: Array) -> bool:
    """Whether models can learn beside the network: from fingerprints, and enough values of every target."""
    if FINGERPRINT not in graphs.structures or task.level != "graph":
        return False
    columns = [one[~np.isnan(one)] for one in targets_by_output(task, graphs.y[rows]).T]
    return all(len(one) >= FEWEST_ROWS and len(np.unique(one)) > 1 for one in columns)
