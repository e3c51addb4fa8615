"""Gaussian processes on fingerprints and descriptors, one per output, which are blended with the network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from scipy.sparse import csr_matrix

from policylearn.data import PackedGraphs, Task
from policylearn.data.packed import Array
from policylearn.data.structures import FINGERPRINT
from policylearn.data.transforms.fingerprint import BITS
from policylearn.nn import DESCRIPTORS
from policylearn.prediction.gaussian_process import Kernel, fit, squared_distances
from policylearn.prediction.stored_arrays import read_arrays, reading, save_arrays

KERNEL = "kernel.safetensors"
MOST_ROWS = 10_000
"""Training molecules, at most: the cost grows with their cube."""
CHUNK = 2048
COUNTS = 256
"""Of a fingerprint, which are bytes."""


@dataclass(frozen=True)
class OutputProcess:
    """The Gaussian process of one output: of standardised targets, or of scores that a logistic curve makes chances."""

    kernel: Kernel
    shift: float
    scale: float
    slope: float | None = None
    offset: float = 0.0

    def answer(self, scores: Array) -> Array:
        """Numbers in the data's units, or probabilities, from scores."""
        if self.slope is None:
            return scores * self.scale + self.shift
        return 1 / (1 + np.exp(-(self.slope * scores + self.offset)))


@dataclass(frozen=True)
class KernelModel:
    """Gaussian processes of all outputs of a task, over the same training molecules."""

    name: ClassVar[str] = "kernel"

    kind: str  # of the task
    counts: Array  # fingerprints of the training molecules, (n, kinds * BITS) uint8
    descriptors: Array  # of the training molecules, standardised, (n, D)
    weights: Array  # of each training molecule in a prediction, zero where its target is not known, (n, outputs)
    outputs: tuple[OutputProcess, ...]

    @cached_property
    def known(self) -> list[csr_matrix]:
        """The fingerprints as `tanimoto` reads them, made once: a service answers few molecules at a time."""
        return blocks(self.counts)

    def predict(self, graphs: PackedGraphs) -> Array:
        """Numbers, or probabilities, of molecules that carry fingerprints and descriptors, ``(G, outputs)``."""
        counts, descriptors = molecule_features(graphs)
        found = np.zeros((len(counts), len(self.outputs)))
        for start in range(0, len(counts), CHUNK):
            part = slice(start, start + CHUNK)
            similar = [tanimoto(a, b) for a, b in zip(blocks(counts[part]), self.known, strict=True)]
            distances = squared_distances(descriptors[part], self.descriptors)
            for at, one in enumerate(self.outputs):
                found[part, at] = one.answer(one.kernel(similar, distances) @ self.weights[:, at])
        return found / found.sum(axis=1, keepdims=True) if self.kind == "classes" else found

    def save(self, folder: Path) -> None:
        """Write it into a run folder."""
        row, bit = np.nonzero(self.counts)  # few of the counts are not zero
        arrays = {
            "row": row.astype(np.int32),
            "bit": bit.astype(np.int32),
            "count": self.counts[row, bit],
            "descriptors": self.descriptors.astype(np.float32),
            "weights": self.weights,
        }
        facts = {"kind": self.kind, "bits": str(self.counts.shape[1])}
        save_arrays(folder / KERNEL, arrays, facts | {"outputs": msgspec.json.encode(self.outputs).decode()})

    @staticmethod
    def load(folder: Path) -> KernelModel | None:
        """Read it back; None where the run has none."""
        path = folder / KERNEL
        if not path.is_file():
            return None
        with reading(path):
            arrays, facts = read_arrays(path)
            counts = np.zeros((len(arrays["weights"]), int(facts["bits"])), dtype=np.uint8)
            counts[arrays["row"], arrays["bit"]] = arrays["count"]
            outputs = msgspec.json.decode(facts["outputs"], type=tuple[OutputProcess, ...])
            descriptors = arrays["descriptors"].astype(np.float64)
            return KernelModel(facts["kind"], counts, descriptors, arrays["weights"], outputs)


def fit_kernel_model(task: Task, graphs: PackedGraphs, rows: Array, *, seed: int = 0) -> tuple[KernelModel, Array]:
    """Fit the processes to some rows of molecules with fingerprints, descriptors and targets.

    Gives the model, and its leave-one-out predictions for the rows, ``(rows, outputs)``. The seed is that of the choice
    of rows for the hyperparameters.
    """
    counts, descriptors = (one[rows] for one in molecule_features(graphs))
    known_of = targets_by_output(task, graphs.y[rows])
    similar = [tanimoto(one, one) for one in blocks(counts)]
    distances = squared_distances(descriptors, descriptors)
    weights, left_out, outputs = np.zeros(known_of.shape), np.zeros(known_of.shape), []
    for at, target in enumerate(known_of.T):
        known = np.flatnonzero(~np.isnan(target))
        y = target[known]
        shift, scale = float(y.mean()), float(y.std()) or 1.0
        tables = [*similar, distances]
        if len(known) < len(target):
            tables = [one[np.ix_(known, known)] for one in tables]
        found = fit(tables[:-1], tables[-1], (y - shift) / scale, seed=seed)
        weights[known, at] = found.weights
        curve = () if task.kind == "regression" else logistic(found.left_out, y)
        outputs.append(OutputProcess(found.kernel, shift, scale, *curve))
        left_out[known, at] = outputs[-1].answer(found.left_out)
        if len(known) < len(target):  # nothing was learned from a row without this target
            others = np.ix_(np.isnan(target), known)
            scores = found.kernel([one[others] for one in similar], distances[others]) @ found.weights
            left_out[np.isnan(target), at] = outputs[-1].answer(scores)
    return KernelModel(task.kind, counts, descriptors, weights, tuple(outputs)), left_out


def logistic(scores: Array, labels: Array) -> tuple[float, float]:
    """Slope and offset of the curve that turns scores into the probability of a label."""
    from sklearn.linear_model import LogisticRegression

    found = LogisticRegression(C=10.0).fit(scores[:, None], labels > 0.5)
    return float(found.coef_[0, 0]), float(found.intercept_[0])


def targets_by_output(task: Task, y: Array) -> Array:
    """A column per output, NaN where it is not known: numbers, yes or no, or one of several classes."""
    table = y.reshape(len(y), -1).astype(np.float64)
    if task.kind != "classes":
        return table
    is_class: Array = table == np.arange(task.outputs)
    return is_class.astype(np.float64)


def molecule_features(graphs: PackedGraphs) -> tuple[Array, Array]:
    """Fingerprint counts of molecules, and their standardised descriptors where they carry any."""
    described = graphs.structures.get(DESCRIPTORS)
    columns = np.zeros((len(graphs), 0)) if described is None else described.values.astype(np.float64)
    return graphs.structures[FINGERPRINT].values, columns


def blocks(counts: Array) -> list[csr_matrix]:
    """The kinds of fingerprints that lie side by side, as `unary_counts` gives them."""
    return [unary_counts(counts[:, start : start + BITS]) for start in range(0, counts.shape[1], BITS)]


def unary_counts(counts: Array) -> csr_matrix:
    """Counts as zeros and ones: a count of three has ones at its first three levels, ``(n, bits) -> (n, bits * 256)``.

    The dot product of two rows is then the sum over the smaller of each pair of counts.
    """
    row, bit = np.nonzero(counts)
    times = counts[row, bit].astype(np.int64)
    starts = np.repeat(np.cumsum(times) - times, times)
    level = np.arange(int(times.sum())) - starts
    columns = np.repeat(bit.astype(np.int64) * COUNTS, times) + level
    shape = (len(counts), counts.shape[1] * COUNTS)
    return csr_matrix((np.ones(len(columns), np.float32), (np.repeat(row, times), columns)), shape=shape)


def tanimoto(a: csr_matrix, b: csr_matrix) -> Array:
    r"""Tanimoto similarity of counts, :math:`\sum_i \min(a_i, b_i) / \sum_i \max(a_i, b_i)`, ``(n, m)``."""
    smaller = (a @ b.T).toarray().astype(np.float64)
    larger = np.asarray(a.sum(axis=1), np.float64) + np.asarray(b.sum(axis=1), np.float64).T - smaller
    similarity: Array = smaller / np.maximum(larger, 1e-9)
    return similarity
