"""The table of all checks, as it stands in the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from policylearn.studies.theory.checks import HEADINGS, Check


def markdown_row(check: Check) -> str:
    """One check as a row of a markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in check.cells()) + " |"


def markdown_table(checks: Iterable[Check]) -> str:
    """Checks as a markdown table."""
    head = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    return "\n".join([*head, *(markdown_row(check) for check in checks)])
