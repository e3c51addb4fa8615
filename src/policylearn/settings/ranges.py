"""The values that a number may have, declared beside its type: ``layers: Positive = 6``."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

LARGEST_SEED = 2**32 - 1
"""What numpy, scikit-learn and torch all take."""


@dataclass(frozen=True)
class Range:
    """The numbers from ``least`` to ``most``, both included; ``above`` and ``below`` are not themselves allowed."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether a number lies in it; of several, whether all do. None is a setting that was not given."""
        if value is None:
            return True
        if isinstance(value, list | tuple):
            return all(map(self.holds, value))
        return (
            isinstance(value, int | float)
            and math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        bounds = ((">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below))
        said = [f"{sign} {bound:.15g}" for sign, bound in bounds if bound is not None]
        return " and ".join(said) or "a finite number"


Positive = Annotated[int, Range(least=1)]
NotNegative = Annotated[int, Range(least=0)]
AnyWhole = Annotated[int, Range()]
Seed = Annotated[int, Range(least=0, most=LARGEST_SEED)]
Amount = Annotated[float, Range(least=0)]
AboveZero = Annotated[float, Range(above=0)]
AnyNumber = Annotated[float, Range()]
Share = Annotated[float, Range(least=0, most=1)]
DropShare = Annotated[float, Range(least=0, below=1)]
"""A share that may not be all."""


class RangeError(ValueError):
    """A number that a setting cannot have; the message names both."""


@functools.cache
def ranges_of(kind: type) -> dict[str, Range]:
    """The declared ranges of a dataclass, by the name of the field."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        declared = _declared(hint)
        if declared is not None:
            found[name] = declared
    return found


def _declared(hint: Any) -> Range | None:
    """The range within a type: of itself, of what it may be beside None, or of what a tuple holds."""
    if get_origin(hint) is Annotated:
        return next((extra for extra in hint.__metadata__ if isinstance(extra, Range)), None)
    return next((found for part in get_args(hint) if (found := _declared(part)) is not None), None)


def check_ranges(settings: Any, prefix: str = "") -> None:
    """Raise a `RangeError` for the first number that lies outside its range.

    Args:
        settings: a dataclass.
        prefix: of the names in the message.
    """
    kind: type = type(settings)
    for name, declared in ranges_of(kind).items():
        value = getattr(settings, name)
        if not declared.holds(value):
            raise RangeError(f"'{prefix}{name}' must be {declared} (got {value})")
