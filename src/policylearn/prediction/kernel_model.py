"""A second opinion beside the network: Gaussian processes on fingerprints and descriptors, one per output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix

from policylearn.data import PackedGraphs, Task
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array
from policylearn.data.structures import FINGERPRINT
from policylearn.data.transforms.fingerprint import BITS
from policylearn.nn import DESCRIPTORS
from policylearn.prediction.gaussian_process import Kernel, fit, squared_distances
from policylearn.prediction.similarity import tanimoto, unary
from policylearn.settings.run_files import RunError

KERNEL = "kernel.safetensors"
MOST_ROWS = 10_000
"""Training molecules, at most: the cost grows with their cube."""
CHUNK = 2048


@dataclass(frozen=True)
class OutputProcess:
    """The Gaussian process of one output.

    Args:
        kernel: with its hyperparameters.
        shift: of the standardised targets.
        scale: of the standardised targets.
        slope: of the logistic curve from scores to probabilities; None for numbers.
        offset: of that curve.
    """

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
    """Gaussian processes of all outputs of a task, over the same training molecules.

    Args:
        kind: of the task.
        counts: fingerprints of the training molecules, ``(n, kinds * BITS)`` uint8.
        descriptors: of the training molecules, standardised, ``(n, D)``.
        weights: of each training molecule in a prediction, zero where its target is not known, ``(n, outputs)``.
        outputs: one process per output.
    """

    name: ClassVar[str] = "kernel"

    kind: str
    counts: Array
    descriptors: Array
    weights: Array
    outputs: tuple[OutputProcess, ...]

    def predict(self, graphs: PackedGraphs) -> Array:
        """Numbers, or probabilities, of molecules that carry fingerprints and descriptors, ``(G, outputs)``."""
        counts, descriptors = features_of(graphs)
        known = blocks(self.counts)
        found = np.zeros((len(counts), len(self.outputs)))
        for start in range(0, len(counts), CHUNK):
            part = slice(start, start + CHUNK)
            similar = [tanimoto(a, b) for a, b in zip(blocks(counts[part]), known, strict=True)]
            distances = squared_distances(descriptors[part], self.descriptors)
            for at, one in enumerate(self.outputs):
                found[part, at] = one.answer(one.kernel(similar, distances) @ self.weights[:, at])
        return found / found.sum(axis=1, keepdims=True) if self.kind == "classes" else found

    def save(self, folder: Path) -> None:
        """Write it into a run folder, as plain arrays and JSON."""
        row, bit = np.nonzero(self.counts)  # few of the counts are not zero
        arrays = {
            "row": row.astype(np.int32),
            "bit": bit.astype(np.int32),
            "count": self.counts[row, bit],
            "descriptors": self.descriptors.astype(np.float32),
            "weights": self.weights,
        }
        about = {"kind": self.kind, "outputs": json.dumps([asdict(one) for one in self.outputs])}
        about["bits"] = str(self.counts.shape[1])
        with replacing(folder / KERNEL) as part:
            save_file({name: np.ascontiguousarray(value) for name, value in arrays.items()}, part, metadata=about)

    @staticmethod
    def load(folder: Path) -> KernelModel | None:
        """Read it back; None where the run has none."""
        path = folder / KERNEL
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
                about = file.metadata()
            stored = json.loads(about["outputs"])
            counts = np.zeros((len(arrays["weights"]), int(about["bits"])), dtype=np.uint8)
            counts[arrays["row"], arrays["bit"]] = arrays["count"]
        except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
            raise RunError(f"{path}: cannot be read ({error}); train again or restore the file") from error
        outputs = tuple(OutputProcess(**one | {"kernel": Kernel(**kernel_of(one))}) for one in stored)
        descriptors = arrays["descriptors"].astype(np.float64)
        return KernelModel(about["kind"], counts, descriptors, arrays["weights"], outputs)


def kernel_of(stored: dict[str, Any]) -> dict[str, Any]:
    """The fields of a kernel as JSON holds them."""
    found: dict[str, Any] = stored["kernel"]
    return found | {"amplitudes": tuple(found["amplitudes"])}


def fit_kernel_model(task: Task, graphs: PackedGraphs, rows: Array, *, seed: int = 0) -> tuple[KernelModel, Array]:
    """Fit the processes; gives the model, and what it says of each row from all others, ``(rows, outputs)``.

    Args:
        task: what is predicted.
        graphs: molecules with fingerprints, descriptors and targets.
        rows: which of them to learn from.
        seed: of the choice of rows for the hyperparameters.
    """
    counts, descriptors = (one[rows] for one in features_of(graphs))
    known_of = targets_by_output(task, graphs.y[rows])
    similar = [tanimoto(one, one) for one in blocks(counts)]
    distances = squared_distances(descriptors, descriptors)
    weights, left_out, outputs = np.zeros(known_of.shape), np.zeros(known_of.shape), []
    for at, target in enumerate(known_of.T):
        known = np.flatnonzero(~np.isnan(target))
        y = target[known]
        shift, scale = float(y.mean()), float(y.std()) or 1.0
        part = np.ix_(known, known)
        whole = len(known) == len(target)
        found = fit([one if whole else one[part] for one in similar], distances if whole else distances[part],
                    (y - shift) / scale, seed=seed)  # fmt: skip
        weights[known, at] = found.weights
        if task.kind == "regression":
            outputs.append(OutputProcess(found.kernel, shift, scale))
        else:
            outputs.append(OutputProcess(found.kernel, shift, scale, *logistic(found.left_out, y)))
        left_out[:, at] = np.nan
        left_out[known, at] = outputs[-1].answer(found.left_out)
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


def features_of(graphs: PackedGraphs) -> tuple[Array, Array]:
    """Fingerprint counts of molecules, and their standardised descriptors where they carry any."""
    described = graphs.structures.get(DESCRIPTORS)
    columns = np.zeros((len(graphs), 0)) if described is None else described.values.astype(np.float64)
    return graphs.structures[FINGERPRINT].values, columns


def blocks(counts: Array) -> list[csr_matrix]:
    """The kinds of fingerprints that lie side by side, as `unary` gives them."""
    return [unary(counts[:, start : start + BITS]) for start in range(0, counts.shape[1], BITS)]
