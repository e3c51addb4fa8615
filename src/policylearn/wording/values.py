"""Values of a declared type, from the command line or from YAML, and what is wrong with one that does not fit."""

from __future__ import annotations

import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

NULL = "null"
"""How nothing is written on the command line."""
TRUTH = {"true": True, "false": False}
KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    Path: "a path",
    dict: "a mapping of settings to values",
}


class WrongValueError(ValueError):
    """A value that is not of the declared type; the message says what it must be and what it is."""


def read_value(kind: Any, value: Any) -> Any:
    """A value of the declared type.

    Args:
        kind: int, float, str, bool, Path, a ``Literal``, any of these or None, ``tuple[kind, ...]`` or a ``dict``.
        value: a word, or what YAML made of one.
    """
    if is_optional(kind):
        return None if value is None or value == NULL else read_value(without_none(kind), value)
    try:
        return _read(kind, value)
    except (TypeError, ValueError, KeyError):
        raise WrongValueError(f"must be {describe_kind(kind)} (got {value})") from None


def _read(kind: Any, value: Any) -> Any:
    """The value; what does not fit raises one of Python's own errors."""
    origin = get_origin(kind) or kind
    if origin is Literal:
        choices = get_args(kind)
        return choices[[str(choice) for choice in choices].index(str(value))]
    if origin is bool:
        return value if isinstance(value, bool) else TRUTH[value.lower() if isinstance(value, str) else value]
    if isinstance(value, bool):
        raise TypeError
    if origin is int and isinstance(value, int | str):
        return int(value)
    if origin is float and isinstance(value, int | float | str):
        return float(value)
    if origin in (str, Path) and isinstance(value, str | Path):
        return origin(value)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read(get_args(kind)[0], item) for item in value)
    if origin is dict:
        return _mapping(value, lists=get_origin(get_args(kind)[1]) is list)
    raise TypeError


def _mapping(value: Any, *, lists: bool) -> dict[str, Any]:
    """A mapping of names to lists or to anything, given as one or written as YAML."""
    import yaml

    try:
        content = yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError:
        raise TypeError from None
    if not isinstance(content, Mapping) or (lists and not all(isinstance(item, list) for item in content.values())):
        raise TypeError
    return {str(key): item for key, item in content.items()}


def is_optional(kind: Any) -> bool:
    """Whether None is allowed."""
    return get_origin(kind) in (Union, types.UnionType) and types.NoneType in get_args(kind)


def without_none(kind: Any) -> Any:
    """What a type is where it is not None."""
    return next(part for part in get_args(kind) if part is not types.NoneType) if is_optional(kind) else kind


def describe_kind(kind: Any) -> str:
    """A type in words."""
    kind = without_none(kind)
    origin = get_origin(kind) or kind
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return f"a list of {KINDS[get_args(kind)[0]]}" if origin is tuple else KINDS[origin]


def write_value(value: Any) -> str:
    """A value as it is typed."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{','.join(map(write_value, value))}]" if isinstance(value, list | tuple) else str(value)
