"""Configurations as text, through jsonargparse; an unknown key is answered with the nearest known one."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from policylearn.training.config import RunConfig
from policylearn.training.settings import plain
from policylearn.wording import nearest_word, one_line, unknown_setting, wrong_value


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the key, the value and the way out."""


def add_settings(parser: ArgumentParser) -> None:
    """Give a parser one option a setting of `RunConfig`."""
    parser.add_class_arguments(RunConfig, sub_configs=False)


def config_of(parser: ArgumentParser, options: Namespace) -> RunConfig:
    """The configuration that a parser with `add_settings` has read."""
    made = parser.instantiate(options)
    return RunConfig(**{field.name: made[field.name] for field in dataclasses.fields(RunConfig)})


def settings_of(options: Namespace) -> dict[str, Any]:
    """The settings among a parser's options, as nested dictionaries."""
    names = {field.name for field in dataclasses.fields(RunConfig)}
    found: dict[str, Any] = {key: value for key, value in options.as_dict().items() if key in names}
    return found


def read_config(path: Path, base: RunConfig | None = None) -> RunConfig:
    """A configuration from a YAML file; what it does not say is as in ``base``, or by default."""
    import yaml

    if not path.exists():
        raise ConfigError(f"{path}: no such configuration; check the path")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not valid YAML ({one_line(str(error))})") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold settings and values, not a {type(content).__name__}")
    return changed(base if base is not None else RunConfig(), content or {}, str(path))


def changed(base: RunConfig, content: dict[str, Any], source: str = "the configuration") -> RunConfig:
    """The configuration ``base`` with the settings of nested dictionaries put over it."""
    parser = _parser()
    before = plain(base)
    for key, value in content.items():
        if key not in {field.name for field in dataclasses.fields(RunConfig)}:
            raise ConfigError(f"{source}: there is no setting '{key}'; {nearest(str(key))}")
        if isinstance(before[key], dict) and not isinstance(value, dict):
            raise ConfigError(f"{source}: '{key}' must be a mapping of settings to values (got {value})")
    merged = _merged(before, content)
    network = merged["selection"].get("network")
    if isinstance(network, dict):
        # What is not said of the selection network is as in the prediction network.
        merged["selection"]["network"] = _merged(merged["prediction"], network)
    try:
        return config_of(parser, parser.parse_object(merged))
    except argparse.ArgumentError as error:
        raise ConfigError(f"{source}: {explained(str(error))}") from error


def with_setting(base: RunConfig, key: str, value: Any) -> RunConfig:
    """The configuration with one setting changed, by its dotted name such as `selection.tau`."""
    content: Any = value
    for part in reversed(key.split(".")):
        content = {part: content}
    return changed(base, content, f"'{key}'")


def to_yaml(config: RunConfig) -> str:
    """A configuration as YAML, settings without a value left out."""
    import yaml

    text: str = yaml.safe_dump(plain(config), sort_keys=False)
    return text


def explained(message: str) -> str:
    """A parser's complaint in one line, with the nearest known key where one is unknown."""
    key = unknown_setting(message)
    if key:
        return f"there is no setting '{key}'; {nearest(key)}"
    return wrong_value(message) or one_line(message)


def nearest(key: str) -> str:
    """A hint at the setting that looks most alike."""
    known = sorted(_parser().get_defaults().keys(branches=True))
    networks = [name.replace("prediction.", "selection.network.") for name in known if name.startswith("prediction.")]
    close = nearest_word(key, known + networks)
    top = ", ".join(name for name in known if "." not in name)
    return f"did you mean '{close}'?" if close else f"the top ones are {top}"


@functools.cache  # building it takes as long as using it
def _parser() -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False, allow_abbrev=False)
    add_settings(parser)
    return parser


def _merged(base: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries laid over others; a grid is replaced whole."""
    merged = dict(base)
    for key, value in content.items():
        under = merged.get(key)
        merged[key] = (
            _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) and key != "grid" else value
        )
    return merged
