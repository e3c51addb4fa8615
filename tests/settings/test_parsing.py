"""Configurations as text: what is unknown or wrong is named in one line, and what is written is read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from policylearn.models import chosen_system
from policylearn.settings import ConfigError, RunConfig, changed, read_config, to_yaml, with_setting
from policylearn.settings.schema import nested
from tests.errors import raises_naming

REFUSED = {
    "epochs: 3": ("'epochs'", "'fit.epochs'"),
    "fit: {epoch: 3}": ("'fit.epoch'", "'fit.epochs'"),
    "fit: {epochs: many}": ("'fit.epochs'", "many"),
    "fit: {patience: 3, keep: last}": ("'fit'", "'patience'", "'keep'"),
    "fit:": ("'fit'", "None"),
    "system:\nchannels: 4": ("'system'", "None"),
    "optim: {selection_learning_rate: high}": ("'optim.selection_learning_rate'", "high"),
    "grid: 3": ("'grid'", "mapping", "3"),
    "data: {transforms: walk_encoding}": ("'data.transforms'", "mapping", "walk_encoding"),
    "[1]": ("list",),
    "a: [": ("YAML",),
    "selction: {}": ("'selction'", "'selection'"),
    "qqq: 3": ("'qqq'", "policylearn settings policy-learn"),
    "selection: 3": ("'selection'", "3"),
    "selection: {node: 1}": ("'selection.node'", "'selection.node_dropout'"),
    "selection: {tau: 1}": ("'selection.tau'", "straight_through"),
    "selection: {mode: fast}": ("'selection.mode'", "incremental, paper", "fast"),
    "selection: {name: learnt}": ("'learnt'", "'learned'"),
    "selection: {estimator: rloo}": ("'rloo'", "reinforce"),
    "selection: {network: {chan: 3}}": ("'selection.network.chan'", "'selection.network.channels'"),
    "bag: {rule: eggo}": ("'eggo'", "'ego'"),
    "prediction: {residual: 3}": ("'prediction.residual'", "3"),
    "model: snu": ("'snu'", "'sun'"),
    "{model: sun, system: {chanels: 8}}": ("'chanels'", "'channels'"),
    "{model: sun, bag: egg}": ("'bag'", "ego+", "egg"),
}
"""What the message names: the setting, the value, the way out."""


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_is_named_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        chosen_system(read_config(path))
    assert all(name in str(error.value) for name in REFUSED[text])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", [None, "fit: {epochs: many}", "a: ["])
def test_the_file_is_named(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    if text is not None:
        path.write_text(text)
    with raises_naming(ConfigError, str(path)):
        read_config(path)


def test_a_configuration_is_read_back_as_it_was(tmp_path: Path) -> None:
    config = changed(
        RunConfig(),
        {
            "data": {"name": "molecules.csv", "target": ["a", "b"], "fold": 2},
            "selection": {"name": "none"},
            "optim": {"selection_learning_rate": 1e-4},
            "grid": {"selection.tau": [0.33, 1.0], "prediction.residual": [True, False]},
        },
    )
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml(config))
    assert read_config(path) == config


def test_a_file_says_only_what_it_changes(tmp_path: Path) -> None:
    base = changed(RunConfig(), {"fit": {"epochs": 7}, "selection": {"picks": 5}, "grid": {"fit.seed": [0, 1]}})
    path = tmp_path / "mine.yaml"
    path.write_text("fit: {batch_size: 5}\nselection: {mode: paper}\ngrid: {fit.epochs: [1]}\n")
    config = read_config(path, base)
    assert (config.fit.epochs, config.fit.batch_size) == (7, 5)
    assert config.system == {"selection": {"picks": 5, "mode": "paper"}}
    assert config.grid == {"fit.epochs": [1]}, "a grid is replaced whole"
    path.write_text("")
    assert read_config(path, base) == base


def test_words_of_a_command_are_read_as_their_type() -> None:
    config = with_setting(with_setting(RunConfig(), "fit.epochs", "3"), "selection.network.layers", "4")
    _, settings = chosen_system(config)
    assert config.fit.epochs == 3
    assert settings.selection["network"]["layers"] == 4


def test_a_group_and_its_settings_are_merged_or_refused() -> None:
    inner = {"picks": 3}
    assert nested({"selection": inner, "selection.mode": "paper"}) == {"selection": {"picks": 3, "mode": "paper"}}
    assert inner == {"picks": 3}
    with pytest.raises(ConfigError):
        nested({"selection": "learned", "selection.mode": "paper"})
    with raises_naming(ConfigError, "'data.transforms'", "{walk_encoding: ...}"):
        nested({"data.transforms": "descriptors", "data.transforms.walk_encoding": {}})
