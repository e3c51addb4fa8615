"""Every named dataset, by name."""

from __future__ import annotations

import difflib

from policylearn.data.datasets.entry import Entry
from policylearn.data.packed import DataError

CATALOG: dict[str, Entry] = {}


def register(entry: Entry) -> Entry:
    """Make a dataset known by its name."""
    if entry.name in CATALOG and CATALOG[entry.name] != entry:
        raise ValueError(f"two datasets are called '{entry.name}'; give one another name")
    CATALOG[entry.name] = entry
    return entry


def nearest(name: str, known: list[str]) -> str:
    """The names that come closest to a wrong one, in words."""
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.4)
    return f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}"


def find_entry(name: str, others: tuple[str, ...] = ()) -> Entry:
    """The declaration of a dataset, or a `DataError` with the nearest names (``others`` are names known elsewhere)."""
    if name not in CATALOG:
        raise DataError(
            f"there is no dataset {name!r}; {nearest(name, [*CATALOG, *others])}"
            " ('policylearn datasets' lists all; a path to a packed .npz works too)"
        )
    return CATALOG[name]
