"""Configurations as text: what is unknown or wrong is named in one line, and what is written is read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from policylearn.models import NetworkConfig
from policylearn.settings import ConfigError, RunConfig, changed, read_config, to_yaml, with_setting

REFUSED = {
    "selction: {}": "there is no setting 'selction'; did you mean 'selection'?",
    "sel: {}": "there is no setting 'sel'; did you mean 'selection'?",
    "epochs: 3": "there is no setting 'epochs'; did you mean 'fit.epochs'?",
    "qqq: 3": "there is no setting 'qqq'; the top ones are ",
    "selection: {tua: 1}": "there is no setting 'selection.tua'; did you mean 'selection.tau'?",
    "selection: {node: 1}": "there is no setting 'selection.node'; did you mean 'selection.node_dropout'?",
    "fit: {epoch: 3}": "there is no setting 'fit.epoch'; did you mean 'fit.epochs'?",
    "fit: {epochs: many}": "'fit.epochs' must be a whole number (got many)",
    "optim: {eps: small}": "'optim.eps' must be a number (got small)",
    "optim: {selection_learning_rate: high}": "'optim.selection_learning_rate' must be a number (got high)",
    "prediction: {residual: 3}": "'prediction.residual' must be true or false (got 3)",
    "selection: {mode: fast}": "'selection.mode' must be one of incremental, paper (got fast)",
    "selection: {network: {chan: 3}}": "there is no setting 'selection.network.chan'; did you mean"
    " 'selection.network.channels'?",
    "selection: 3": "'selection' must be a mapping of settings to values (got 3)",
    "fit:": "'fit' must be a mapping of settings to values (got None)",
    "grid: 3": "'grid' must be a mapping of settings to values (got 3)",
    "[1]": "must hold settings and values, not a list",
    "a: [": "is not valid YAML",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_is_said_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {REFUSED[text]}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: no such configuration"):
        read_config(tmp_path / "none.yaml")


def test_a_configuration_is_read_back_as_it_was(tmp_path: Path) -> None:
    config = changed(
        RunConfig(),
        {
            "data": {"name": "molecules.csv", "target": ["a", "b"], "fold": 2},
            "selection": {"name": "none", "network": {"channels": 16}},
            "optim": {"selection_learning_rate": 1e-4},
            "grid": {"selection.tau": [0.33, 1.0], "prediction.residual": [True, False]},
        },
    )
    assert config.selection.network == NetworkConfig(channels=16)
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml(config))
    assert read_config(path) == config


def test_a_file_says_only_what_it_changes(tmp_path: Path) -> None:
    base = changed(RunConfig(), {"fit": {"epochs": 7}, "grid": {"fit.seed": [0, 1]}})
    path = tmp_path / "mine.yaml"
    path.write_text("fit: {batch_size: 5}\ngrid: {fit.epochs: [1]}\n")
    config = read_config(path, base)
    assert (config.fit.epochs, config.fit.batch_size) == (7, 5)
    assert config.grid == {"fit.epochs": [1]}, "a grid is replaced whole"
    path.write_text("")
    assert read_config(path, base) == base
    assert with_setting(base, "selection.network.layers", 3).selection.network == NetworkConfig(layers=3)
