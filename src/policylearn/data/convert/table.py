"""A table of molecules with one or several targets into packed graphs, a task and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from rdkit import Chem

from policylearn.data.convert.infer import (
    as_number,
    build_task,
    constant_notes,
    has_decimal_comma,
    has_thousands,
    holds_numbers,
    infer_kind,
    is_missing,
    label_notes,
)
from policylearn.data.convert.report import DroppedRow, Duplicate, Salt, TableReport, raise_first
from policylearn.data.convert.rows import SMILES_NAMES, filled, listed, open_rows, table_columns
from policylearn.data.convert.stacking import compact, pack_molecules
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
PROGRESS_STEP = 64

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class MoleculeTable:
    """A table of molecules, ready to learn from.

    Args:
        graphs: one graph per kept row; ``extras`` holds ``smiles``, ``line``, ``y_names``, the names of ``classes``
            where they have any and, where the table has a split column, ``train``, ``valid`` and ``test``.
        task: what to predict, inferred or stated.
        explanation: one sentence on why it is this task.
        report: dropped rows, duplicates and salts.
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

    entry: LabelledRow
    smiles: str
    graph: MoleculeGraph
    canonical: str
    fragments: int


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
    progress: Progress | None = None,
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
        progress: called with (molecules done, molecules in all) from time to time.
    """
    path = Path(path)
    if on_error not in ("raise", "skip"):
        raise ValueError(f"'on_error' must be 'raise' or 'skip' (got {on_error!r})")
    names = (targets,) if isinstance(targets, str) else tuple(targets)
    if not names:
        known = [name for name in table_columns(path) if name.casefold() not in SMILES_NAMES]
        raise DataError(f"{path}: no target column was named; name at least one of {listed(known) or 'none'}")
    source = str(path)
    entries, dropped, notes = read_entries(path, smiles, names, split_column, group_column)
    rows = len(entries) + len(dropped)
    numbers = [
        task == "regression" or (task is None and holds_numbers(column)) for column in columns_of(entries, names)
    ]
    faults = [target_fault(entry, names, numbers) or part_fault(entry, split_column) for entry in entries]
    dropped += [fault for fault in faults if fault]
    entries = [entry for entry, fault in zip(entries, faults, strict=True) if not fault]
    for name, column in zip(names, columns_of(entries, names), strict=True):
        if len(names) > 1 and all(map(is_missing, column)):
            raise DataError(f"{source}: no row has a value of {name!r}; leave that target out, or fill it in")
    if task is None and entries:
        infer_kind(columns_of(entries, names), names, numbers, source)  # fail before the slow part

    keep = on_error == "skip" or not dropped
    molecules, rejected = read_molecules(entries, parents=parents, keep=keep, progress=progress)
    dropped = sorted(dropped + rejected, key=lambda row: row.line)
    if on_error == "raise":
        raise_first(source, dropped)
    if not molecules:
        raise DataError(f"{source}: none of its {rows} rows can be used; the first: {dropped[0]}")
    columns = columns_of([molecule.entry for molecule in molecules], names)
    changed = [molecule.entry for molecule in molecules if molecule.smiles != molecule.entry.smiles]
    if changed:
        notes.append(
            f"{len(changed)} salts or charged molecules are read as their largest organic part in neutral form"
            f" (line {changed[0].line}: {changed[0].smiles}); --data.standardise none leaves them as they are"
        )
    notes += [*label_notes(columns, names, numbers), *constant_notes(columns, names)]
    kind, reason = (task, f"the task was stated: {task}") if task else infer_kind(columns, names, numbers, source)
    extras = split_arrays(molecules, split_column) | {
        "line": compact(np.array([molecule.entry.line for molecule in molecules], dtype=np.int64), np.int32),
        "y_names": np.array(names),
    }
    if group_column is not None:
        extras["group"] = np.array([molecule.entry.group for molecule in molecules])
    built, y = build_task(kind, columns, names, extras.get("train"), source)
    graphs = pack_molecules(
        [molecule.graph for molecule in molecules],
        y,
        smiles=[molecule.smiles for molecule in molecules],
        extras=extras | ({"classes": np.array(built.classes)} if built.classes else {}),
        source=source,
    )
    salts = tuple(Salt(m.entry.line, m.entry.smiles, m.fragments) for m in molecules if m.fragments > 1)
    report = TableReport(source, rows, tuple(dropped), find_duplicates(molecules, y), salts, tuple(notes))
    explanation = f"{reason} (loss {built.loss}, metric {built.metric})."
    return MoleculeTable(graphs, built, explanation, report, extras["line"])


def read_entries(
    path: Path, smiles: str, names: tuple[str, ...], split_column: str | None, group_column: str | None
) -> tuple[list[LabelledRow], list[DroppedRow], list[str]]:
    """The rows of the file that can be read, those that cannot, and what to say of the file as a whole."""
    entries, dropped = [], []
    more = [column for column in (split_column, group_column) if column]
    with open_rows(path, (*names, *more), smiles=smiles) as rows:
        assert rows.smiles is not None
        for row in filled(rows):
            if row.problem:
                dropped.append(DroppedRow(row.line, "", row.problem))
            else:
                cells = tuple(row.fields[name] for name in names)
                part = row.fields[split_column] if split_column else ""
                group = row.fields[group_column] if group_column else ""
                entries.append(LabelledRow(row.line, row.fields[rows.smiles], cells, part, group))
        foreign = rows.foreign_lines
    if not entries and not dropped:
        raise DataError(f"{path}: has a header and no rows; add a row for each molecule")
    notes = [f"{foreign} lines are not UTF-8 and were read as Windows-1252 (Latin-1)"] if foreign else []
    return entries, dropped, notes


def columns_of(entries: Sequence[LabelledRow], names: tuple[str, ...]) -> list[list[str]]:
    """The cells of each target, one list per column."""
    return [[entry.targets[position] for entry in entries] for position in range(len(names))]


def target_fault(entry: LabelledRow, names: tuple[str, ...], numbers: Sequence[bool]) -> DroppedRow | None:
    """Why the targets of a row cannot be used, if so."""
    for name, cell, numeric in zip(names, entry.targets, numbers, strict=True):
        if is_missing(cell):
            if len(names) == 1:
                reason = f"target {name!r} is missing ({shown(cell)}); fill it in or remove the row"
                return DroppedRow(entry.line, cell, reason)
        elif numeric and has_thousands(cell):
            plain, point = cell.replace(",", ""), cell.replace(",", ".", 1)
            either = f" or, if the comma is a decimal one, {point}" if cell.count(",") == 1 and "." not in cell else ""
            reason = (
                f"target {name!r} is {shown(cell)}, with a comma; write {plain} if it stands between thousands{either}"
            )
            return DroppedRow(entry.line, cell, reason)
        elif numeric and has_decimal_comma(cell):
            reason = (
                f"target {name!r} is {shown(cell)}, with a decimal comma; write {cell.replace(',', '.')}"
                " (in a spreadsheet: choose a decimal point before saving)"
            )
            return DroppedRow(entry.line, cell, reason)
        elif numeric and as_number(cell) is None:
            reason = (
                f"target {name!r} is {shown(cell)}, which is no number; write it as in 1.5 or -2e-3,"
                " or leave the cell empty where there is no value"
            )
            return DroppedRow(entry.line, cell, reason)
    return None


def part_fault(entry: LabelledRow, split_column: str | None) -> DroppedRow | None:
    """Why the split of a row cannot be used, if so."""
    if split_column is None or entry.part.casefold() in PART_OF:
        return None
    reason = f"split {split_column!r} is {shown(entry.part)}; write train, valid or test"
    return DroppedRow(entry.line, entry.part, reason)


def read_molecules(
    entries: Sequence[LabelledRow], *, parents: bool, keep: bool, progress: Progress | None
) -> tuple[list[Molecule], list[DroppedRow]]:
    """Molecules of the rows, and the rows that RDKit rejects; without ``keep`` it only looks for the latter."""
    from policylearn.data.slow_molecules import find_slow  # which imports this package

    molecules, rejected = [], []
    slow = find_slow([entry.smiles for entry in entries], parents=parents)
    for done, entry in enumerate(entries):
        if progress and done % PROGRESS_STEP == 0:
            progress(done, len(entries))
        try:
            if done in slow:
                raise DataError(slow[done])
            parent = parent_of(entry.smiles) if parents else None
            smiles = entry.smiles if parent is None else parent.smiles
            molecule = read_smiles(smiles)
            if keep:
                graph, canonical = featurise_molecule(molecule), Chem.MolToSmiles(molecule)
                molecules.append(Molecule(entry, smiles, graph, canonical, len(Chem.GetMolFrags(molecule))))
        except DataError as error:
            rejected.append(DroppedRow(entry.line, entry.smiles, str(error)))
    if progress:
        progress(len(entries), len(entries))
    return molecules, rejected


def split_arrays(molecules: Sequence[Molecule], split_column: str | None) -> dict[str, Array]:
    """Graph ids of train, valid and test, where the table has a split column."""
    if split_column is None:
        return {}
    parts = np.array([PART_OF[molecule.entry.part.casefold()] for molecule in molecules])
    return {part: np.flatnonzero(parts == part).astype(np.int32) for part in PARTS}


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
            found.append(Duplicate(canonical, tuple(molecules[i].entry.line for i in positions), disagree))
    return tuple(found)


read_csv = read_table
"""The name of 0.1."""
