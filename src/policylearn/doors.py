"""Doors of rooms whose names are imported when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def opener(room: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """What a room's ``__getattr__`` is.

    Args:
        room: name of the package.
        homes: the names that belong to its door, by the module that they are in; one of the room itself begins with a
            dot. A module must not be called as a name of the door: whichever is imported last would be found.
    """
    where = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module '{room}' has no attribute '{name}'")
        return getattr(import_module(where[name], room), name)

    return find
