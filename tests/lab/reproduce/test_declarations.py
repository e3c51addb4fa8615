"""The declarations say what the paper prints, cell by cell, and how each cell is run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from lab.reproduce.declaration import ABSENT, Cell, Experiment, PaperRow, Printed, Table, row
from lab.reproduce.tables import METHODS, TABLES
from policylearn.data import CATALOG
from policylearn.models import SYSTEMS, Inputs, chosen_system
from policylearn.nn import Features
from policylearn.settings.run_config import POLICY_LEARN
from policylearn.training import make_model
from policylearn.training.presets import preset_names
from tests.errors import raises_naming

PAPER = Path(os.environ.get("POLICYLEARN_PAPER", Path(__file__).parents[4] / "shared" / "paper.txt"))
KEPT = Path(__file__).with_name("paper_tables.json")
CELLS = [cell for table in TABLES for cell in table.cells()]
TABLES_BY_NAME = {table.name: table for table in TABLES}
BUDGET = 500_000


def clean(text: str) -> str:
    """A LaTeX cell as the declarations write it."""
    text = re.sub(r"\\phantom\{0\}|\\color\{black\}|\\,|~?\s*\\citep\{.*?\}", "", text)
    text = re.sub(r"\\textbf\{\\textsc\{(.*?)\}\}", r"\1", text)
    text = text.replace(r"\ourmethod\ ", "Policy-learn ").replace(r"\ourmethod", "Policy-learn")
    text = re.sub(r"\\textsc\{(.*?)\}", r"\1", text).replace(r"\pm", "±").replace(r"\&", "&")
    return " ".join(re.sub(r"[${}]", "", text).split())


def latex_rows(label: str) -> list[tuple[str, str, list[str]]]:
    """Of the table with this label: method, T as text, cells."""
    text = PAPER.read_text(encoding="utf-8")
    at = text.index(f"\\label{{{label}}}")
    # The label stands before the rows in some tables and after them in others.
    start = max(text.rfind("\\begin{table}", 0, at), text.rfind("\\begin{wraptable}", 0, at))
    end = min(found for found in (text.find("\\end{table}", at), text.find("\\end{wraptable}", at)) if found > 0)
    body = text[text.index("\\toprule", start) : text.rindex("\\bottomrule", start, end)]
    rows = []
    for line in body.replace(r"\&", "AMPERSAND").split("\\\\"):
        cells = [
            clean(cell.replace("AMPERSAND", r"\&"))
            for cell in re.sub(r"\\\w*rule(\(.*?\)\{.*?\})?", "", line).split("&")
        ]
        if not any(figure_in(cell) for cell in cells):
            continue
        name, *rest = cells
        if rest[0] == "" or rest[0].startswith("T"):  # tables with a column for T
            name, rest = f"{name} {rest[0]}", rest[1:]
        found = re.fullmatch(r"(.*?)\s*(?:T\s*=\s*(\d+))?\s*", name)
        assert found
        rows.append((found[1], found[2] or "", rest))
    return rows


def paper_tables() -> dict[str, list[list[object]]]:
    """Every table of results by its label: from the paper where it is there, else as it was read from it."""
    if not PAPER.exists():
        return json.loads(KEPT.read_text(encoding="utf-8"))
    labels = set(re.findall(r"\\label\{(tab:[\w-]+)\}", PAPER.read_text(encoding="utf-8")))
    # One table carries two labels.
    return {label: [list(row) for row in latex_rows(label)] for label in sorted(labels - {"tab:runtimes"})}


def figure_in(text: str) -> Printed | None:
    try:
        return Printed(text)
    except ValueError:
        return None


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_declarations_are_what_the_paper_prints(table: Table) -> None:
    declared = [(r.method.name, str(r.picks or ""), [cell.text for cell in r.cells]) for r in table.rows]
    assert [list(row) for row in declared] == paper_tables()[table.label]


def test_no_table_of_results_is_left_out() -> None:
    assert paper_tables().keys() == {table.label for table in TABLES}


def test_there_are_as_many_cells_as_in_the_paper() -> None:
    assert sum(len(table.rows) * len(table.columns) for table in TABLES) == 219
    assert len({table.name for table in TABLES}) == len(TABLES) == 12


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c.table} {c.column.slug} {c.row.slug}")
def test_every_cell_is_run_by_what_it_says(cell: Cell) -> None:
    column, experiment = cell.column, cell.experiment
    entry = CATALOG[column.dataset]
    folds = {"csl": 5, "exp": 10, "reddit-binary": 10}.get(column.dataset)
    if column.measure == "metric":
        assert (column.metric, column.higher_is_better) == (entry.task.metric, entry.task.higher_is_better)
        assert column.factor == (100.0 if column.metric in ("accuracy", "rocauc") else 1.0)
        assert (column.protocol.repeat, column.protocol.count) == (("fold", folds) if folds else ("seed", 5))
    assert column.target is None or column.target in entry.targets
    config = experiment.config()
    assert config.data.name == column.dataset
    assert config.data.target == (() if column.target is None else (column.target,))
    system, settings = chosen_system(config)
    if cell.row.method.model != POLICY_LEARN:
        assert system.name == cell.row.method.model
        assert cell.row.picks is None or settings.picks == cell.row.picks
        return
    assert settings.selection["name"] == cell.row.method.policy
    assert settings.selection.get("picks") == cell.row.picks
    assert settings.prediction.conv == ("gcn" if cell.row.method.name == "GCN" else "gin")


def test_every_system_of_the_tables_has_settings_where_the_paper_prints_a_figure() -> None:
    """Else it would train with the defaults of this package, which are nobody's."""
    shipped = set(preset_names())
    for cell in CELLS:
        model = cell.row.method.model
        if model != POLICY_LEARN and cell.printed.text not in ABSENT:
            assert f"{cell.column.dataset}/{model}" in shipped, (cell.table, cell.row.title)


NARROWED = [row for row in TABLES_BY_NAME["zinc-full"].variants if row.method.settings]


@pytest.mark.parametrize("row", NARROWED, ids=lambda row: row.slug)
def test_variants_are_inside_the_budget_that_their_published_form_breaks(row: PaperRow) -> None:
    inputs = Inputs(
        Features((28,)),
        Features((4,)),
        learned={"cycle_codes": {"vocabularies": [range(size) for size in (2, 3, 4, 6, 3, 4)]}},
    )

    def weights(settings: tuple[tuple[str, Any], ...]) -> int:
        experiment = Experiment("zinc", "", row.picks or 0, None, settings, model=row.method.model)
        model = make_model(experiment.config(), inputs)
        return sum(weight.numel() for weight in model.parameters())

    assert weights(()) > BUDGET >= weights(row.method.settings) > 0.95 * BUDGET


def test_every_system_is_run_by_some_table() -> None:
    """So that each has a place in the ledger and in RESULTS.md."""
    declared = {cell.row.method.model for cell in CELLS if cell.column.needs is None}
    assert declared - {POLICY_LEARN} == {*SYSTEMS} - {POLICY_LEARN}


def test_every_variant_has_settings_of_its_own() -> None:
    shipped = set(preset_names())
    for table in TABLES:
        for variant in table.variants:
            assert f"{table.columns[0].dataset}/{variant.method.model}" in shipped, variant.title


def test_tables_that_share_an_experiment_print_the_same() -> None:
    printed: dict[object, set[str]] = {}
    for cell in CELLS:
        if cell.printed.text not in ABSENT and cell.column.measure == "metric":
            printed.setdefault(cell.experiment, set()).add(cell.printed.text)
    assert all(len(texts) == 1 for texts in printed.values())


def test_a_printed_text_keeps_its_digits() -> None:
    text = Printed("2489.25±9.42")
    assert (text.mean, text.deviation, text.digits) == (2489.25, 9.42, 2)
    assert (Printed("0.3569").mean, Printed("0.3569").deviation) == (0.3569, None)
    assert (Printed("OOM").mean, Printed("OOM").deviation, Printed("-").digits) == (None, None, 0)
    with raises_naming(ValueError, "N/A, -, OOM"):
        Printed("0.12 0.01")


def test_a_row_must_have_a_cell_a_column() -> None:
    with raises_naming(ValueError, "row 'GIN'"):
        Table("x", "x", "tab:x", (), (row(METHODS["gin"], None, "OOM"),))
