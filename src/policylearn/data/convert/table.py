"""A table of molecules with one or several targets into packed graphs, a task and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import Chem

from policylearn.data.convert.infer import (
    LARGEST,
    as_number,
    build_task,
    column_notes,
    has_comma,
    holds_numbers,
    infer_kind,
    is_missing,
    is_too_large,
)
from policylearn.data.convert.report import DroppedRow, Duplicate, TableReport, raise_first
from policylearn.data.convert.rows import SMILES_NAMES, listed, open_rows, table_columns
from policylearn.data.convert.stacking import pack_molecules
from policylearn.data.molecules import MoleculeGraph, featurise_molecule, read_smiles, shown
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.parents import parent_of
from policylearn.data.tasks import Kind, Task

PARTS = {
    "train": ("train", "training"),
    "valid": ("valid", "validation", "val", "dev"),
    "test": ("test", "testing"),
}
PART_OF = {word: part for part, words in PARTS.items() for word in words}


@dataclass(frozen=True)
class MoleculeTable:
    """A table of molecules, ready to learn from.

    Args:
        graphs: one graph per kept row; ``extras`` holds ``smiles``, ``line``, ``y_names``, the names of ``classes``
            where they have any and, where the table has a split column, ``train``, ``valid`` and ``test``.
        task: what to predict, inferred or stated.
        explanation: one sentence on why it is this task.
        report: dropped rows and duplicates.
        lines: the line of the file that each graph comes from, ``(G,)``; the header is line 1.
    """

    graphs: PackedGraphs
    task: Task
    explanation: str
    report: TableReport
    lines: Array


@dataclass(frozen=True)
class LabelledRow:
    """The cells of one row that matter."""

    line: int
    smiles: str
    targets: tuple[str, ...]
    part: str
    group: str


@dataclass(frozen=True)
class Molecule:
    """A row with its molecule: ``smiles`` is that of the parent where the row has a salt."""

    row: LabelledRow
    smiles: str
    graph: MoleculeGraph
    canonical: str


def read_table(
    path: str | Path,
    smiles: str = "smiles",
    targets: str | Sequence[str] = "y",
    *,
    task: Kind | None = None,
    split_column: str | None = None,
    group_column: str | None = None,
    parents: bool = True,
    on_error: Literal["raise", "skip"] = "raise",
) -> MoleculeTable:
    """Read a table of molecules and their targets.

    Without a stated task, two different values (0 and 1, or two labels) mean yes or no, a few labels classes, numbers
    regression; several columns are several targets of one such task, and may have gaps. Of two labels the second in
    sorted order is yes, but for words that say so themselves (active, yes, positive, true). Regression learns the
    squared error of standardised targets and reports the root mean squared error in the units of the file; mean and
    deviation come from the rows of the split's train part, else from all. Yes or no is learnt with cross entropy and
    reported as ROC-AUC, classes as accuracy.

    Args:
        path: ``.csv``, ``.tsv``, ``.txt``, ``.smi``, ``.sdf`` or ``.parquet``, in any case, and ``.gz`` of each. Text
            that is not UTF-8 is read as Windows-1252.
        smiles: the column of molecules; ``SMILES`` or ``canonical_smiles`` are found by themselves.
        targets: the column or columns to predict.
        task: state the kind of task instead of inferring it.
        split_column: a column that says train, valid or test.
        group_column: a column whose values are kept, to tell groups of rows apart.
        parents: whether salts and charged molecules are read as their largest organic part in neutral form.
        on_error: raise for the first bad row, or skip bad rows and report each.
    """
    path, source = Path(path), str(path)
    if on_error not in ("raise", "skip"):
        raise ValueError(f"'on_error' must be 'raise' or 'skip' (got {on_error!r})")
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    if not names:
        known = [name for name in table_columns(path) if name.casefold() not in SMILES_NAMES]
        raise DataError(f"{path}: no target column was named; name at least one of {listed(known) or 'none'}")
    labelled, dropped, notes = read_rows(path, smiles, names, split_column, group_column)
    total = len(labelled) + len(dropped)
    numbers = [task == "regression" or (task is None and holds_numbers(cells)) for cells in columns_of(labelled, names)]
    good = []
    for row in labelled:
        fault = find_fault(row, names, numbers, split_column)
        if fault is None:
            good.append(row)
        else:
            dropped.append(DroppedRow(row.line, fault))
    for name, column in zip(names, columns_of(good or labelled, names), strict=True):
        if column and all(map(is_missing, column)):
            raise DataError(f"{source}: no row has a value of {name!r}; fill it in, or predict another target")
    if task is None and good:
        infer_kind(columns_of(good, names), names, numbers, source)  # fail before the slow part

    molecules, rejected = read_molecules(good, parents)
    dropped = sorted(dropped + rejected, key=lambda row: row.line)
    if on_error == "raise":
        raise_first(source, dropped)
    if not molecules:
        raise DataError(f"{source}: none of its {total} rows can be used; the first: {dropped[0]}")
    columns = columns_of([molecule.row for molecule in molecules], names)
    changed = [molecule.row for molecule in molecules if molecule.smiles != molecule.row.smiles]
    if changed:
        notes.append(
            f"{len(changed)} salts or charged molecules are read as their largest organic part in neutral form"
            f" (line {changed[0].line}: {changed[0].smiles}); --data.standardise none leaves them as they are"
        )
    whole = [molecule.row for molecule in molecules if "." in molecule.smiles.split()[0]]
    if whole:
        notes.append(f"{len(whole)} salts or mixtures are kept whole (line {whole[0].line}: {whole[0].smiles})")
    for name, column, numeric in zip(names, columns, numbers, strict=True):
        notes += column_notes(name, column, numeric)
    kind, reason = (task, f"the task was stated: {task}") if task else infer_kind(columns, names, numbers, source)
    lines = np.array([molecule.row.line for molecule in molecules], dtype=np.int32)
    extras = {"line": lines, "y_names": np.array(names)}
    if split_column is not None:
        parts = np.array([PART_OF[molecule.row.part.casefold()] for molecule in molecules])
        extras |= {part: np.flatnonzero(parts == part).astype(np.int32) for part in PARTS}
    if group_column is not None:
        extras["group"] = np.array([molecule.row.group for molecule in molecules])
    built, y = build_task(kind, columns, names, extras.get("train"), source)
    graphs = pack_molecules(
        [molecule.graph for molecule in molecules],
        y,
        smiles=[molecule.smiles for molecule in molecules],
        extras=extras | ({"classes": np.array(built.classes)} if built.classes else {}),
        source=source,
    )
    report = TableReport(source, total, tuple(dropped), find_duplicates(molecules, y), tuple(notes))
    return MoleculeTable(graphs, built, f"{reason} (loss {built.loss}, metric {built.metric}).", report, lines)


def read_rows(
    path: Path, smiles: str, names: tuple[str, ...], split_column: str | None, group_column: str | None
) -> tuple[list[LabelledRow], list[DroppedRow], list[str]]:
    """The rows with any text that can be read, those that cannot, and what to say of the file as a whole."""
    found, dropped = [], []
    more = [column for column in (split_column, group_column) if column]
    with open_rows(path, (*names, *more), smiles=smiles) as rows:
        for row in rows:
            if row.cells and not any(cell.strip() for cell in row.cells):
                continue
            if row.problem:
                dropped.append(DroppedRow(row.line, row.problem))
            elif any(row.fields.values()):
                cells = tuple(row.fields[name] for name in names)
                part, group = (row.fields[column] if column else "" for column in (split_column, group_column))
                found.append(LabelledRow(row.line, row.fields[str(rows.smiles)], cells, part, group))
        foreign = rows.lines.foreign
    if not found and not dropped:
        raise DataError(f"{path}: has a header and no rows; add a row for each molecule")
    return found, dropped, [f"{foreign} lines are not UTF-8 and were read as Windows-1252"] if foreign else []


def columns_of(rows: Sequence[LabelledRow], names: tuple[str, ...]) -> list[list[str]]:
    """The cells of each target, one list per column."""
    return [[row.targets[position] for row in rows] for position in range(len(names))]


def find_fault(
    row: LabelledRow, names: tuple[str, ...], numbers: Sequence[bool], split_column: str | None
) -> str | None:
    """Why the targets or the split of a row cannot be used; None where they can."""
    for name, cell, numeric in zip(names, row.targets, numbers, strict=True):
        if is_missing(cell):
            if len(names) == 1:
                return f"target {name!r} is missing ({shown(cell)}); fill it in or remove the row"
        elif numeric and has_comma(cell):
            point = cell.count(",") == 1 and "." not in cell
            decimal = f", {cell.replace(',', '.')} if it is a decimal comma" if point else ""
            plain = cell.replace(",", "")
            return f"target {name!r} is {shown(cell)}, with a comma; write {plain} if it separates thousands{decimal}"
        elif numeric and is_too_large(cell):
            return f"target {name!r} is {shown(cell)}, and numbers may go up to {LARGEST:.1e}; give it in other units"
        elif numeric and as_number(cell) is None:
            return (
                f"target {name!r} is {shown(cell)}, which is no number; write it as in 1.5 or -2e-3,"
                " or leave the cell empty where there is no value"
            )
    if split_column is not None and row.part.casefold() not in PART_OF:
        return f"split {split_column!r} is {shown(row.part)}; write train, valid or test"
    return None


def read_molecules(rows: Sequence[LabelledRow], parents: bool) -> tuple[list[Molecule], list[DroppedRow]]:
    """Molecules of the rows, and the rows that RDKit rejects or takes too long for."""
    from policylearn.data.preparation import find_slow  # which imports this package

    molecules, rejected = [], []
    slow = find_slow([row.smiles for row in rows], parents=parents)
    for position, row in enumerate(rows):
        try:
            if position in slow:
                raise DataError(slow[position])
            parent = parent_of(row.smiles) if parents else None
            smiles = row.smiles if parent is None else parent.smiles
            molecule = read_smiles(smiles)
            molecules.append(Molecule(row, smiles, featurise_molecule(molecule), Chem.MolToSmiles(molecule)))
        except DataError as error:
            rejected.append(DroppedRow(row.line, str(error)))
    return molecules, rejected


def find_duplicates(molecules: Sequence[Molecule], y: Array) -> tuple[Duplicate, ...]:
    """Molecules that are the same by canonical SMILES, in the order of the file."""
    places: dict[str, list[int]] = {}
    for position, molecule in enumerate(molecules):
        places.setdefault(molecule.canonical, []).append(position)
    found = []
    for canonical, positions in places.items():
        if len(positions) > 1:
            rows = y[positions].reshape(len(positions), -1)
            disagree = any(len(np.unique(column[~np.isnan(column)])) > 1 for column in rows.T)
            found.append(Duplicate(canonical, tuple(molecules[i].row.line for i in positions), disagree))
    return tuple(found)


read_csv = read_table
"""The name of 0.1."""
