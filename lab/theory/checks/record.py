"""What a check of one statement found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from policylearn.wording import markdown_table

HEADINGS = ("statement", "function", "parameters tried", "result", "verdict")


@dataclass(frozen=True)
class Check:
    """One statement, tried.

    Args:
        holds: whether the statement stood; None where it could not be tried, and the result says why.
    """

    statement: str
    function: str
    parameters: str
    result: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """One word for tables."""
        return {True: "holds", False: "FAILS", None: "skipped"}[self.holds]


def check_table(checks: Iterable[Check]) -> str:
    """Checks as a markdown table, as it stands in the documentation."""
    rows = ((one.statement, one.function, one.parameters, one.result, one.verdict) for one in checks)
    return markdown_table(HEADINGS, rows)


Measured = tuple[str, str, bool | None]
"""Parameters, result, and whether the statement holds."""
CHECKS: dict[str, Callable[[], Check]] = {}
"""The checks by name."""


def check(name: str, function: str) -> Callable[[Callable[[], Measured]], Callable[[], Check]]:
    """Make a function a check of the statement that its docstring is."""

    def register(measure: Callable[[], Measured]) -> Callable[[], Check]:
        statement = (inspect.getdoc(measure) or "").removesuffix(".")
        CHECKS[name] = lambda: Check(statement, function, *torch.no_grad()(measure)())
        return CHECKS[name]

    return register


def braces(numbers: tuple[int, ...]) -> str:
    """Numbers as a set is written, repeats kept: {1, 4, 4, 4}."""
    return "{" + ", ".join(map(str, numbers)) + "}"
