"""Distances to the training molecules: what they are, that intervals grow with them, and that warnings are given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.data import PackedGraphs, Task
from policylearn.data.preparation import prepare_molecules
from policylearn.data.transforms.fingerprint import Fingerprint
from policylearn.nn import Features
from policylearn.prediction.answer import Answer, compare
from policylearn.prediction.applicability import Domain, Nearness, learn_domain
from policylearn.prediction.calibration import calibrate
from policylearn.prediction.distances import distance_slope
from policylearn.prediction.predictor import Predictor
from policylearn.training import load_run
from tests.training.molecules import molesol, read_table, write_table

NUMBER = Task("regression", "mse", "rmse")
DRUGS = ["CC(=O)Oc1ccccc1C(=O)O", "CN1CCCC1c1cccnc1", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"]
C60 = (
    "c12c3c4c5c1c1c6c7c2c2c8c3c3c9c4c4c%10c5c5c1c1c6c6c%11c7c2c2c7c8c3c3c8c9c4c4c9c%10c5c5c1c1c6c6c%11c2c2c7c3c3c8c4c4c9c5"
    "c1c1c6c2c3c41"
)
STRANGE = ["[Na+].[Cl-]", C60, "C" * 500]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("domain")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:400], values[:400])
    words = ["train", str(table), "--target", "logS", "-o", str(folder / "run"), "--epochs", "2"]
    words += ["--data.split", "random", "--policy", "none", "--prediction.channels", "4", "--prediction.layers", "1"]
    assert main(words) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def predictor(run: Path) -> Predictor:
    return policylearn.load(run)


def molecules(*smiles: str) -> PackedGraphs:
    graphs = prepare_molecules(smiles, ()).graphs
    assert graphs is not None
    return Fingerprint()(graphs)


def domain_of(*smiles: str) -> tuple[Domain, Nearness]:
    graphs = molecules(*smiles)
    features = Features((119, 5, 12, 12, 10, 6, 6, 2, 2)), Features((5, 6, 2))
    return learn_domain(graphs, np.arange(len(graphs)), *features)


def test_distances_to_known_molecules() -> None:
    domain, among = domain_of("CCO", "CCO", "CCN", "c1ccccc1Cl")
    found = domain.nearness(molecules("CCO", "CCBr", "c1ccccc1"))
    assert found.similarity[0] == 1
    assert 0 < found.similarity[1] < 1
    np.testing.assert_allclose(found.unseen, [0, 2 / 5, 0])  # of three atoms and two bonds, the bromine and its bond
    np.testing.assert_allclose(among.similarity[:2], 1)  # each is the other's nearest
    np.testing.assert_allclose(among.unseen, [0, 0, 2 / 5, 14 / 14])  # no other is aromatic, or has chlorine


def test_a_domain_comes_back_from_its_folder(predictor: Predictor, tmp_path: Path) -> None:
    domain = predictor.domain
    assert domain is not None
    domain.save(tmp_path)
    back, graphs = Domain.load(tmp_path), predictor.prepare([*DRUGS, STRANGE[0]])
    assert back is not None
    assert graphs is not None
    for one, other in zip(vars(domain.nearness(graphs)).values(), vars(back.nearness(graphs)).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_training_molecules_are_inside(predictor: Predictor) -> None:
    smiles, _ = molesol()
    near = predictor.answer(smiles[:400]).near
    assert near is not None
    assert near.far.mean() < 0.02
    assert np.mean(near.similarity > 0.999) > 0.85  # all but the test part


def test_strange_molecules_are_warned_about_and_have_wider_intervals(predictor: Predictor) -> None:
    drugs, strange = predictor.answer(DRUGS), predictor.answer(STRANGE)
    assert drugs.near is not None
    assert strange.near is not None
    assert not drugs.near.far.any()
    assert strange.near.far.all()
    assert drugs.upper is not None
    assert drugs.lower is not None
    assert strange.upper is not None
    assert strange.lower is not None
    assert (strange.upper - strange.lower).min() > 1.5 * (drugs.upper - drugs.lower).max()


def test_the_commands_tell(run: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "new.csv", ("smiles",), [*DRUGS, *STRANGE[:2], "C" * 150])
    assert main(["predict", str(run), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    rows = read_table(tmp_path / "out.csv")
    assert [bool(row["warning"]) for row in rows] == [False] * 3 + [True] * 3
    assert rows[3]["unseen"] == "1.000"
    assert float(rows[0]["similarity"]) > float(rows[5]["similarity"])
    assert main(["explain", str(run), str(table), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text().count("Warning: far from the training molecules") == 3
    assert "Errors by distance to the training molecules" in (run / "report.html").read_text()


def test_the_service_tells(predictor: Predictor) -> None:
    pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
    from policylearn.prediction.service import reply_rows

    answer = predictor.answer([DRUGS[0], STRANGE[0]])
    drug, bad, salt = reply_rows(predictor, ["", "C1", ""], answer, {1: "no molecule"})
    assert bad.error == "no molecule"
    assert drug.warning is None
    assert drug.similarity is not None
    assert salt.warning is not None
    assert salt.unseen == 1
    assert answer.lower is not None
    assert salt.lower is not None
    assert salt.lower["logS"] == pytest.approx(float(answer.lower[1, 0]))


def test_the_page_of_held_out_rows_knows_distances(run: Path) -> None:
    from policylearn.prediction.held_out import read_held_out
    from policylearn.prediction.scores import thirds

    task = load_run(run).facts.task
    test = read_held_out(run, task)["test"]
    parts = thirds(task, test.y, test.answer)
    assert [len(one.errors) for one in parts] == [14, 13, 13]
    assert parts[0].similarity[0] >= parts[1].similarity[1] >= parts[2].similarity[0]


def drawn(rows: int, seed: int, *, grows: bool) -> tuple[Nearness, np.ndarray]:
    draw = np.random.default_rng(seed)
    distance = draw.random(rows)
    scale = 0.1 + 2 * distance if grows else np.ones(rows)
    return Nearness(1 - distance, np.zeros(rows), np.zeros(rows, bool)), scale * draw.standard_normal(rows)


def answer(near: Nearness) -> Answer:
    rows = len(near.far)
    return Answer(np.zeros((rows, 1)), [[]] * rows, near=near)


def test_intervals_grow_where_errors_do() -> None:
    near, errors = drawn(400, 1, grows=True)
    slope = distance_slope(1 - near.similarity, np.abs(errors))
    found = calibrate(NUMBER, errors[:, None], answer(near), [slope], [[0.0]] * 7)
    assert found is not None
    near, errors = drawn(6000, 2, grows=True)
    inside = compare(NUMBER, errors[:, None], found.bound(NUMBER, answer(near))).inside
    assert inside is not None
    third = np.argsort(np.argsort(near.similarity)) // 2000
    for part in range(3):
        assert 0.85 < inside[third == part].mean() < 0.95


def test_intervals_are_constant_where_errors_are() -> None:
    near, errors = drawn(400, 1, grows=False)
    assert distance_slope(1 - near.similarity, np.abs(errors)) < 0.3
    assert distance_slope(1 - near.similarity, np.sort(np.abs(errors))[np.argsort(np.argsort(near.similarity))]) == 0


def test_of_a_molecule_far_outside_no_label_is_ruled_out() -> None:
    task = Task("binary", "bce", "rocauc")
    y, values = np.repeat([[0.0], [1.0]], 50, axis=0), np.repeat([[0.1], [0.9]], 50, axis=0)
    found = calibrate(task, y, Answer(values, []))
    assert found is not None
    near = Nearness(np.array([0.5, 0.0]), np.zeros(2), np.array([False, True]))
    fits = found.bound(task, Answer(np.array([[0.05], [0.05]]), [[], []], near=near)).labels
    assert fits is not None
    assert fits[:, 0].tolist() == [[True, False], [True, True]]
