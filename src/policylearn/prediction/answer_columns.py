"""The columns that predictions take in a table: their names, and their cells as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.data.tasks import SINGLE_DIGITS
from policylearn.prediction.answer import Answer
from policylearn.prediction.applicability import Domain

ERROR = "error"
YES = 0.5
"""From this probability on, a yes/no task says yes."""


@dataclass(frozen=True)
class AnswerColumns:
    """What a prediction writes into a row: prediction, probabilities, std, interval or set, picks, distances, error.

    Regression has ``predicted_TARGET``. Classes have ``predicted_TARGET``, the likeliest class, and
    ``probability_CLASS`` each. Yes/no has ``predicted_TARGET`` and ``probability_TARGET``, the probability of yes;
    where the two values have names, ``probability_NAME`` of the second (with several targets
    ``probability_TARGET_NAME``). ``std_...`` is the deviation over an ensemble's members, ``lower_TARGET`` and
    ``upper_TARGET`` the interval of regression, ``set_TARGET`` the labels that cannot be ruled out, with ``|`` between.
    ``similarity`` to the most similar training molecule, the ``unseen`` share of atoms and bonds, and a ``warning``
    where the molecule is far outside.
    """

    task: Task  # what is predicted
    std: bool = False  # whether there is a ``std_...`` for each number
    bounds: bool = False  # whether there are intervals or sets
    picks: str | None = None  # the name of the column of picked nodes; None leaves it out
    domain: Domain | None = None  # what distances are to; None leaves them out

    def names(self, taken: Sequence[str]) -> list[str]:
        """The names; all get the same number behind them where one is ``taken`` already."""
        task = self.task
        subjects = self.subjects()
        names = [f"predicted_{target}" for target in task.targets]
        if task.kind != "regression":
            names += [f"probability_{subject}" for subject in subjects]
        if self.std:
            names += [f"std_{subject}" for subject in subjects]
        if self.bounds:
            ends = ("lower", "upper") if task.kind == "regression" else ("set",)
            names += [f"{end}_{target}" for target in task.targets for end in ends]
        names += [] if self.picks is None else [self.picks]
        names += [] if self.domain is None else ["similarity"] * self.domain.has_similarity + ["unseen", "warning"]
        names.append(ERROR)
        suffix, number = "", 2
        while {f"{name}{suffix}" for name in names} & set(taken):
            suffix, number = f"_{number}", number + 1
        return [f"{name}{suffix}" for name in names]

    def cells(self, answer: Answer, owners: Array) -> list[list[str]]:
        """The cells of each row without an error; ``owners`` says which graph each row belongs to, ``(R,)``."""
        warnings = [] if self.domain is None or answer.near is None else self.domain.warnings(answer.near)
        rows = []
        for at, owner in enumerate(owners):
            row = [] if self.task.kind == "regression" else self.likeliest(answer.values[at])
            row += self._numbers(answer.values[at])
            if answer.std is not None:
                row += self._numbers(answer.std[at])
            if answer.lower is not None and answer.upper is not None:
                ends = zip(self._numbers(answer.lower[at]), self._numbers(answer.upper[at]), strict=True)
                row += [cell for pair in ends for cell in pair]
            if answer.labels is not None:
                row += ["|".join(label_names(self.task, fits)) for fits in answer.labels[at]]
            if self.picks is not None:
                row.append(" ".join(map(str, answer.picks[owner])))
            if self.domain is not None and answer.near is not None:
                row += [f"{answer.near.similarity[owner]:.3f}"] * self.domain.has_similarity
                row += [f"{answer.near.unseen[owner]:.3f}", warnings[owner]]
            rows.append([*row, ""])
        return rows

    def _numbers(self, values: Array) -> list[str]:
        """Numbers as text, with all digits that they have; empty where there is none."""
        return [number_text(self.task, at, float(value)) for at, value in enumerate(values)]

    def subjects(self) -> list[str]:
        """What each number of an answer is about."""
        task = self.task
        if task.kind == "regression" or (task.kind == "binary" and not task.classes):
            return list(task.targets)
        if task.kind == "classes":
            return list(task.classes)
        yes = task.classes[1]
        return [yes] if len(task.targets) == 1 else [f"{target}_{yes}" for target in task.targets]

    def likeliest(self, values: Array) -> list[str]:
        """The name of the likeliest label of each target."""
        names = self.task.classes or ("0", "1")
        ids = [values.argmax()] if self.task.kind == "classes" else [int(value >= YES) for value in values]
        return [names[at] for at in ids]


def label_names(task: Task, fits: Array) -> list[str]:
    """The names of the labels in a set, ``(labels,)``."""
    return [name for name, fit in zip(task.classes or ("0", "1"), fits, strict=True) if fit]


def number_text(task: Task, target: int, value: float) -> str:
    """A number of a target as text: enough digits for its spread beside its size; empty where there is none."""
    if not np.isfinite(value):
        return ""
    digits = SINGLE_DIGITS if task.scaling is None else task.scaling.digits()[target]
    return f"{value:.{digits}g}"


class _PlainLineEnds:
    r"""Writes rows that end with ``\r\n`` as rows that end with ``\n``."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file

    def write(self, row: str) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


def row_writer(file: IO[str], delimiter: str = ",") -> Any:
    r"""A `csv.writer` of rows that end with ``\n``, whose cells are quoted where they hold any kind of line end.

    `csv.writer` quotes a ``\r`` only where it ends rows itself, and one that is not quoted ends a row for its readers.
    """
    return csv.writer(_PlainLineEnds(file), delimiter=delimiter, lineterminator="\r\n")
