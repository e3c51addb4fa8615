"""Runs evaluated again with draws and with thresholds: what is paired, and which way differences count."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.table import Table

from benchmarks import drawn_bags, early_stops
from policylearn.training.runs import load_run
from tests.training.molecules import molesol, small_run, write_table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    table = write_table(tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "logS"), smiles[:60], values[:60])
    return small_run(table.parent / "run", table, "logS", selection={"stop_below": 0.0})


def cells(table: Table, column: int) -> list[str]:
    return [str(cell) for cell in table.columns[column].cells]


def test_draws_beside_the_best_nodes(run: Path) -> None:
    found = load_run(run)
    scores = list(drawn_bags.scores_of(found))
    assert [one.draws for one in scores] == [1, *drawn_bags.DRAWS] * 2
    assert {one.policy for one in scores} == {"reinforce"}
    by_part = {(one.part, one.draws): one.value for one in scores}
    assert by_part["test", 1] == found.metrics["test"]
    table = Table(*map(str, range(8)))
    drawn_bags.add_rows(table, scores)
    assert cells(table, 2) == ["valid", "test"]
    gain = float(cells(table, 5)[1].split()[0])
    assert gain == pytest.approx(by_part["test", 1] - by_part["test", 2], abs=6e-5)  # an error: less is better


def test_thresholds_beside_all_picks(run: Path) -> None:
    found = load_run(run)
    scores = list(early_stops.scores_of(found))
    picks = [one.picks for one in scores if one.part == "test"]
    assert picks[0] == found.config.selection.picks
    assert picks[-1] == 0
    assert picks == sorted(picks, reverse=True)
    table = Table(*map(str, range(7)))
    early_stops.add_rows(table, scores)
    assert cells(table, 2)[:2] == ["all picks", "-0.05"]
    assert cells(table, 6)[0].startswith("+0.0000")
