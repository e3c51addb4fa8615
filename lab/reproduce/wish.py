"""Which part of a table to run, and how: the options of ``python -m lab reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from cyclopts import Parameter, Token

from policylearn.cli.options import Numbers, Words, read_word


def read_changes(_kind: object, tokens: Sequence[Token]) -> dict[str, Any]:
    """Settings by their dotted names, from words such as ``selection.tau=0.33``."""
    changes = {}
    for token in tokens:
        key, sign, value = token.value.partition("=")
        if not sign or not key:
            raise ValueError(f"'{token.value}' is no KEY=VALUE; write for example selection.tau=0.33")
        changes[key] = read_word(value)
    return changes


@Parameter(name="*")
@dataclass(frozen=True)
class Wish:
    """Which part of a table to run, and how."""

    rows: Words = ()
    """Such as learned-t2 or 'random*'; all that the paper has a figure for by default."""
    columns: Words = ()
    """Such as molesol; all by default."""
    seeds: int | None = None
    """How many seeds, folds or rounds; the paper's number by default."""
    only: Numbers = ()
    """These seeds, folds or rounds, counted from 0."""
    epochs: int | None = None
    """Of each run; fewer than the paper's are marked in the report."""
    settings: Annotated[
        dict[str, Any],
        Parameter(name="--set", converter=read_changes, accepts_keys=False, n_tokens=-1, consume_multiple=True),
    ] = field(default_factory=dict)
    """KEY=VALUE, such as selection.tau=0.33; settings of a model go to the rows whose model has them."""
    estimators: Annotated[Words, Parameter(name="--estimator")] = ()
    """How learned picks learn, one or several, such as reinforce straight_through."""
