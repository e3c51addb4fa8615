"""The estimators keep scikit-learn's conventions on molecules and graphs."""

from __future__ import annotations

import pickle
import pickletools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import policylearn
from policylearn import PolicyLearnClassifier, PolicyLearnRegressor
from policylearn.data import DataError, make_data, pack_molecules
from policylearn.data.molecules import featurise
from policylearn.settings.run_files import RunError
from tests.errors import raises_naming
from tests.training.molecules import molesol

TINY = {"epochs": 2, "channels": 8, "layers": 2, "batch_size": 16}
APPLY = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_sparse_tag",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
"""Those of scikit-learn's checks that hand in no array of numbers as X."""


@pytest.fixture(scope="module")
def molecules() -> tuple[list[str], np.ndarray]:
    smiles, values = molesol()
    return smiles[:60], np.array(values[:60])


@pytest.fixture(scope="module")
def regressor(molecules: tuple[list[str], np.ndarray]) -> PolicyLearnRegressor:
    return PolicyLearnRegressor(**TINY).fit(*molecules)


@pytest.mark.parametrize("kind", [PolicyLearnRegressor, PolicyLearnClassifier])
@pytest.mark.parametrize("name", APPLY)
def test_scikit_learns_own_checks(kind: type, name: str) -> None:
    getattr(estimator_checks, name)(kind.__name__, kind(epochs=1))


def test_every_form_of_input_agrees(
    regressor: PolicyLearnRegressor, molecules: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    smiles, y = molecules
    expected = regressor.predict(smiles)
    assert expected.shape == (60,)
    forms = (np.array(smiles), np.array(smiles, dtype=object)[:, None], pd.Series(smiles), pd.DataFrame({"a": smiles}))
    for form in forms:
        np.testing.assert_allclose(regressor.predict(form), expected, atol=1e-5)
    packed = pack_molecules([featurise(text) for text in smiles])
    graphs = [make_data(packed, graph) for graph in range(len(packed))]
    with raises_naming(DataError, "SMILES"):
        regressor.predict(graphs)
    again = PolicyLearnRegressor(**TINY).fit(pd.Series(smiles), list(y))
    np.testing.assert_allclose(again.predict(smiles), expected, atol=1e-6)
    on_graphs = PolicyLearnRegressor(**TINY, settings={"fit.patience": 1}).fit(graphs, y)
    assert np.isfinite(on_graphs.predict(graphs)).all()
    folder = regressor.save(tmp_path / "run")
    np.testing.assert_allclose(policylearn.load(folder).predict(smiles)[:, 0], expected, atol=1e-6)


def test_a_pickle_holds_the_packed_run(
    regressor: PolicyLearnRegressor, molecules: tuple[list[str], np.ndarray]
) -> None:
    stored = pickle.dumps(regressor)
    modules = {str(code[1]).split()[0] for code in pickletools.genops(stored) if code[0].name == "GLOBAL"}
    assert not any(module.startswith("torch") for module in modules)
    assert b"torch._utils" not in stored
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(molecules[0]), regressor.predict(molecules[0]))
    again.packed_ = again.packed_[:-9] + b"elsewhere"
    del again._loaded
    with pytest.raises(RunError):
        again.predict(molecules[0])


def test_searches_and_pipelines(molecules: tuple[list[str], np.ndarray]) -> None:
    smiles, y = molecules
    quick = TINY | {"epochs": 1}
    scores = cross_val_score(PolicyLearnRegressor(**quick), smiles, y, cv=2, scoring="neg_root_mean_squared_error")
    assert np.isfinite(scores).all()
    assert (scores < 0).all()
    strip = FunctionTransformer(lambda rows: [row.strip() for row in rows])
    line = Pipeline([("strip", strip), ("model", clone(PolicyLearnRegressor(**quick)))])
    search = GridSearchCV(line, {"model__policy": ["none", "random"]}, cv=2).fit(smiles, y)
    assert search.best_params_["model__policy"] in ("none", "random")
    assert search.predict(smiles[:5]).shape == (5,)


def test_classes(molecules: tuple[list[str], np.ndarray]) -> None:
    smiles, y = molecules
    levels = np.where(y < -3, "low", np.where(y < -2, "mid", "high"))
    for labels, expected, members in ((y < -3, [False, True], 1), (levels, ["high", "low", "mid"], 2)):
        model = PolicyLearnClassifier(**TINY, ensemble=members).fit(smiles, labels)
        assert model.classes_.tolist() == expected
        chances = model.predict_proba(smiles)
        assert chances.shape == (60, len(expected))
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(model.predict(smiles), np.array(expected)[chances.argmax(axis=1)])
        assert 0 <= model.score(smiles, labels) <= 1
        answer = model.answer(smiles)
        assert (answer.std is not None) == (members > 1)
        assert answer.labels is not None


def test_large_offsets_keep_their_digits(molecules: tuple[list[str], np.ndarray]) -> None:
    smiles, y = molecules
    near, far = (PolicyLearnRegressor(**TINY).fit(smiles, y + offset).predict(smiles) - offset for offset in (0.0, 1e8))
    np.testing.assert_allclose(far, near, atol=0.05)


def test_several_targets_and_intervals(molecules: tuple[list[str], np.ndarray]) -> None:
    smiles, y = molecules
    both = np.stack([y, -2 * y], axis=1)
    both[::7, 1] = np.nan
    model = PolicyLearnRegressor(**TINY, validation_fraction=0.3).fit(smiles, both)
    assert model.predict(smiles).shape == (60, 2)
    answer = model.answer(smiles, level=0.5)
    assert (answer.lower < answer.upper).all()


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (np.zeros((4, 3)), np.zeros(4), r"\(4, 3\)"),
        ([1.5, 2.0], [0, 1], "0 is a float"),
        (["CCO", "CC"], [0.0], "'y' has 1"),
        (["CCO", "C1", "CC"], [0.0, 1.0, 2.0], "molecule 1"),
        (["CCO", "CC"], [0.0, np.nan], r"y\[1\].*nan"),
        (["CCO"], [0.0], "too few"),
    ],
)
def test_bad_input_is_named(rows: object, y: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PolicyLearnRegressor(**TINY).fit(rows, y)


def test_what_is_not_fitted_says_so() -> None:
    with pytest.raises(NotFittedError):
        PolicyLearnRegressor().predict(["CCO"])
    with raises_naming(DataError, "class"):
        PolicyLearnClassifier().fit(["CCO", "CC"], [1, 1])
