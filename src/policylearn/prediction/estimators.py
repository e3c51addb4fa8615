"""scikit-learn estimators: ``PolicyLearnRegressor().fit(smiles, y).predict(smiles)``, and the same for classes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from policylearn.data import DataError, Dataset, PackedGraphs, Split, Task
from policylearn.data.convert.infer import LARGEST, single_unless_lossy
from policylearn.data.packed import Array
from policylearn.data.tasks import standardise
from policylearn.policies import POLICIES
from policylearn.prediction.answer import Answer
from policylearn.prediction.calibration import USUAL
from policylearn.prediction.input_graphs import pack_items
from policylearn.prediction.outcome import finish
from policylearn.prediction.pack import pack_run
from policylearn.prediction.predictor import Predictor, load
from policylearn.settings.run_config import RunConfig
from policylearn.training.data_source import Source, describe_features
from policylearn.training.ensemble import train_ensemble
from policylearn.training.fitting import fit
from policylearn.training.packed_run import run_folder
from policylearn.training.presets import run_config

PACKED = "run.plm"
LARGEST_SEED = 2**31 - 1


class _PolicyLearnEstimator(BaseEstimator):  # type: ignore[misc]
    """What regressor and classifier share.

    A fitted estimator holds its packed run as bytes (``packed_``), which is what a pickle of it contains: weights as
    safetensors, the rest as text, no code.
    """

    def __init__(
        self,
        *,
        policy: str = "learned",
        picks: int = 2,
        ensemble: int = 1,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        channels: int | None = None,
        layers: int | None = None,
        validation_fraction: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.policy, self.picks, self.ensemble = policy, picks, ensemble
        self.epochs, self.batch_size, self.learning_rate = epochs, batch_size, learning_rate
        self.channels, self.layers = channels, layers
        self.validation_fraction, self.settings, self.random_state = validation_fraction, settings, random_state

    def answer(self, X: Any, *, level: float = USUAL) -> Answer:  # noqa: N803 - scikit-learn's name
        """Predictions with picks, standard deviation and interval or set; see `Predictor.answer`."""
        return self._predictor().answer(listed(X), level=level)

    def run_config(self, *, molecules: bool, seed: int) -> RunConfig:
        """The settings of a training: those of the command for a table (or for graphs), then the parameters."""
        given = {
            "fit.epochs": self.epochs,
            "fit.batch_size": self.batch_size,
            "optim.learning_rate": self.learning_rate,
            "prediction.channels": self.channels,
            "prediction.layers": self.layers,
        }
        picks = {"selection.picks": self.picks} if "picks" in POLICIES[self.policy].settings.__struct_fields__ else {}
        stated = {name: value for name, value in given.items() if value is not None}
        everything = {"selection.name": self.policy} | picks | stated | dict(self.settings or {}) | {"fit.seed": seed}
        config = run_config("memory.csv" if molecules else "memory.npz", everything, source="'settings'")
        return config.replace(data=config.data.replace(name="memory"))

    def _train(self, graphs: PackedGraphs, task: Task, strata: Array | None) -> Self:
        """Train on packed graphs that carry their targets, and keep the run's files."""
        if not 0 < self.validation_fraction < 1:
            raise ValueError(f"'validation_fraction' must lie between 0 and 1 (got {self.validation_fraction})")
        state = self.random_state
        seed = state if isinstance(state, int | np.integer) else check_random_state(state).randint(LARGEST_SEED)
        molecules = graphs.smiles is not None
        split = held_out(len(graphs), self.validation_fraction, strata, int(seed))
        if task.kind == "regression":
            task = replace(task, scaling=standardise(graphs.y[split.train]))
        dataset = Dataset("memory", graphs, task, (split,))
        source = Source(dataset, *describe_features(graphs, molecules), molecules, parents=molecules)
        config = self.run_config(molecules=molecules, seed=int(seed))
        with tempfile.TemporaryDirectory(prefix="policylearn-") as name:
            folder, packed = Path(name) / "run", Path(name) / PACKED
            several = self.ensemble > 1
            runs = train_ensemble(config, source, folder, self.ensemble) if several else [fit(config, source, folder)]
            finish(folder, runs)
            pack_run(folder, packed)
            self.packed_ = packed.read_bytes()
        self.__dict__.pop("_loaded", None)
        return self

    @contextmanager
    def _packed(self) -> Iterator[Path]:
        """The packed run as a file, for the length of the block."""
        if not hasattr(self, "packed_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call 'fit' with molecules and targets")
        with tempfile.TemporaryDirectory(prefix="policylearn-") as name:
            path = Path(name) / PACKED
            path.write_bytes(self.packed_)
            yield path

    def _predictor(self) -> Predictor:
        if "_loaded" not in self.__dict__:
            with self._packed() as path:
                self._loaded = load(path)
        return self._loaded

    def save(self, folder: str | Path) -> Path:
        """Write the run folder, for ``policylearn predict`` and ``policylearn.load``; it must be new."""
        with self._packed() as path, run_folder(path) as files:
            shutil.copytree(files, folder)
        return Path(folder)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_loaded", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array = True, True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class PolicyLearnRegressor(RegressorMixin, _PolicyLearnEstimator):  # type: ignore[misc]
    """Numbers of molecules or graphs, as a scikit-learn estimator.

    Args:
        policy: learned, random, full, none, degree or centrality.
        picks: T, how many nodes are marked.
        ensemble: models that differ by their seed and answer as one.
        epochs: passes over the data; None takes the command's.
        batch_size: graphs of a step; None likewise.
        learning_rate: of the prediction network; None likewise.
        channels: of the prediction network; None likewise.
        layers: of the prediction network; None likewise.
        validation_fraction: of the rows, which calibrate the intervals, and choose the epoch with ``fit.keep`` best.
        settings: any further settings of ``policylearn train`` by their dotted names: ``{"fit.batch_size": 32}``.
        random_state: of weights, order and held-out rows.
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Train on SMILES or PyG graphs.

        Args:
            X: a list, array or pandas Series of SMILES, or a list of PyG ``Data``.
            y: one number per row, or one column per target; NaN where a target is not known.
        """
        truth = np.asarray(y, dtype=np.float64)
        self.single_ = truth.ndim == 1
        truth = truth.reshape(len(truth), -1)
        names = tuple(f"y{column}" for column in range(truth.shape[1])) if truth.shape[1] > 1 else ("y",)
        wrong = (np.abs(truth) > LARGEST) | (np.isnan(truth) & self.single_)
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise DataError(
                f"y[{row}] is {truth[row].tolist()}; leave the row out, or give numbers up to {LARGEST:.1e}"
            )
        graphs = with_targets(X, single_unless_lossy(truth, standardise(truth)))
        return self._train(graphs, Task("regression", "mse", "rmse", names), None)

    def predict(self, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
        """Numbers, ``(R,)``, or ``(R, targets)`` where ``y`` had columns."""
        values = self.answer(X).values
        return values[:, 0] if self.single_ else values


class PolicyLearnClassifier(ClassifierMixin, _PolicyLearnEstimator):  # type: ignore[misc]
    """Labels of molecules or graphs, as a scikit-learn estimator; the parameters are those of the regressor."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Train as the regressor does; ``y`` has one label per row, of any kind that can be sorted."""
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise DataError(
                f"'y' must have one label per row (got shape {labels.shape}); fit one classifier per column, or train"
                " on a table with 'policylearn train', which takes several yes/no targets with gaps"
            )
        self.classes_, ids = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"'y' holds one class only ({self.classes_.tolist()}); a classifier needs at least two")
        names = tuple(map(str, self.classes_))
        if len(names) == 2:
            task = Task("binary", "bce", "rocauc", ("y",), classes=names)
            graphs = with_targets(X, ids.reshape(-1, 1).astype(np.float32))
        else:
            task = Task("classes", "cross_entropy", "accuracy", ("y",), classes=names)
            graphs = with_targets(X, ids.astype(np.int64))
        return self._train(graphs, task, ids)

    def predict_proba(self, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
        """The probability of each class, ``(R, classes)``, in the order of ``classes_``."""
        values = self.answer(X).values
        return np.concatenate([1 - values, values], axis=1) if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:  # noqa: N803 - scikit-learn's name
        """The likeliest class of each row."""
        likeliest: Array = self.predict_proba(X).argmax(axis=1)
        chosen: Array = self.classes_[likeliest]
        return chosen


def listed(items: Any) -> Any:
    """Rows as `pack_items` takes them; arrays, Series and tables of one column become lists."""
    if issparse(items):
        raise DataError("sparse input is not supported: 'X' must be one SMILES or graph per row")
    if hasattr(items, "to_numpy"):
        items = items.to_numpy()
    if isinstance(items, np.ndarray):
        if items.ndim == 2 and items.shape[1] == 1:
            items = items[:, 0]
        if items.ndim != 1:
            raise DataError(f"'X' must be one SMILES or graph per row (got an array of shape {items.shape})")
        items = items.tolist()
    return items


def with_targets(items: Any, y: Array) -> PackedGraphs:
    """Packed graphs that carry their targets and, where they come from SMILES, those too."""
    graphs = pack_items(listed(items), molecules=True, parents=True)
    if graphs is None:
        raise DataError("'X' has no rows; give at least a few molecules or graphs")
    if len(graphs) != len(y):
        raise DataError(f"'X' has {len(graphs)} rows and 'y' has {len(y)}; give one target per row")
    return replace(graphs, y=y)


def held_out(rows: int, fraction: float, strata: Array | None, seed: int) -> Split:
    """Training and validation rows; the latter also stand for the test part, which an estimator does not have."""
    from sklearn.model_selection import train_test_split

    size = max(1, round(rows * fraction), 0 if strata is None else len(np.unique(strata)))
    if rows < 2 or size >= rows:
        raise DataError(f"{rows} rows are too few: {size} of them are held out to choose the epoch; give more")
    several = strata is not None and np.bincount(strata).min() > 1 and rows - size >= len(np.unique(strata))
    train, valid = train_test_split(
        np.arange(rows), test_size=size, random_state=seed, stratify=strata if several else None
    )
    return Split(np.sort(train), np.sort(valid), np.sort(valid))
