"""The validation and test rows of a run with its predictions: in memory, and as ``predictions.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policylearn.data import PackedGraphs, Task, take_graphs
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.data.subset import targets_are_per_node
from policylearn.prediction.answer import Answer
from policylearn.prediction.answer_columns import AnswerColumns, number_text, row_writer
from policylearn.prediction.applicability import Domain, Nearness
from policylearn.settings.run_files import RunError

PREDICTIONS = "predictions.csv"
ABOUT = ("part", "graph", "node", "line", "group", "smiles")


@dataclass(frozen=True)
class HeldOut:
    """Rows of one part: the truth, NaN where it is not known, ``(R, targets)``, and what the model says.

    ``about`` tells a row from others, by column: part, graph, and node, line, group and SMILES where known.
    """

    about: dict[str, list[str]]
    y: Array
    answer: Answer

    def __len__(self) -> int:
        return len(self.y)

    @property
    def smiles(self) -> list[str]:
        """Of each row; empty where the data were no molecules."""
        return self.about.get("smiles", [])

    @staticmethod
    def of(part: str, graphs: PackedGraphs, rows: Array, answer: Answer) -> HeldOut:
        """The rows of a part: its name, all graphs of the data, which of them, and what the model says of these."""
        chosen, per_node = take_graphs(graphs, rows), targets_are_per_node(graphs)
        counts = chosen.num_nodes if per_node else np.ones(len(rows), dtype=np.int64)
        owners = np.repeat(np.arange(len(rows)), counts)
        about = {"part": [part] * len(owners), "graph": [str(row) for row in rows[owners]]}
        if per_node:
            about["node"] = [str(node) for count in counts for node in range(count)]
        for name in ("line", "group"):
            if name in graphs.extras:
                about[name] = [str(one) for one in graphs.extras[name][rows[owners]]]
        if graphs.smiles is not None:
            about["smiles"] = [graphs.smiles[row] for row in rows[owners]]
        return HeldOut(about, chosen.y.reshape(len(owners), -1).astype(np.float64), answer)

    @property
    def owners(self) -> Array:
        """Which graph of the part each row belongs to."""
        place = {graph: at for at, graph in enumerate(dict.fromkeys(self.about["graph"]))}
        return np.array([place[graph] for graph in self.about["graph"]], dtype=np.int64)


def write_held_out(folder: Path, task: Task, parts: Mapping[str, HeldOut], domain: Domain | None = None) -> None:
    """Write ``predictions.csv``: what each row is, the truth, and what ``predict`` writes."""
    first, text = next(iter(parts.values())), io.StringIO()
    bounds = first.answer.lower is not None or first.answer.labels is not None
    picks = "picked_atoms" if first.smiles else "picked_nodes"
    columns = AnswerColumns(task, std=first.answer.std is not None, bounds=bounds, picks=picks, domain=domain)
    header = [*first.about, *(f"true_{target}" for target in task.targets)]
    writer = row_writer(text)
    writer.writerow([*header, *columns.names(header)[:-1]])  # no row has an error
    for part in parts.values():
        for at, cells in enumerate(columns.cells(part.answer, part.owners)):
            truth = [target_text(task, target, value) for target, value in enumerate(part.y[at])]
            writer.writerow([*(part.about[name][at] for name in first.about), *truth, *cells[:-1]])
    write_text(folder / PREDICTIONS, text.getvalue())


def read_held_out(folder: Path, task: Task) -> dict[str, HeldOut]:
    """Read ``predictions.csv`` of a finished run back, column by column; sets of labels and picks stay in the file."""
    path = folder / PREDICTIONS
    if not path.is_file():
        raise RunError(f"{path}: is not there, so nothing is known of single rows; train with 'policylearn train'")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    begin = sum(name in ABOUT for name in header[: len(ABOUT)])
    truth = header[begin : begin + len(task.targets)]
    has_std, bounded = (any(name.startswith(start) for name in header) for start in ("std_", "lower_"))
    names = AnswerColumns(task, std=has_std, bounds=bounded).names(header[: begin + len(truth)])
    first = 0 if task.kind == "regression" else len(task.targets)
    values = names[first : first + len(AnswerColumns(task).subjects())]
    labels = {} if task.kind == "regression" else {name: at for at, name in enumerate(task.classes or ("0", "1"))}
    found = {}
    for part in dict.fromkeys(row[0] for row in rows):
        columns = dict(zip(header, zip(*(row for row in rows if row[0] == part), strict=True), strict=True))
        lower, upper = (
            numbers([columns[name] for name in names if name.startswith(end)]) if bounded else None
            for end in ("lower_", "upper_")
        )
        near = None
        if "unseen" in header[begin:]:
            unseen = numbers([columns["unseen"]])[:, 0]
            similarity = numbers([columns.get("similarity", [""] * len(unseen))])[:, 0]
            near = Nearness(similarity, unseen, np.array([bool(cell) for cell in columns["warning"]]))
        about = {name: list(columns[name]) for name in header[:begin]}
        y = numbers([columns[name] for name in truth], labels)
        if lower is not None and upper is not None:  # an infinite bound is an empty cell
            lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
        answer = Answer(numbers([columns[name] for name in values]), [], None, lower, upper, near=near)
        found[part] = HeldOut(about, y, answer)
    return found


def numbers(columns: Iterable[Sequence[str]], labels: Mapping[str, int] | None = None) -> Array:
    """Columns of text as a table of numbers, labels as their places; NaN where a cell is empty."""
    cells = [[float((labels or {}).get(cell, cell)) if cell else np.nan for cell in column] for column in columns]
    return np.array(cells, dtype=np.float64).T


def target_text(task: Task, target: int, value: float) -> str:
    """A target as its file had it: a number, the name of a label, or nothing where it is not known."""
    if value != value:
        return ""
    if task.kind == "regression":
        return number_text(task, target, value)
    return task.classes[int(value)] if task.classes else str(int(value))
