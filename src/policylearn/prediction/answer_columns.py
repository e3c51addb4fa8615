"""The columns that predictions take in a table: their names, and their cells as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policylearn.data import Task
from policylearn.data.packed import Array
from policylearn.data.tasks import SINGLE_DIGITS
from policylearn.prediction.applicability import Domain, Nearness
from policylearn.prediction.predictor import Answer

ERROR = "error"
YES = 0.5
"""From this probability on, a yes/no task says yes."""


@dataclass(frozen=True)
class AnswerColumns:
    """What a prediction writes into a row, in this order.

    The prediction, probabilities, std, interval or set, picks, distances, error.

    Regression has ``predicted_TARGET``. Classes have ``predicted_TARGET``, the likeliest class, and
    ``probability_CLASS`` each. Yes/no has ``predicted_TARGET`` and ``probability_TARGET``, the probability of yes;
    where the two values have names, ``probability_NAME`` of the second (with several targets
    ``probability_TARGET_NAME``). ``std_...`` is the deviation over an ensemble's members, ``lower_TARGET`` and
    ``upper_TARGET`` the interval of regression, ``set_TARGET`` the labels that cannot be ruled out, with ``|`` between.
    ``similarity`` to the most similar training molecule, the ``unseen`` share of atoms and bonds, and a ``warning``
    where the molecule is far outside.

    Args:
        task: what is predicted.
        std: whether there is a ``std_...`` for each number.
        bounds: whether there are intervals or sets.
        picks: the name of the column of picked nodes; None leaves it out.
        domain: what distances are to; None leaves them out.
    """

    task: Task
    std: bool = False
    bounds: bool = False
    picks: str | None = None
    domain: Domain | None = None

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
        """The cells of each row without an error.

        Args:
            answer: of the model.
            owners: which graph each row belongs to, ``(R,)``.
        """
        numbers = [self._numbers(row) for row in answer.values]
        rows = numbers if self.task.kind == "regression" else self._labelled(answer.values, numbers)
        if answer.std is not None:
            rows = [row + self._numbers(std) for row, std in zip(rows, answer.std, strict=True)]
        if answer.lower is not None and answer.upper is not None:
            ends = [[self._numbers(end) for end in both] for both in zip(answer.lower, answer.upper, strict=True)]
            rows = [
                row + [cell for pair in zip(*both, strict=True) for cell in pair]
                for row, both in zip(rows, ends, strict=True)
            ]
        if answer.labels is not None:
            rows = [row + self._sets(fits) for row, fits in zip(rows, answer.labels, strict=True)]
        if self.picks is not None:
            picked = [" ".join(map(str, nodes)) for nodes in answer.picks]
            rows = [[*row, picked[owner]] for row, owner in zip(rows, owners, strict=True)]
        if self.domain is not None and answer.near is not None:
            told = self._distances(self.domain, answer.near)
            rows = [row + told[owner] for row, owner in zip(rows, owners, strict=True)]
        return [[*row, ""] for row in rows]

    def _distances(self, domain: Domain, near: Nearness) -> list[list[str]]:
        """The cells of each molecule that say how far it is."""
        similar = [[f"{one:.3f}"] * domain.has_similarity for one in near.similarity]
        rest = zip(similar, near.unseen, domain.warnings(near), strict=True)
        return [[*first, f"{unseen:.3f}", warning] for first, unseen, warning in rest]

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

    def _sets(self, fits: Array) -> list[str]:
        """The names of the labels in the set of each target, ``(targets, labels)``."""
        names = self.task.classes or ("0", "1")
        return ["|".join(name for name, fit in zip(names, row, strict=True) if fit) for row in fits]

    def _labelled(self, values: Array, numbers: list[list[str]]) -> list[list[str]]:
        """Probabilities with the names of the likeliest classes before them."""
        names = self.task.classes or ("0", "1")
        ids = values.argmax(axis=1)[:, None] if self.task.kind == "classes" else (values >= YES).astype(np.int64)
        return [[names[label] for label in row] + cells for row, cells in zip(ids, numbers, strict=True)]


def number_text(task: Task, target: int, value: float) -> str:
    """A number of a target as text: enough digits for its spread beside its size; empty where there is none."""
    if not np.isfinite(value):
        return ""
    digits = SINGLE_DIGITS if task.scaling is None else task.scaling.digits()[target]
    return f"{value:.{digits}g}"
