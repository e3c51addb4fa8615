"""The validation and test rows of a run with what it says of them: in memory, and as ``predictions.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policylearn.data import PackedGraphs, Task, take_graphs
from policylearn.data.atomic import write_text
from policylearn.data.packed import Array
from policylearn.data.subset import targets_are_per_node
from policylearn.prediction.answer_columns import AnswerColumns, number_text
from policylearn.prediction.applicability import Domain, Nearness
from policylearn.prediction.predictor import Answer
from policylearn.prediction.row_writer import row_writer
from policylearn.settings.run_files import RunError

PREDICTIONS = "predictions.csv"
ABOUT = ("part", "graph", "node", "line", "group", "smiles")
NEAR = ("similarity", "unseen")


@dataclass(frozen=True)
class HeldOut:
    """Rows of one part.

    Args:
        about: what tells a row from others, by column: part, graph, and node, line, group and SMILES where known.
        y: the truth, NaN where it is not known.
        answer: what the model says.

    Shapes:
        y ``(R, targets)``.
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
        """The rows of a part.

        Args:
            part: its name.
            graphs: all graphs of the data.
            rows: which of them.
            answer: what the model says of these.
        """
        chosen, per_node = take_graphs(graphs, rows), targets_are_per_node(graphs)
        counts = chosen.num_nodes if per_node else np.ones(len(rows), dtype=np.int64)
        owners = np.repeat(np.arange(len(rows)), counts)
        about = {"part": [part] * len(owners), "graph": [str(row) for row in rows[owners]]}
        if per_node:
            about["node"] = [str(node) for count in counts for node in range(count)]
        if "line" in graphs.extras:
            about["line"] = [str(line) for line in graphs.extras["line"][rows[owners]]]
        if "group" in graphs.extras:
            about["group"] = [str(group) for group in graphs.extras["group"][rows[owners]]]
        if graphs.smiles is not None:
            about["smiles"] = [graphs.smiles[row] for row in rows[owners]]
        return HeldOut(about, chosen.y.reshape(len(owners), -1).astype(np.float64), answer)

    @property
    def owners(self) -> Array:
        """Which graph of the part each row belongs to."""
        place = {graph: at for at, graph in enumerate(dict.fromkeys(self.about["graph"]))}
        return np.array([place[graph] for graph in self.about["graph"]], dtype=np.int64)


def columns_of(task: Task, parts: Mapping[str, HeldOut], domain: Domain | None) -> AnswerColumns:
    """The columns of answers that the parts have."""
    first = next(iter(parts.values()))
    bounds = first.answer.lower is not None or first.answer.labels is not None
    picks = "picked_atoms" if first.smiles else "picked_nodes"
    return AnswerColumns(task, std=first.answer.std is not None, bounds=bounds, picks=picks, domain=domain)


def write_held_out(folder: Path, task: Task, parts: Mapping[str, HeldOut], domain: Domain | None = None) -> None:
    """Write ``predictions.csv``: what each row is, the truth, and what ``predict`` writes."""
    columns, text = columns_of(task, parts, domain), io.StringIO()
    about = list(next(iter(parts.values())).about)
    header = [*about, *(f"true_{target}" for target in task.targets)]
    writer = row_writer(text)
    writer.writerow([*header, *columns.names(header)[:-1]])  # no row has an error
    for part in parts.values():
        truth = [[written(task, at, value) for at, value in enumerate(row)] for row in part.y]
        for at, cells in enumerate(columns.cells(part.answer, part.owners)):
            writer.writerow([*(part.about[name][at] for name in about), *truth[at], *cells[:-1]])
    write_text(folder / PREDICTIONS, text.getvalue())


def read_held_out(folder: Path, task: Task) -> dict[str, HeldOut]:
    """Read ``predictions.csv`` back, column by column; sets of labels and picks stay in the file.

    Args:
        folder: of a finished run.
        task: that it was trained for.
    """
    path = folder / PREDICTIONS
    if not path.is_file():
        raise RunError(f"{path}: is not there, so nothing is known of single rows; train with 'policylearn train'")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    begin = sum(name in ABOUT for name in header[: len(ABOUT)])
    truth = header[begin : begin + len(task.targets)]
    has_std, bounded = (any(name.startswith(start) for name in header) for start in ("std_", "lower_"))
    names = AnswerColumns(task, std=has_std, bounds=bounded).names(header[: begin + len(truth)])
    subjects = AnswerColumns(task).subjects()
    first = 0 if task.kind == "regression" else len(task.targets)
    ids = {name: float(at) for at, name in enumerate(task.classes or ("0", "1"))}

    def numbers(columns: list[str], cells: list[list[str]]) -> Array:
        places = [header.index(name) for name in columns]
        return np.array([[float(row[at]) if row[at] else np.nan for at in places] for row in cells], dtype=np.float64)

    found = {}
    for part in dict.fromkeys(row[0] for row in rows):
        cells = [row for row in rows if row[0] == part]
        if task.kind == "regression":
            y = numbers(truth, cells)
        else:
            places = [header.index(name) for name in truth]
            y = np.array([[ids[row[at]] if row[at] else np.nan for at in places] for row in cells])
        lower = upper = None
        if bounded and task.kind == "regression":
            lower, upper = (
                numbers([name for name in names if name.startswith(end)], cells) for end in ("lower_", "upper_")
            )
        values = numbers(names[first : first + len(subjects)], cells)
        about = {name: [row[at] for row in cells] for at, name in enumerate(header[:begin])}
        near = None
        if "unseen" in header[begin:]:
            similarity, unseen = (
                numbers([name], cells)[:, 0] if name in header else np.full(len(cells), np.nan) for name in NEAR
            )
            near = Nearness(similarity, unseen, np.array([bool(row[header.index("warning")]) for row in cells]))
        found[part] = HeldOut(about, y, Answer(values, [], None, lower, upper, near=near))
    return found


def written(task: Task, target: int, value: float) -> str:
    """A target as its file had it: a number, the name of a label, or nothing where it is not known."""
    if value != value:
        return ""
    if task.kind == "regression":
        return number_text(task, target, value)
    return task.classes[int(value)] if task.classes else str(int(value))
