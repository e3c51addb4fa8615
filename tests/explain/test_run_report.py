"""The pages of a run and of new molecules: whole in one file, true to the run, and readable in a real browser."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import policylearn
from policylearn.bags import Selection
from policylearn.cli import main
from policylearn.data import Task
from policylearn.explain.molecules import molecule_svg
from policylearn.explain.picks import picked_molecules
from policylearn.explain.run_report import gain_by_picks, held_out_picks
from policylearn.prediction.held_out import read_held_out
from policylearn.prediction.scores import target_scores
from tests.explain.chromium import Browser, browser_in
from tests.training.molecules import molesol, write_table
from tests.training.tiny import write_graphs

SMALL = ["--epochs", "2", "--prediction.channels", "8", "--prediction.layers", "2", "--fit.threads", "1"]


def train(data: Path, folder: Path, *words: str) -> Path:
    assert main(["train", str(data), "-o", str(folder), *SMALL, *words]) == 0
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, by name."""
    folder = tmp_path_factory.mktemp("pages")
    smiles, values = molesol()
    levels = ["low" if value < -3 else "mid" if value < -2 else "high" for value in values[:150]]
    toxic = [int(value < -3) for value in values[:150]]
    names = ("smiles", "logS", "level", "a <b>toxic</b> & very long name of a column that nobody would want to read")
    table = write_table(folder / "m.csv", names, smiles[:150], values[:150], levels, toxic)
    split = ("--data.split", "random")
    runs = {
        "regression": train(table, folder / "r", "--target", "logS", "--ensemble", "2", "--policy", "learned", *split),
        "binary": train(table, folder / "b", "--target", names[3], "--network-only", *split),
        "classes": train(table, folder / "c", "--target", "level", "--policy", "full", "--network-only", *split),
        "graphs": train(write_graphs(folder / "g.npz"), folder / "g"),
    }
    new = write_table(folder / "new.csv", ("smiles",), [*smiles[200:204], "C1CC", "<script>alert(1)</script>"])
    explanation = folder / "explanation.html"
    assert main(["explain", str(runs["regression"]), str(new), "-o", str(explanation)]) == 1
    return {name: run / "report.html" for name, run in runs.items()} | {"explanation": explanation}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_in(tmp_path_factory.mktemp("profile")) as running:
        yield running


def test_scores_are_seen_whole_on_a_phone(pages: dict[str, Path], browser: Browser) -> None:
    browser.resize(375)
    for name in ("regression", "classes", "graphs"):
        browser.open(pages[name])
        hidden = browser.run("(box => box.scrollWidth - box.clientWidth)(document.querySelector('.wide'))")
        assert hidden == 0, f"{hidden} px of the scores of {name} are seen only by scrolling"


@pytest.mark.parametrize("name", ["regression", "binary", "classes", "graphs", "explanation"])
def test_a_browser_shows_the_page(name: str, pages: dict[str, Path], browser: Browser) -> None:
    for width in (375, 1400):
        for dark in (False, True):
            browser.resize(width, dark=dark)
            browser.open(pages[name])
            assert browser.overflowing() == []
            browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert browser.overflowing() == [], "with every list of atoms open"
            ink, paper = browser.run("['color', 'backgroundColor'].map(key => getComputedStyle(document.body)[key])")
            bright = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
            assert (bright[0] > bright[1]) == dark
            narrow = browser.run(
                "Array.from(document.querySelectorAll('dd, figcaption'), e => e.getBoundingClientRect().width)"
            )
            assert not narrow or min(narrow) > 120, "no column is squeezed"
    assert browser.complaints == []


def test_the_page_needs_no_network(pages: dict[str, Path]) -> None:
    for path in pages.values():
        text = path.read_text()
        assert not re.search(r'(src|href)="(?!data:|#)', text)
        assert "@import" not in text
        assert "<b>toxic" not in text
        assert "<script>" not in text


def test_the_page_says_what_the_run_says(pages: dict[str, Path]) -> None:
    text = pages["regression"].read_text()
    metrics = json.loads((pages["regression"].parent / "metrics.json").read_text())
    assert f"{metrics['test']:.4g} (lower is better)" in text
    assert f"{metrics['alone']['trees']['test']:.4g} on test" in text
    assert "policylearn train" in text
    assert "rows, 150 kept" in text
    assert text.count("<svg") > 5
    for heading in ("Errors by scaffold", "Worst molecules", "What the policy looks at", "Learning curves"):
        assert heading in text
    assert "ROC" in pages["binary"].read_text()
    assert "marks no single nodes" in pages["classes"].read_text()
    assert re.search(r"without its picks on \d+ of these graphs", pages["graphs"].read_text())
    shown = pages["explanation"].read_text()
    assert shown.count("no answer") == 2
    assert "&lt;script&gt;" in shown


def test_molecules_are_drawn_where_picks_matter(pages: dict[str, Path]) -> None:
    """The gain is the fall of the error from no picks to all; the page shows the molecules that gain most."""
    folder = pages["regression"].parent
    predictor = policylearn.load(folder)
    part = read_held_out(folder, predictor.task)["test"]
    found = held_out_picks(predictor, part, None)
    assert found is not None
    gain = gain_by_picks(found, part)
    for row in (0, len(part) - 1):
        graphs = next(predictor.prepared_batches(predictor.prepare([part.smiles[row]]), 1))
        said = predictor.task.unscale(predictor.model.predict(graphs, Selection.nothing(graphs.ptr))).item()
        alone = predictor.task.unscale(predictor.model(graphs)).item()
        assert gain[row] == pytest.approx(abs(said - part.y[row, 0]) - abs(alone - part.y[row, 0]), abs=1e-4)
    text = pages["regression"].read_text()
    drawn = text[text.index("What the policy looks at") :]
    assert f"<code>{html.escape(part.smiles[int(gain.argmax())])}</code>" in drawn
    assert f"on {len(part)} of these graphs" in drawn


def test_picks_are_the_predictors_own(pages: dict[str, Path]) -> None:
    predictor = policylearn.load(pages["regression"].parent / "member-1")
    smiles = molesol()[0][300:310]
    found = picked_molecules(predictor, smiles)
    assert [[step.node for step in one.steps] for one in found] == predictor.picks(smiles)
    for one in found:
        for at, step in enumerate(one.steps):
            assert sum(chances[at] for _, _, chances in one.nodes) == pytest.approx(1, abs=1e-6)
            assert step.chance == one.nodes[step.node][2][at]
            assert "<svg" in step.svg


def test_picks_of_a_salt_are_atoms_of_the_salt(pages: dict[str, Path]) -> None:
    """The network reads the parent, whose atoms have other numbers."""
    predictor = policylearn.load(pages["regression"].parent / "member-1")
    salt, parent = "[Na+].[Cl-].CCc1ccccc1O", "CCc1ccccc1O"
    (drawn,), (plain,) = picked_molecules(predictor, [salt]), picked_molecules(predictor, [parent])
    assert [step.node for step in drawn.steps] == predictor.picks([salt])[0]
    assert [step.node - 2 for step in drawn.steps] == [step.node for step in plain.steps]
    assert [(number, symbol) for number, symbol, _ in drawn.nodes] == [
        (2 + number, symbol) for number, symbol, _ in plain.nodes
    ]
    assert [(step.chance, step.said) for step in drawn.steps] == [(step.chance, step.said) for step in plain.steps]


def test_packed_graphs_are_drawn_as_graphs(tmp_path: Path) -> None:
    """Also where SMILES are known, as for ZINC: what these would give is another graph."""
    path = write_graphs(tmp_path / "g.npz")
    with np.load(path) as file:
        arrays = dict(file)
    smiles = "\n".join("C" * (1 + row) for row in range(len(arrays["y"])))
    np.savez(path, **arrays, smiles=np.frombuffer(smiles.encode(), dtype=np.uint8))
    report = train(path, tmp_path / "run") / "report.html"
    page = report.read_text()
    assert "Worst molecules" in page
    test = read_held_out(report.parent, policylearn.load(report.parent).task)["test"]
    drawn = re.findall(r"<h3><code>graph (\d+)</code></h3>", page)
    assert drawn
    assert set(drawn) <= set(test.about["graph"])
    assert main(["report", str(report.parent)]) == 0
    assert re.findall(r"<h3><code>graph (\d+)</code></h3>", report.read_text()) == drawn, "read back from the data"
    path.unlink()
    assert main(["report", str(report.parent)]) == 0
    assert "cannot be read here" in report.read_text()


def test_predictions_are_read_back(pages: dict[str, Path]) -> None:
    for name in ("regression", "binary", "classes"):
        folder = pages[name].parent
        task = policylearn.load(folder).task
        metrics = json.loads((folder / "metrics.json").read_text())
        for part, rows in read_held_out(folder, task).items():
            scores = target_scores(task, rows.y, rows.answer.values)[task.targets[0]]
            assert scores[task.metric] == pytest.approx(metrics[part], rel=1e-5)


def test_scores_by_hand() -> None:
    numbers = target_scores(Task("regression", "mse", "rmse"), np.array([[0.0], [2.0]]), np.array([[1.0], [2.0]]))
    assert numbers["y"] == pytest.approx({"rmse": 0.5**0.5, "mae": 0.5, "r2": 0.5})
    yes = target_scores(
        Task("binary", "bce", "rocauc"), np.array([[0], [0], [1], [1]]), np.array([[0.1], [0.6], [0.5], [0.9]])
    )
    assert yes["y"] == pytest.approx({"rocauc": 0.75, "prauc": 5 / 6, "mcc": 1 / 3**0.5, "accuracy": 0.75})
    one = target_scores(Task("binary", "bce", "rocauc"), np.array([[1], [1]]), np.array([[0.1], [0.6]]))
    assert one["y"] == {"accuracy": 0.5}


def test_what_cannot_be_drawn_is_empty() -> None:
    assert molecule_svg("C1CC") == ""
    assert molecule_svg("C" * 400) == ""
