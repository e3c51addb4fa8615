"""The verbs of ``python -m lab``, one file each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from policylearn.registry import Registry

Verb = TypeVar("Verb", bound=Callable[..., Any])
VERBS = Registry[Callable[..., Any]]("verb", "lab.verbs")


def verb(name: str) -> Callable[[Verb], Verb]:
    """Make a function a verb: its parameters become options, its docstring their help; it returns the exit code."""

    def register(function: Verb) -> Verb:
        VERBS.register(name, function)
        return function

    return register
