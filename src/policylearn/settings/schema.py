"""Typed settings: declared once as a class, then read from YAML, the command line or Python with the same checks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from docstring_parser import parse_from_object

from policylearn.wording import nearest_word

LARGEST = 1e300
"""Keeps infinity out of numbers without another bound."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
"""What numpy, scikit-learn and torch all take."""
Amount = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
AboveZero = Annotated[float, msgspec.Meta(gt=0, le=LARGEST)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
DropShare = Annotated[float, msgspec.Meta(ge=0, lt=1)]
"""A share that is not all."""

NormKind = Literal["batch", "layer", "none"]
CopyPooling = Literal["mean", "sum", "min"]
NodePooling = Literal["mean", "sum"]
GraphReadout = Literal["mean", "sum", "both"]
"""How the nodes of a graph become its vector; a mean alone does not know how many there were."""
Level = Literal["graph", "node"]
"""Whether a prediction belongs to a graph or to a node."""
PoolingOrder = Literal["copies", "nodes"]
ConvName = Literal["gin", "gcn", "sage", "gatv2"]
POLICY_LEARN = "policy-learn"
"""The model that is trained where none is named."""


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the setting, the value and the way out."""


class RunNote(UserWarning):
    """What a model or a run does other than one might expect: the command prints it, Python shows it as a warning."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all settings: a frozen record with defaults, whose attributes have docstrings.

    Example:
        >>> class Walk(Settings, frozen=True):
        ...     steps: Positive = 16
        ...     '''How many steps.'''
        >>> put(Walk(), {"steps": "20"})
        Walk(steps=20)
    """

    def __post_init__(self) -> None:
        for name, kind in hints_of(type(self)).items():
            read_value(kind, getattr(self, name), name)

    def replace(self, **changes: Any) -> Self:
        """A copy with some settings changed."""
        return msgspec.structs.replace(self, **changes)


Group = TypeVar("Group", bound=Settings)


def put(base: Group, content: Mapping[str, Any], prefix: str = "") -> Group:
    """Settings with some of them changed.

    Args:
        base: what holds where nothing is said.
        content: nested mappings; values may be text, as on a command line. Open mappings are merged.
        prefix: of the names in messages.
    """
    kinds, changes = hints_of(type(base)), {}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if key not in kinds:
            known = list(all_names(type(base)))
            close = nearest_word(key, known)
            every = ", ".join(f"{prefix}{one}" for one in known) or "none"
            way_out = f"did you mean '{prefix}{close}'?" if close else f"known are {every}"
            raise ConfigError(f"there is no setting '{name}'; {way_out}")
        kind, before = kinds[key], getattr(base, key)
        group = group_of(kind)
        if group is not None and isinstance(value, Mapping):
            changes[key] = put(group() if before is None else before, value, f"{name}.")
        else:
            found = read_value(kind, value, name)
            changes[key] = merged(before, found) if is_open(kind) else found
    try:
        return base.replace(**changes)
    except ConfigError:
        raise
    except ValueError as error:  # of a check over several settings
        place = prefix.rstrip(".")
        raise ConfigError(f"'{place}': {error}" if place else str(error)) from None


def read_value(kind: Any, value: Any, name: str) -> Any:
    """A value of a declared type, or a `ConfigError` that names the setting and what it must be."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        choices = choices_of(kind)
        need = f"must be one of {', '.join(choices)}" if choices else in_words(str(error))
        raise ConfigError(f"'{name}': {need} (got {value!r})") from None


def in_words(complaint: str) -> str:
    """A complaint of msgspec in the words of a YAML file."""
    plain_words = complaint.replace("`", "").lower()
    for json_word, word in (("object", "a mapping such as {name: value}"), ("array", "a list such as [a, b]")):
        plain_words = plain_words.replace(f"expected {json_word}", f"expected {word}")
    return plain_words


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name as nested dictionaries."""
    content: dict[str, Any] = {}
    for key, value in settings.items():
        *groups, name = key.split(".")
        place = content
        for depth, group in enumerate(groups, start=1):
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                above, below = ".".join(groups[:depth]), ".".join([*groups[depth:], name])
                raise ConfigError(
                    f"'{above}' must be a mapping, such as {{{below}: ...}}, since '{key}' is set as well"
                )
        under = place.get(name)
        both = merged(under if isinstance(under, dict) else {}, value) if isinstance(value, Mapping) else value
        place[name] = both
    return content


def merged(base: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings laid over others."""
    found = dict(base)
    for key, value in content.items():
        under = found.get(key)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        found[key] = merged(under, value) if both else value  # type: ignore[arg-type]
    return found


def plain(settings: Any) -> dict[str, Any]:
    """Settings as nested dictionaries of what YAML and JSON hold, without those that are None."""

    def without_none(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: without_none(inner) for key, inner in value.items() if inner is not None}
        return list(value) if isinstance(value, tuple) else value

    found: dict[str, Any] = without_none(msgspec.to_builtins(settings))
    return found


@functools.cache
def hints_of(kind: type[Settings]) -> dict[str, Any]:
    """The declared type of every setting of a class, with its range."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def all_names(kind: type[Settings], prefix: str = "") -> Iterator[str]:
    """The dotted name of every setting below a class."""
    for name, declared in hints_of(kind).items():
        group = group_of(declared)
        yield from [f"{prefix}{name}"] if group is None else all_names(group, f"{prefix}{name}.")


def group_of(kind: Any) -> type[Settings] | None:
    """The class of settings that a type is, or may be beside None."""
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and issubclass(part, Settings):
            return part
    return None


def is_open(kind: Any) -> bool:
    """Whether a setting is a mapping whose names are declared elsewhere, such as the settings of a transform."""
    return get_origin(kind) is dict and get_args(kind)[1] is Any


def choices_of(kind: Any) -> list[str]:
    """The values of a type that has a few names to choose from."""
    parts = [kind, *get_args(kind)]
    return next((list(map(str, get_args(part))) for part in parts if get_origin(part) is Literal), [])


def docs_of(kind: type) -> dict[str, str]:
    """The docstring below each attribute of a class and its parents, in one line."""
    parents = reversed(kind.__mro__[: kind.__mro__.index(Settings)] if issubclass(kind, Settings) else [kind])
    described = (one for parent in parents for one in parse_from_object(parent).params)
    return {one.arg_name: " ".join((one.description or "").split()) for one in described}
