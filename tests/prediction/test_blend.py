"""What answers beside the network: exact leave-one-out, trees as arrays, a blend that is hardly ever worse."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import lightgbm
import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.data import DataError, Task
from policylearn.data.preparation import prepare_molecules
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.data.transforms.fingerprint import BITS, Fingerprint
from policylearn.prediction.blend import ALONE, BLEND, PRIORS, can_blend, find_shares
from policylearn.prediction.gaussian_process import fit, squared_distances
from policylearn.prediction.kernel_model import KERNEL, KernelModel, fit_kernel_model, tanimoto, unary_counts
from policylearn.prediction.trees import ROUNDS, SETTINGS, TreeModel, fit_trees, tree_inputs
from policylearn.settings.run_files import RunError
from tests.training.molecules import molesol, write_table
from tests.warm import MAIN, run_warm

QUICK = ["--epochs", "2", "--prediction.channels", "4", "--prediction.layers", "1", "--policy", "none"]
REGRESSION = Task("regression", "mse", "rmse")


@pytest.fixture(scope="module")
def molecules():
    smiles, values = molesol()
    graphs = prepare_molecules(smiles[:150], ()).graphs
    assert graphs is not None
    graphs = Fingerprint()(Descriptors().fit(graphs)(graphs))
    graphs.y[:] = np.array(values[:150], np.float32)[:, None]
    return graphs


def test_similarity_is_tanimoto_of_counts():
    counts = np.random.default_rng(0).integers(0, 4, (6, 30)).astype(np.uint8)
    expected = [
        [np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in counts.astype(int)] for a in counts.astype(int)
    ]
    np.testing.assert_allclose(tanimoto(unary_counts(counts), unary_counts(counts)), expected, rtol=1e-6)


def test_fingerprints_count_substructures():
    graphs = prepare_molecules(["CCO", "CCCCO", "CCO"], ()).graphs
    assert graphs is not None
    counts = Fingerprint(kinds=("morgan",))(graphs).structures["fingerprint"].values
    assert counts.shape == (3, BITS)
    assert counts.dtype == np.uint8
    np.testing.assert_array_equal(counts[0], counts[2])
    assert counts[1].sum() > counts[0].sum()
    with pytest.raises(DataError):
        Fingerprint(kinds=("ecfp9",))


def test_left_out_predictions_are_those_of_a_fit_without_the_row():
    draw = np.random.default_rng(1)
    x = draw.normal(size=(40, 3))
    y = x[:, 0] + 0.1 * draw.normal(size=40)
    y = (y - y.mean()) / y.std()
    similar, far = np.exp(-squared_distances(x, x)), squared_distances(x, x)
    found = fit([similar], far, y)
    covariance = found.kernel([similar], far) + (found.kernel.noise + 1e-8) * np.eye(40)
    for row in (0, 7, 39):
        rest = np.delete(np.arange(40), row)
        alone = found.kernel([similar], far)[row, rest] @ np.linalg.solve(covariance[np.ix_(rest, rest)], y[rest])
        assert found.left_out[row] == pytest.approx(alone, abs=1e-8)


def test_it_learns_and_comes_back_from_its_file_without_pickle(molecules, tmp_path: Path):
    model, left_out = fit_kernel_model(REGRESSION, molecules, np.arange(120))
    error = left_out[:, 0] - molecules.y[:120, 0]
    assert np.sqrt((error**2).mean()) < 0.6 * molecules.y[:120].std()
    model.save(tmp_path)
    again = KernelModel.load(tmp_path)
    assert again is not None
    np.testing.assert_allclose(again.predict(molecules), model.predict(molecules), atol=1e-5)
    content = (tmp_path / KERNEL).read_bytes()
    (tmp_path / KERNEL).write_bytes(content[: len(content) // 2])
    with pytest.raises(RunError):
        KernelModel.load(tmp_path)


def test_yes_or_no_with_gaps_gives_probabilities(molecules):
    y = (molecules.y > np.median(molecules.y)).astype(np.float32)
    y = np.concatenate([y, 1 - y], axis=1)
    y[::5, 1] = np.nan
    graphs, task = replace(molecules, y=y), Task("binary", "bce", "rocauc", ("a", "b"))
    model, left_out = fit_kernel_model(task, graphs, np.arange(120))
    unknown = np.isnan(y[:120, 1])
    np.testing.assert_allclose(left_out[unknown, 1], model.predict(graphs)[:120][unknown, 1], rtol=1e-6)
    chances = model.predict(graphs)
    assert ((chances > 0) & (chances < 1)).all()
    assert np.mean((chances[120:, 0] > 0.5) == (y[120:, 0] > 0.5)) > 0.7


def test_trees_answer_as_lightgbm_does_and_come_back_without_it(molecules, tmp_path: Path):
    rows = np.arange(120)
    model = fit_trees(REGRESSION, molecules, rows)
    x = tree_inputs(molecules, model.columns)
    booster = lightgbm.train(
        SETTINGS | {"objective": "regression", "seed": 0}, lightgbm.Dataset(x[rows], molecules.y[rows, 0]), ROUNDS
    )
    np.testing.assert_allclose(model.predict(molecules)[:, 0], booster.predict(x), rtol=1e-9)
    model.save(tmp_path)
    again = TreeModel.load(tmp_path)
    assert again is not None
    np.testing.assert_array_equal(again.predict(molecules), model.predict(molecules))
    replace(model, left=model.roots[0] * np.ones_like(model.left)).save(tmp_path)  # a row would go in circles
    with pytest.raises(RunError):
        TreeModel.load(tmp_path)


def test_trees_of_classes_and_of_labels_with_gaps_give_probabilities(molecules):
    y = (molecules.y > np.median(molecules.y)).astype(np.float32)
    gaps = np.concatenate([y, 1 - y], axis=1)
    gaps[::5, 1] = np.nan
    chances = fit_trees(
        Task("binary", "bce", "rocauc", ("a", "b")), replace(molecules, y=gaps), np.arange(120)
    ).predict(molecules)
    assert np.mean((chances[120:, 0] > 0.5) == (y[120:, 0] > 0.5)) > 0.7
    assert np.mean((chances[120:, 1] > 0.5) == (y[120:, 0] < 0.5)) > 0.7
    three = Task("classes", "cross_entropy", "accuracy", ("c",), classes=("low", "mid", "high"))
    level = (molecules.y > np.quantile(molecules.y, [0.33, 0.66])).sum(axis=1, keepdims=True)
    chances = fit_trees(three, replace(molecules, y=level), np.arange(120)).predict(molecules)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.mean(chances[120:].argmax(axis=1) == level[120:, 0]) > 0.5


@pytest.mark.parametrize("useless", ["network", "kernel", "trees"])
def test_a_useless_part_hardly_harms_the_blend(useless: str):
    draw = np.random.default_rng(2)
    y = draw.normal(size=(300, 1))
    said = {name: y + (0.3 if name != useless else 3.0) * draw.normal(size=y.shape) for name in ALONE}
    shares = find_shares("regression", y[:100], {name: one[:100] for name, one in said.items()})
    assert sum(own[0] for own in shares.values()) == pytest.approx(1)
    rmse = lambda values: float(np.sqrt(((values - y)[100:] ** 2).mean()))  # noqa: E731
    blended = sum(shares[name][0] * one for name, one in said.items())
    assert rmse(blended) < min(map(rmse, said.values())) + 0.02
    alike = {name: y[:8] + 0.3 * draw.normal(size=(8, 1)) for name in said}
    few = find_shares("regression", y[:8], alike)
    assert all(abs(few[name][0] - PRIORS["regression"][name]) < 0.15 for name in few)  # eight rows say little


def test_where_there_can_be_none(molecules):
    assert can_blend(REGRESSION, molecules, np.arange(120))
    assert not can_blend(REGRESSION, molecules, np.arange(10))
    bare = prepare_molecules(["CCO"] * 30, ()).graphs
    assert bare is not None
    assert not can_blend(REGRESSION, bare, np.arange(30))


def test_from_train_to_predict_in_a_new_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    smiles, values = molesol()
    table = write_table(tmp_path / "m.csv", ("smiles", "logS"), smiles[:150], values[:150])
    run, out = tmp_path / "run", tmp_path / "out.csv"
    words = ["train", str(table), "--target", "logS", "-o", str(run), "--data.split", "random", *QUICK]
    assert main(words) == 0
    assert "kernel model" in capsys.readouterr().out
    assert main(["evaluate", str(run)]) == 0
    assert "the run logged" not in capsys.readouterr().out
    assert main(["evaluate", str(run), "--part", "valid"]) == 2
    assert main(["export", str(run), "-o", str(tmp_path / "model.pt2")]) == 0
    assert "network alone" in capsys.readouterr().out
    done = run_warm(MAIN, "predict", run, table, "-o", out)
    assert done.returncode == 0, done.stderr
    with out.open(newline="") as file:
        found = np.array([float(row["predicted_logS"]) for row in csv.DictReader(file)])
    predictor = policylearn.load(run)
    np.testing.assert_allclose(predictor.predict(smiles[:150])[:, 0], found, rtol=1e-5)
    assert predictor.blend is not None
    assert predictor.blend.kernel is not None
    assert not np.allclose(predictor.blend.kernel.predict(predictor.prepare(smiles[:20]))[:, 0], found[:20], atol=1e-3)
    assert main([*words[:4], "-o", str(tmp_path / "plain"), *words[6:], "--network-only"]) == 0
    assert not (tmp_path / "plain" / BLEND).exists()
