"""Two processes are one, as far as norms and draws allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policylearn.settings import RunConfig, to_yaml, with_setting
from policylearn.training import fit, load_run, load_source
from policylearn.training.folds import read_history
from tests.training.tiny import tiny_config, write_graphs
from tests.warm import run_warm

SCRIPT = """
import sys
from pathlib import Path
from policylearn.training import fit, load_source
from policylearn.settings import read_config

config = read_config(Path(sys.argv[1]))
fit(config, load_source(config.data), Path(sys.argv[2]), resume=True)
"""
FIRST = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a script; Lightning then starts the second process with the same words."""


def run_pair(config: RunConfig, tmp_path: Path) -> Path:
    """Train in two processes, and give the folder."""
    (tmp_path / "config.yaml").write_text(to_yaml(with_setting(config, "fit.devices", 2)))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    clean = {key: value for key, value in os.environ.items() if key not in ("LOCAL_RANK", "NODE_RANK", "WORLD_SIZE")}
    words = [script, tmp_path / "config.yaml", tmp_path / "pair"]
    done = run_warm(FIRST, *words, env=clean | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return tmp_path / "pair"


def test_two_processes_are_one(tmp_path: Path) -> None:
    """Without draws and batch norms, whose statistics are those of a process."""
    config = tiny_config(
        write_graphs(tmp_path / "tiny.npz"),
        prediction={"norm": "layer", "dropout": 0.0},
        selection={"name": "degree"},
        fit={"epochs": 4, "batch_size": 12},
        optim={"learning_rate": 0.01},
    )
    alone = fit(config, load_source(config.data), tmp_path / "alone").folder
    run_pair(config, tmp_path)
    one, two = (read_history(folder / "history.csv") for folder in (alone, tmp_path / "pair"))
    assert len(two["loss"]) == 4
    assert two["valid"] == pytest.approx(one["valid"], abs=1e-4)
    assert two["loss"] == pytest.approx(one["loss"], abs=1e-4)
    assert load_run(tmp_path / "pair").metrics["test"] == pytest.approx(load_run(alone).metrics["test"], abs=1e-4)
