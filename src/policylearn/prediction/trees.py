"""Boosted trees on descriptors and fingerprint counts (LightGBM), which are blended with the network.

Trees are kept as plain arrays, so that a run folder needs neither LightGBM nor a pickle to predict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from policylearn.data import PackedGraphs, Task
from policylearn.data.packed import Array
from policylearn.prediction.kernel_model import molecule_features, targets_by_output
from policylearn.prediction.stored_arrays import read_arrays, reading, save_arrays

TREES = "trees.safetensors"
COLUMNS = 1024
"""Columns of the fingerprint that trees see: those whose logarithms vary most over the training molecules."""
ROUNDS = 300
SETTINGS: dict[str, Any] = {
    "learning_rate": 0.05,
    "num_leaves": 31,
    "min_data_in_leaf": 5,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
"""Chosen on inner splits of ten assays (docs/assays.md)."""
CHUNK = 512


@dataclass(frozen=True)
class TreeModel:
    """Boosted trees of all outputs of a task, their nodes side by side; a leaf leads to itself."""

    name: ClassVar[str] = "trees"

    kind: str  # of the task
    columns: Array  # of the fingerprint that are read after the descriptors, (C,)
    roots: Array  # the first node of each tree, (trees,)
    output: Array  # of each tree, (trees,)
    feature: Array  # that a node looks at, (nodes,)
    threshold: Array  # up to which the next node is the left one, (nodes,)
    left: Array  # (nodes,)
    right: Array  # (nodes,)
    value: Array  # of a leaf, (nodes,)
    outputs: Array  # how many there are, (1,)

    def predict(self, graphs: PackedGraphs) -> Array:
        """Numbers, or probabilities, of molecules that carry fingerprints and descriptors, ``(G, outputs)``."""
        scores = self.scores(tree_inputs(graphs, self.columns))
        if self.kind == "regression":
            return scores
        chances: Array = 1 / (1 + np.exp(-scores))
        return chances / chances.sum(axis=1, keepdims=True) if self.kind == "classes" else chances

    def scores(self, x: Array) -> Array:
        """The sum of the leaves that each row reaches, ``(R, D) -> (R, outputs)``."""
        found = np.zeros((len(x), int(self.outputs[0])))
        for start in range(0, len(x), CHUNK):
            rows = x[start : start + CHUNK]
            at, before = np.broadcast_to(self.roots, (len(rows), len(self.roots))), None
            while before is None or not np.array_equal(at, before):
                left = np.take_along_axis(rows, self.feature[at], axis=1) <= self.threshold[at]
                at, before = np.where(left, self.left[at], self.right[at]), at
            for output in range(found.shape[1]):
                found[start : start + CHUNK, output] = self.value[at[:, self.output == output]].sum(axis=1)
        return found

    def save(self, folder: Path) -> None:
        """Write it into a run folder."""
        arrays = {name: one for name, one in asdict(self).items() if name != "kind"}
        save_arrays(folder / TREES, arrays, {"kind": self.kind})

    @staticmethod
    def load(folder: Path) -> TreeModel | None:
        """Read it back; None where the run has none."""
        path = folder / TREES
        if not path.is_file():
            return None
        with reading(path):
            arrays, facts = read_arrays(path)
            found = TreeModel(facts["kind"], **arrays)
            nodes, onward = np.arange(len(found.value)), np.stack([found.left, found.right])
            leaf = (onward == nodes).all(axis=0)
            if not ((onward > nodes) | leaf).all() or onward.max(initial=0) >= len(nodes):  # a row could go in circles
                raise ValueError("it holds branches that lead nowhere")
            return found


def fit_trees(task: Task, graphs: PackedGraphs, rows: Array, *, seed: int = 0) -> TreeModel:
    """Fit boosted trees to some rows of molecules with fingerprints, descriptors and targets, one model per output."""
    lightgbm = import_lightgbm()
    spread = np.log1p(molecule_features(graphs)[0][rows], dtype=np.float32).var(axis=0)
    columns = np.sort(np.argsort(-spread, kind="stable")[:COLUMNS])
    x = tree_inputs(graphs, columns)[rows]
    objective = "regression" if task.kind == "regression" else "binary"
    nodes: list[tuple[int, float, int, int, float]] = []
    roots, output = [], []
    targets = targets_by_output(task, graphs.y[rows])
    for at, target in enumerate(targets.T):
        known = ~np.isnan(target)
        shift, scale = 0.0, 1.0
        if graphs.y.dtype == np.float64:  # single precision, in which LightGBM holds targets, is too coarse for these
            shift, scale = float(target[known].mean()), float(target[known].std()) or 1.0
        settings = SETTINGS | {"objective": objective, "seed": seed}
        data = lightgbm.Dataset(x[known], (target[known] - shift) / scale)
        for tree in lightgbm.train(settings, data, ROUNDS).dump_model()["tree_info"]:
            roots.append(len(nodes))
            output.append(at)
            nodes += nodes_of(tree["tree_structure"], len(nodes), shift, scale)
            shift = 0.0  # is with the leaves of the first tree
    feature, threshold, left, right, value = (np.array(one) for one in zip(*nodes, strict=True))
    of_nodes = {"feature": feature, "left": left, "right": right}
    whole = of_nodes | {"columns": columns, "roots": roots, "output": output, "outputs": [targets.shape[1]]}
    integers = {name: np.array(one, np.int32) for name, one in whole.items()}
    return TreeModel(task.kind, threshold=threshold, value=value, **integers)


def import_lightgbm() -> Any:
    """LightGBM, or an `ImportError` that says what it lacks."""
    try:
        import lightgbm
    except OSError as error:  # on macOS it wants a library of the system
        raise ImportError(
            f"LightGBM cannot start ({error}); install OpenMP (macOS: brew install libomp) or train with --network-only"
        ) from error
    return lightgbm


def nodes_of(
    node: dict[str, Any], start: int, shift: float, scale: float
) -> Iterator[tuple[int, float, int, int, float]]:
    """Feature, threshold, left, right and value of a node and of all below it, counted from ``start``.

    Values are multiplied by ``scale``, and ``shift`` is added.
    """
    if "leaf_value" in node:
        yield 0, 0.0, start, start, node["leaf_value"] * scale + shift
        return
    below = list(nodes_of(node["left_child"], start + 1, shift, scale))
    right = start + 1 + len(below)
    yield node["split_feature"], node["threshold"], start + 1, right, 0.0
    yield from below
    yield from nodes_of(node["right_child"], right, shift, scale)


def tree_inputs(graphs: PackedGraphs, columns: Array) -> Array:
    """Descriptors and some columns of the fingerprint, ``(G, D)``."""
    counts, descriptors = molecule_features(graphs)
    return np.concatenate([descriptors, counts[:, columns]], axis=1)
