"""What happened while a table was read: dropped rows, molecules that come twice, salts."""

from __future__ import annotations

from dataclasses import dataclass

from policylearn.data.packed import DataError

SHOWN_ROWS = 5


@dataclass(frozen=True)
class DroppedRow:
    """A row that could not be used: its line in the file, the value at fault and the reason with the remedy."""

    line: int
    value: str
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True)
class Duplicate:
    """One molecule on several lines.

    Args:
        smiles: the molecule in RDKit's canonical form.
        lines: where it stands in the file.
        disagree: whether its known targets differ.
    """

    smiles: str
    lines: tuple[int, ...]
    disagree: bool


@dataclass(frozen=True)
class Salt:
    """A molecule of several unconnected parts."""

    line: int
    smiles: str
    parts: int


@dataclass(frozen=True)
class TableReport:
    """What reading a table found.

    Args:
        source: the file.
        rows: how many rows it has, blank lines and the header not counted.
        dropped: rows that are not among the graphs.
        duplicates: molecules that come more than once; all their rows are kept.
        salts: molecules of several parts; they are kept whole.
        notes: what a user should know of the table as a whole: its encoding, labels that look alike, constant targets.
    """

    source: str
    rows: int
    dropped: tuple[DroppedRow, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    salts: tuple[Salt, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        return self.rows - len(self.dropped)

    def summary(self) -> str:
        """The report in a few lines of text."""
        lines = [f"{self.source}: {self.rows} rows, {self.kept} kept, {len(self.dropped)} dropped"]
        lines += [f"  dropped {row}" for row in self.dropped[:SHOWN_ROWS]]
        if len(self.dropped) > SHOWN_ROWS:
            lines.append(f"  ... and {len(self.dropped) - SHOWN_ROWS} more")
        if self.duplicates:
            disagree = [entry for entry in self.duplicates if entry.disagree]
            lines.append(
                f"  {len(self.duplicates)} molecules come more than once, {len(disagree)} with different targets"
            )
            lines += [
                f"    {entry.smiles}: lines {', '.join(map(str, entry.lines))}" for entry in disagree[:SHOWN_ROWS]
            ]
        if self.salts:
            first = self.salts[0]
            lines.append(f"  {len(self.salts)} salts or mixtures, kept whole (line {first.line}: {first.smiles})")
        lines += [f"  ⚠ {note}" for note in self.notes]
        return "\n".join(lines)


def raise_first(source: str, dropped: list[DroppedRow]) -> None:
    """Raise for the first bad row, if there is one, and tell how many more there are."""
    if not dropped:
        return
    first, *others = sorted(dropped, key=lambda row: row.line)
    more = ""
    if others:
        named = ", ".join(str(row.line) for row in others[:SHOWN_ROWS])
        more = f" ({len(others)} more bad rows: lines {named}{', ...' if len(others) > SHOWN_ROWS else ''})"
    raise DataError(f"{source}, line {first.line}: {first.reason}; on_error='skip' leaves bad rows out{more}")
