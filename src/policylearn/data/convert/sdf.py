"""Rows of an ``.sdf`` file: a molecule per record, with its named values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rdkit import Chem, rdBase

from policylearn.data.convert.lines import Lines, TableRow, opened
from policylearn.data.packed import DataError

END = "$$$$"
VALUE = re.compile(r">.*?<(.+?)>")


class SdfReader:
    """Records as rows: a column "smiles" that RDKit writes from the atoms and bonds, "name", and one per named value.

    Args:
        file: the bytes.
        path: the file; it is read twice, for not every record has every value.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        names: dict[str, None] = {}
        with opened(path) as whole:
            for _, record in records(Lines(whole, path)):
                names |= dict.fromkeys(values_of(record))
        if not names and not path.stat().st_size:
            raise DataError(f"{path}: is empty; it must hold a record for each molecule")
        self.header = ["smiles", "name", *(name for name in names if name not in ("smiles", "name"))]
        self.lines = Lines(file, path)

    def __iter__(self) -> Iterator[TableRow]:
        for line, record in records(self.lines):
            values = values_of(record)
            smiles, problem = smiles_of(record)
            fields = {"name": record[0].strip(), **values, "smiles": smiles}
            cells = tuple(fields.get(name, "") for name in self.header)
            yield TableRow(line, {} if problem else dict(zip(self.header, cells, strict=True)), problem, cells)


def records(lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """The lines of each record, and where it starts; what is blank after the last one is none."""
    start = 1
    record: list[str] = []
    for line in lines:
        text = line.rstrip("\r\n")
        if text.strip() == END:
            if any(part.strip() for part in record):
                yield start, record
            start, record = lines.number + 1, []
        else:
            record.append(text)
    if any(part.strip() for part in record):
        yield start, record


def values_of(record: list[str]) -> dict[str, str]:
    """The named values of a record; one of several lines is joined by blanks."""
    values: dict[str, list[str]] = {}
    name: str | None = None
    for line in record:
        found = VALUE.match(line)
        if found:
            name = found[1].strip()
            values[name] = []
        elif not line.strip():
            name = None
        elif name is not None:
            values[name].append(line.strip())
    return {name: " ".join(parts) for name, parts in values.items()}


@contextmanager
def without_warnings() -> Iterator[None]:
    """What RDKit says below an error goes to the terminal, past any capture: turn it off, if it is on."""
    enabled = "rdApp.warning:enabled" in rdBase.LogStatus()
    rdBase.DisableLog("rdApp.warning")
    try:
        yield
    finally:
        if enabled:
            rdBase.EnableLog("rdApp.warning")


def smiles_of(record: list[str]) -> tuple[str, str]:
    """The SMILES of a record's molecule, or why there is none."""
    capture = getattr(rdBase, "CaptureErrorLog", None)
    with without_warnings(), capture() if capture else rdBase.BlockLogs() as log:
        molecule: Chem.Mol | None = Chem.MolFromMolBlock("\n".join(record))  # its type stubs forget the None
    if molecule is None:
        words = re.sub(r"\[[\d:]+\]|\*+", "", log.messages if capture else "").split()
        reason = " ".join(words) or "its atoms and bonds cannot be read"
        return "", f"RDKit rejects the record ({reason}); correct it or leave it out"
    if molecule.GetNumAtoms() == 0:
        return "", "the record has no atoms; correct it or leave it out"
    return Chem.MolToSmiles(molecule), ""
