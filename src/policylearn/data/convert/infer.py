"""What a table asks for: the kind of task from its target cells, and the cells as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from policylearn.data.molecules import shown
from policylearn.data.packed import Array, DataError
from policylearn.data.tasks import Kind, Scaling, Task, standardise

MISSING = frozenset({"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"})
NO_AND_YES = frozenset({
    ("inactive", "active"), ("no", "yes"), ("n", "y"), ("neg", "pos"), ("negative", "positive"), ("false", "true"),
    ("f", "t"), ("-", "+"), ("off", "on"), ("non-toxic", "toxic"), ("nontoxic", "toxic"), ("insoluble", "soluble"),
    ("non-binder", "binder"), ("fail", "pass"), ("absent", "present"),
})  # fmt: skip
MOST_CLASSES = 30
LARGEST_ID = 2.0**53
"""From here on, whole numbers that differ can be the same floating-point number."""
LEAST_LOSS = 1e-5
"""Error of a number in single precision, as a share of the spread, from which on it is kept in double."""
LARGEST = float(np.finfo(np.float32).max)
SQUARED = 1e15
"""Sums of squares of numbers from one over this to this are numbers of single precision."""


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.casefold() in MISSING


def as_number(cell: str) -> float | None:
    """The finite number of single precision that a cell spells, or None; U+2212 is a minus sign too."""
    try:
        value = float(cell.replace("\u2212", "-"))
    except ValueError:
        return None
    return value if abs(value) <= LARGEST and "_" not in cell else None


def has_comma(cell: str) -> bool:
    """Whether a cell would be a number, were its comma a point or not there: 1,5 or 12,010."""
    return re.fullmatch(r"[+\u2212-]?\d*(,\d+)+(\.\d*)?([eE][+-]?\d+)?", cell) is not None


def is_too_large(cell: str) -> bool:
    """Whether a cell spells a number beyond single precision; many digits alone are an id."""
    try:
        value = float(cell.replace("\u2212", "-"))
    except ValueError:
        return False
    return abs(value) > LARGEST and re.search(r"\d", cell) is not None and not cell.isdigit()


def label_of(cell: str) -> str:
    """The name of a class: numbers that are equal (1 and 1.0) share one, text is its own, and so are long ids."""
    value = as_number(cell)
    if value is None or abs(value) >= LARGEST_ID:
        return cell
    return str(int(value)) if value.is_integer() else repr(value)


def sorted_labels(cells: Iterable[str]) -> tuple[str, ...]:
    """The different labels, numbers by value and before text, text by alphabet."""

    def key(label: str) -> tuple[bool, float, str]:
        value = as_number(label)
        return value is None, value or 0.0, label

    return tuple(sorted({label_of(cell) for cell in cells if not is_missing(cell)}, key=key))


def with_yes_last(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Two labels with the one that means yes last, where the words say which that is; else as they come."""
    folded = tuple(label.casefold() for label in labels)
    return labels[::-1] if folded[::-1] in NO_AND_YES else labels


def holds_numbers(cells: Iterable[str]) -> bool:
    """Whether at least half of the known cells are numbers, some with a comma or too large; others are mistakes."""
    known = [
        as_number(cell) is not None or has_comma(cell) or is_too_large(cell) for cell in cells if not is_missing(cell)
    ]
    return 2 * sum(known) >= len(known)


def column_notes(name: str, column: Sequence[str], numeric: bool) -> list[str]:
    """What looks odd about a target: labels that differ in case only, ids, one value throughout."""
    labels = sorted_labels(column)
    notes = []
    for one, other in pairwise(sorted(labels, key=str.casefold)):
        if not numeric and one.casefold() == other.casefold():
            notes.append(
                f"labels {shown(one)} and {shown(other)} of {name!r} differ in case only and count as different;"
                " write them alike"
            )
    ids = [cell for cell in column if cell.isdigit() and (as_number(cell) or 0.0) >= LARGEST_ID]
    if ids:
        notes.append(f"target {name!r} holds whole numbers from 2^53 on, such as {ids[0]}, which look like ids")
    if len(labels) == 1:
        notes.append(f"target {name!r} is {labels[0]} in every row: there is nothing to learn from it")
    return notes


def infer_kind(
    columns: Sequence[Sequence[str]], names: Sequence[str], numbers: Sequence[bool], source: str
) -> tuple[Kind, str]:
    """The kind of task and the reason for it; ``numbers`` says whether each column is one of numbers and gaps alone.

    Two different values in all columns together (0 and 1, or two labels) ask for yes or no; numbers for regression;
    one column of a few labels for classes. Whatever does not fit raises.
    """
    known = [cell for column in columns for cell in column if not is_missing(cell)]
    if not known:
        raise DataError(f"{source}: no row has a value of {', '.join(names)}; fill in targets, or name other columns")
    labels = sorted_labels(known)
    listed = shown(", ".join(labels[:6]) + (", ..." if len(labels) > 6 else ""))
    named = f"column {names[0]!r} holds" if len(names) == 1 else f"the {len(names)} target columns hold"
    if len(labels) == 2 and len(set(numbers)) == 1:
        whole = all((as_number(label) or 0.0).is_integer() for label in labels)
        if whole or len(known) > len(labels):
            no, yes = with_yes_last(labels)
            return "binary", f"{named} two values ({no} and {yes}), so the task is yes or no, and {yes} is yes"
    if all(numbers):
        return "regression", f"{named} numbers, so the task is regression"
    if len(columns) > 1:
        raise DataError(f"{source}: {named} labels such as {listed}; give one column of labels, or numbers only")
    if 2 < len(labels) <= MOST_CLASSES:
        return "classes", f"{named} {len(labels)} different labels ({listed[1:-1]}), so the task is to tell these apart"
    raise DataError(
        f"{source}: {named} {len(labels)} different labels ({listed}), from which no task can be told;"
        f" name another target, or state task='classes' (it is inferred for 3 to {MOST_CLASSES} labels)"
    )


def build_task(
    kind: Kind, columns: Sequence[Sequence[str]], names: Sequence[str], fit: Array | None, source: str
) -> tuple[Task, Array]:
    """The task and its targets; the scaling of a regression looks at the rows of ``fit``, or at all.

    Shapes:
        targets ``(rows, targets)`` float32, or float64 where that is too coarse, with NaN for a gap; for `classes`
        ``(rows,)`` int64.
    """
    if kind == "regression":
        y = np.array([[as_number(cell) for cell in column] for column in columns], dtype=np.float64).T
        rows = y if fit is None or not len(fit) else y[fit]
        scaling = standardise(rows)
        return Task("regression", "mse", "rmse", tuple(names), scaling=scaling), single_unless_lossy(y, scaling)
    labels = sorted_labels(cell for column in columns for cell in column)
    ids = {label: float(position) for position, label in enumerate(labels)}
    if kind == "classes":
        if len(columns) > 1:
            raise DataError(f"{source}: task='classes' takes one column, got {', '.join(names)}; name one of them")
        if len(labels) < 2:
            raise DataError(f"{source}: task='classes' needs two labels, {names[0]!r} has {labels}; name another one")
        y = np.array([ids[label_of(cell)] for cell in columns[0]], dtype=np.int64)
        return Task("classes", "cross_entropy", "accuracy", tuple(names), classes=labels), y
    labels = with_yes_last(labels)
    ids = {label: float(position) for position, label in enumerate(labels)}
    if set(labels) <= {"0", "1"}:  # these two need no names, and may come alone
        labels, ids = (), {"0": 0.0, "1": 1.0}
    elif len(labels) != 2:
        raise DataError(
            f"{source}: task='binary' needs two values, the targets hold {len(labels)}"
            f" ({shown(', '.join(labels[:6]))}); name another target or state another task"
        )
    y = np.array([[np.nan if is_missing(c) else ids[label_of(c)] for c in column] for column in columns]).T
    return Task("binary", "bce", "rocauc", tuple(names), classes=labels), y.astype(np.float32)


def single_unless_lossy(y: Array, scaling: Scaling) -> Array:
    """Numbers in single precision, unless that would lose digits beside their spread, or their squares."""
    single, scale = y.astype(np.float32), np.array(scaling.scale)
    lost = np.nanmax(np.abs(single - y) / scale, initial=0.0)
    squared = np.nanmax(np.abs(y), initial=0.0) < SQUARED and scale.min() > 1 / SQUARED
    return single if lost < LEAST_LOSS and squared else y
