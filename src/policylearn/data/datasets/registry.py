"""Every named dataset, by name."""

from __future__ import annotations

from policylearn.data.datasets.entry import Entry
from policylearn.data.packed import DataError
from policylearn.wording import hint

CATALOG: dict[str, Entry] = {}


def register(entry: Entry) -> Entry:
    """Make a dataset known by its name."""
    if entry.name in CATALOG and CATALOG[entry.name] != entry:
        raise ValueError(f"two datasets are called '{entry.name}'; give one another name")
    CATALOG[entry.name] = entry
    return entry


def find_entry(name: str, others: tuple[str, ...] = ()) -> Entry:
    """The declaration of a dataset, or a `DataError` with the nearest names (``others`` are names known elsewhere)."""
    if name not in CATALOG:
        known = [*CATALOG, *others]
        raise DataError(
            f"there is no dataset {name!r}; {hint(name, known, 'known are ' + ', '.join(known))}"
            " ('policylearn datasets' lists all; a path to a packed .npz works too)"
        )
    return CATALOG[name]
