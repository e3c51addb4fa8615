"""Rows of a ``.smi`` file: a SMILES per line, and whatever follows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from policylearn.data.convert.lines import Lines, TableRow


class SmilesFileReader:
    """One molecule per line; what follows the SMILES after a blank or tab is the column "name".

    Such files have no header. Where the first line begins with the word "smiles" in any case, it is one all the same,
    and names as many columns as it has words, the last of which takes the rest of a line.

    Args:
        file: the bytes.
        path: names the file in errors.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.lines = Lines(file, path)
        self.header = ["smiles", "name"]
        self._first = next(self.lines, "")
        words = self._first.split()
        if words and words[0].casefold() == "smiles":
            self.header, self._first = words, ""

    def __iter__(self) -> Iterator[TableRow]:
        if self._first.strip():
            yield self._row(self._first)
        for line in self.lines:
            if line.strip():
                yield self._row(line)

    def _row(self, line: str) -> TableRow:
        words = [word.strip() for word in line.strip().split(None, len(self.header) - 1)]
        cells = tuple(words + [""] * (len(self.header) - len(words)))
        return TableRow(self.lines.number, dict(zip(self.header, cells, strict=True)), cells=cells)
