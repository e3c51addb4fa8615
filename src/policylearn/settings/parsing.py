"""Configurations as nested settings: read, changed and written; an unknown one is answered with the nearest known."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from policylearn.settings.flat import plain
from policylearn.settings.ranges import ranges_of
from policylearn.settings.run_config import RunConfig
from policylearn.wording import WrongValueError, describe_kind, hint, is_optional, one_line, read_value, without_none

Config = TypeVar("Config")
MAPPING = describe_kind(dict)


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the key, the value and the way out."""


def read_config(path: str | Path, base: RunConfig | None = None) -> RunConfig:
    """A configuration from a YAML file; what it does not say is as in ``base``, or by default."""
    path = Path(path)
    return changed(base if base is not None else RunConfig(), read_yaml(path), str(path))


def read_yaml(path: Path) -> dict[Any, Any]:
    """The mapping that a YAML file holds; an empty file holds an empty one."""
    import yaml

    if not path.exists():
        raise ConfigError(f"{path}: no such configuration; check the path")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not valid YAML ({one_line(str(error))})") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold settings and values, not a {type(content).__name__}")
    return content or {}


def changed(base: RunConfig, content: Mapping[str, Any], source: str = "the configuration") -> RunConfig:
    """The configuration ``base`` with the settings of nested dictionaries put over it.

    Args:
        base: what holds where nothing is said.
        content: the settings; a grid is replaced whole, mappings such as `data.transforms` are laid over each other.
        source: where they come from, for messages.
    """
    try:
        prediction = {key: value for key, value in content.items() if key == "prediction"}
        config = _put(base, prediction)
        selection = content.get("selection")
        network = selection.get("network") if isinstance(selection, Mapping) else None
        if isinstance(network, Mapping) and config.selection.network is None:
            # What is not said of the selection network is as in the prediction network.
            config = replace(config, selection=replace(config.selection, network=config.prediction))
        return _put(config, content)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def with_setting(base: RunConfig, key: str, value: Any) -> RunConfig:
    """The configuration with one setting changed, by its dotted name such as `selection.tau`."""
    return changed(base, nested({key: value}), f"'{key}'")


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name as nested dictionaries."""
    content: dict[str, Any] = {}
    for key, value in settings.items():
        *groups, name = key.split(".")
        place = content
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = value
    return content


def to_yaml(config: RunConfig) -> str:
    """A configuration as YAML, settings without a value left out."""
    import yaml

    text: str = yaml.safe_dump(plain(config), sort_keys=False)
    return text


@functools.cache
def settings_of(kind: type, prefix: str = "") -> dict[str, Any]:
    """The declared type of every setting below a configuration, by dotted name; groups stand before what they hold."""
    found: dict[str, Any] = {}
    for name, hint_ in get_type_hints(kind).items():
        found[prefix + name] = hint_
        if is_group(hint_):
            found |= settings_of(without_none(hint_), f"{prefix}{name}.")
    return found


def is_group(kind: Any) -> bool:
    """Whether a setting holds further ones."""
    return is_dataclass(without_none(kind))


def is_open(kind: Any) -> bool:
    """Whether a setting is a mapping whose names are declared elsewhere, such as the settings of a transform."""
    return get_origin(kind) is dict and get_args(kind)[1] is Any


def merged(base: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings laid over others."""
    found = dict(base)
    for key, value in content.items():
        under = found.get(key)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        found[key] = merged(under, value) if both else value  # type: ignore[arg-type]
    return found


def read_settings(kind: type[Config], content: Mapping[str, Any], place: str) -> Config:
    """Settings of a kind that is chosen by name; what is not said is by default.

    Args:
        kind: a dataclass whose fields all have defaults.
        content: some of its fields.
        place: where they stand in a configuration.
    """
    try:
        return _put(kind(), content, f"{place}.", kind)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"'{place}': {error}") from None


def _put(base: Config, content: Mapping[Any, Any], prefix: str = "", root: type = RunConfig) -> Config:
    """A configuration with some settings changed; ``root`` is the kind whose names are proposed for a wrong one."""
    kind_of_base: type = type(base)
    kinds, ranges = get_type_hints(kind_of_base), ranges_of(kind_of_base)
    changes = {}
    for key, value in content.items():
        name = f"{prefix}{key}"
        if key not in kinds:
            raise ConfigError(f"there is no setting '{name}'; {nearest_setting(name, root, prefix)}")
        kind, before = kinds[key], getattr(base, key)
        if not is_group(kind) or (value is None and is_optional(kind)):
            try:
                changes[key] = read_value(kind, value)
                if is_open(kind):
                    changes[key] = merged(before, changes[key])
            except WrongValueError as error:
                raise ConfigError(f"'{name}' {error}") from None
        elif isinstance(value, Mapping):
            changes[key] = _put(without_none(kind)() if before is None else before, value, f"{name}.", root)
        else:
            raise ConfigError(f"'{name}' must be {MAPPING} (got {value})")
        allowed = ranges.get(key)
        if allowed is not None and not allowed.holds(changes[key]):
            raise ConfigError(f"'{name}' must be {allowed} (got {changes[key]})")
    return replace(base, **changes)  # type: ignore[type-var]


def nearest_setting(name: str, root: type = RunConfig, prefix: str = "") -> str:
    """The way out of an unknown setting."""
    if root is not RunConfig:
        known = sorted(settings_of(root, prefix))
        return hint(name, known, f"there are {', '.join(known)}")
    top = ", ".join(field.name for field in fields(RunConfig))
    return hint(name, sorted(settings_of(RunConfig)), f"the top ones are {top}")


def leaves(kind: type) -> Iterator[tuple[str, Any]]:
    """Every setting that holds a value, with its type."""
    for name, hint_ in settings_of(kind).items():
        if not is_group(hint_):
            yield name, hint_
