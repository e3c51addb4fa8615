"""What happened while a table was read: dropped rows, and molecules that come twice."""

from __future__ import annotations

from dataclasses import dataclass

from policylearn.data.packed import DataError

SHOWN_ROWS = 5


@dataclass(frozen=True)
class DroppedRow:
    """A row that could not be used: its line in the file, and the reason with value and remedy."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True)
class Duplicate:
    """One molecule on several lines: its canonical SMILES, where it stands, and whether its known targets differ."""

    smiles: str
    lines: tuple[int, ...]
    disagree: bool


@dataclass(frozen=True)
class TableReport:
    """What reading a table found.

    Args:
        source: the file.
        rows: how many rows it has, blank lines and the header not counted.
        dropped: rows that are not among the graphs.
        duplicates: molecules that come more than once; all their rows are kept.
        notes: what a user should know of the table as a whole: its encoding, salts, labels that look alike.
    """

    source: str
    rows: int
    dropped: tuple[DroppedRow, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
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
        if count := len(self.duplicates):
            disagree = [one for one in self.duplicates if one.disagree]
            lines.append(f"  {count} molecules come more than once, {len(disagree)} with different targets")
            lines += [f"    {one.smiles}: lines {', '.join(map(str, one.lines))}" for one in disagree[:SHOWN_ROWS]]
        lines += [f"  ⚠ {note}" for note in self.notes]
        return "\n".join(lines)


def raise_first(source: str, dropped: list[DroppedRow]) -> None:
    """Raise for the first bad row, if there is one, and tell how many more there are."""
    if dropped:
        first, *others = dropped
        named = ", ".join(str(row.line) for row in others[:SHOWN_ROWS]) + ", ..." * (len(others) > SHOWN_ROWS)
        more = f" ({len(others)} more bad rows: lines {named})" if others else ""
        raise DataError(f"{source}, {first}; --on-error skip (in Python on_error='skip') leaves bad rows out{more}")
