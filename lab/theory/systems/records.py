"""Which graphs each system tells apart: one record per system and family in a ledger, and their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.ledger import Ledger, LedgerError, read_record, run_jobs
from lab.theory.systems.families import FAMILIES
from lab.theory.systems.measure import Telling, TellingConfig, Told, measure_telling
from lab.theory.systems.subjects import SUBJECTS, Claim, Subject, find_subject
from policylearn.settings.provenance import commit, describe_machine, versions
from policylearn.wording import markdown_table

HEADINGS = ("system", "SR25", "CSL", "EXP", "what is compared", "what is proven")


@dataclass(frozen=True)
class TellingRecord:
    """One system on one family: what was asked, what was found, and with what."""

    config: TellingConfig
    telling: Telling
    machine: dict[str, Any] = field(default_factory=describe_machine)
    versions: dict[str, str] = field(default_factory=versions)
    commit: str | None = field(default_factory=commit)

    @classmethod
    def of(cls, content: dict[str, Any]) -> TellingRecord:
        """From the fields of a file."""
        telling = dict(content.pop("telling"))
        draws = tuple(Told(**draw) for draw in telling.pop("draws"))
        left = tuple((first, second) for first, second in telling.pop("left"))
        config = TellingConfig(**content.pop("config"))
        return cls(config=config, telling=Telling(**telling, left=left, draws=draws), **content)

    @property
    def subject(self) -> Subject:
        """The system."""
        return find_subject(self.config.subject)

    @property
    def claim(self) -> Claim:
        """What is proven of it on this family."""
        claim: Claim = getattr(self.subject.proven, self.config.family)
        return claim

    @property
    def agrees(self) -> bool:
        """Whether what was found does not contradict what is proven."""
        if self.claim == "open" or self.telling.depends_on_order:
            return True
        return self.telling.told == (0 if self.claim == "none" else self.telling.pairs)


def tell_all(
    configs: Sequence[TellingConfig],
    folder: Path,
    report: Callable[[TellingConfig, float], None] = lambda _config, _share: None,
) -> list[TellingRecord]:
    """Make the measurements that have no record yet, and return them all.

    Args:
        configs: which.
        folder: of the records.
        report: told what is measured, and of the share of it all that is done.
    """
    ledger = Ledger(folder, TellingConfig())

    def perform(config: TellingConfig) -> TellingRecord:
        place = configs.index(config)
        report(config, place / len(configs))
        return TellingRecord(
            config, measure_telling(config, lambda share: report(config, (place + share) / len(configs)))
        )

    run_jobs(ledger, configs, perform, wait=True)
    return [read_record(ledger.path(config), TellingRecord.of) for config in configs]


def load_tellings(folder: Path) -> list[TellingRecord]:
    """All records of a folder, in the order of `SUBJECTS`."""
    records = [read_record(path, TellingRecord.of) for path in sorted(folder.glob("*.json"))]
    if not records:
        raise LedgerError(f"{folder}: holds no records; make some with 'python -m lab theory systems -o {folder}'")
    names = [subject.name for subject in SUBJECTS]
    return sorted(records, key=lambda record: names.index(record.config.subject))


def telling_rows(records: Sequence[TellingRecord]) -> list[tuple[str, ...]]:
    """A row per system in the order of `HEADINGS`; proven numbers stand in brackets."""
    found = {(record.config.subject, record.config.family): record for record in records}
    rows = []
    for subject in SUBJECTS:
        cells = [found.get((subject.name, family)) for family in FAMILIES]
        if any(cells):
            rows.append((subject.title, *map(cell, cells), subject.compared, subject.proven.why))
    return rows


def cell(record: TellingRecord | None) -> str:
    """How many pairs, and in brackets how many are proven, where something is."""
    if record is None:
        return ""
    telling = record.telling
    if telling.depends_on_order:
        return "changes with the order of nodes"
    text = f"{telling.told} of {telling.pairs}"
    if telling.by_any_draw is not None and telling.by_any_draw != telling.told:
        text += f", {telling.by_any_draw} by any draw"
    if record.claim != "open":
        text += f" ({record.claim})"
    return text if record.agrees else f"{text} CONTRADICTS"


def telling_table(records: Sequence[TellingRecord]) -> str:
    """The same as a markdown table."""
    return markdown_table(HEADINGS, telling_rows(records))
