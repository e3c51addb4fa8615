"""Which graphs each system distinguishes: one record per system and family in a ledger, and their table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.ledger import Ledger, read_record, run_jobs
from lab.provenance import Provenance
from lab.theory.systems.families import FAMILIES, load_family
from lab.theory.systems.measure import Distinguished, ExpressivityConfig, measure
from lab.theory.systems.subjects import SUBJECTS, Claim, find_subject
from policylearn.wording import markdown_table

HEADINGS = ("system", "SR25", "CSL", "EXP", "what is compared", "what is proven")


@dataclass(frozen=True)
class ExpressivityRecord(Provenance):
    """One system on one family: what was asked, what was found, and with what."""

    config: ExpressivityConfig
    found: Distinguished

    @property
    def claim(self) -> Claim:
        """What is proven of it on this family."""
        claim: Claim = getattr(find_subject(self.config.subject).proven, self.config.family)
        return claim

    @property
    def agrees(self) -> bool:
        """Whether what was found does not contradict what is proven."""
        if self.claim == "open" or self.found.depends_on_order:
            return True
        return self.found.distinguished == (0 if self.claim == "none" else self.found.pairs)

    @property
    def cell(self) -> str:
        """How many pairs, and in brackets how many are proven, where something is."""
        found = self.found
        if found.depends_on_order:
            return "changes with the order of nodes"
        text = f"{found.distinguished} of {found.pairs}"
        if found.by_any_draw is not None and found.by_any_draw != found.distinguished:
            text += f", {found.by_any_draw} by any draw"
        if self.claim != "open":
            text += f" ({self.claim})"
        return text if self.agrees else f"{text} CONTRADICTS"


def measure_all(
    configs: Sequence[ExpressivityConfig],
    folder: Path,
    after: Callable[[ExpressivityConfig], None] = lambda _config: None,
) -> list[ExpressivityRecord]:
    """Make the measurements that have no record yet, tell ``after`` of each, and return them all."""
    ledger = Ledger(folder, ExpressivityConfig())

    def perform(one: ExpressivityConfig) -> ExpressivityRecord:
        return ExpressivityRecord(one, measure(one, load_family(one.family, one.pairs)))

    run_jobs(ledger, configs, perform, wait=True, after=after)
    return [read_record(ledger.path(config), ExpressivityRecord) for config in configs]


def expressivity_table(records: Sequence[ExpressivityRecord]) -> str:
    """A row per system; proven numbers stand in brackets."""
    found = {(record.config.subject, record.config.family): record.cell for record in records}
    rows = []
    for subject in SUBJECTS:
        cells = [found.get((subject.name, family), "") for family in FAMILIES]
        if any(cells):
            rows.append((subject.title, *cells, subject.compared, subject.proven.why))
    return markdown_table(HEADINGS, rows)
