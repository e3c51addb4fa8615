"""A run that is killed goes on as if nothing had happened."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from policylearn.settings import RunConfig, to_yaml
from policylearn.training import fit, load_source
from policylearn.training.checkpoints import epochs_kept, is_whole, newest_readable
from tests.training.tiny import tiny_config, write_graphs

SCRIPT = """
import sys, time
from pathlib import Path
import lightning
from policylearn.training import fit, load_source
from policylearn.settings import read_config

class Slow(lightning.Callback):
    def on_train_batch_end(self, *args):
        print("step", flush=True)
        time.sleep(float(sys.argv[3]))

config = read_config(Path(sys.argv[1]))
fit(config, load_source(config.data), Path(sys.argv[2]), resume=True, callbacks=[Slow()])
"""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path]:
    """An uninterrupted run."""
    folder = tmp_path_factory.mktemp("reference")
    config = tiny_config(write_graphs(folder / "tiny.npz"), fit={"epochs": 8, "calibration_batches": 1})
    (folder / "config.yaml").write_text(to_yaml(config))
    return config, fit(config, load_source(config.data), folder / "run").folder


def assert_same_run(a: Path, b: Path) -> None:
    one, other = load_file(a / "model.safetensors"), load_file(b / "model.safetensors")
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    strip = [[line.split(",")[:4] for line in (run / "history.csv").read_text().splitlines()] for run in (a, b)]
    assert strip[0] == strip[1]


@pytest.fixture(scope="module")
def killed(reference: tuple[RunConfig, Path]) -> Path:
    """The same run, killed in the middle of its fourth epoch."""
    _, whole = reference
    folder = whole.parent / "killed"
    command = [sys.executable, "-c", SCRIPT, str(whole.parent / "config.yaml"), str(folder)]
    process = subprocess.Popen(
        [*command, "0.05"], stdout=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert process.stdout is not None
    for _ in range(11):
        assert process.stdout.readline() == "step\n"
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert not (folder / "metrics.json").exists()
    return folder


def test_kill_and_resume_is_bit_identical(reference: tuple[RunConfig, Path], killed: Path, tmp_path: Path) -> None:
    config, whole = reference
    run = shutil.copytree(killed, tmp_path / "run")
    assert epochs_kept(run / "checkpoints") == 3
    fit(config, load_source(config.data), run, resume=True)
    assert_same_run(run, whole)


def test_a_truncated_checkpoint_is_passed_over(reference: tuple[RunConfig, Path], killed: Path, tmp_path: Path) -> None:
    config, whole = reference
    folder = shutil.copytree(killed, tmp_path / "run") / "checkpoints"
    last = folder / "last.ckpt"
    last.write_bytes((folder / "previous.ckpt").read_bytes()[:-1000])
    assert not is_whole(last)
    assert newest_readable(folder) == folder / "previous.ckpt"
    fit(config, load_source(config.data), tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole)


def test_without_any_checkpoint_a_resumed_run_starts_anew(reference: tuple[RunConfig, Path], tmp_path: Path) -> None:
    config, whole = reference
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints" / "last.ckpt").write_bytes(b"nothing")
    fit(config, load_source(config.data), tmp_path / "run", resume=True)
    assert_same_run(tmp_path / "run", whole)
