"""A run that is killed goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from policylearn.settings import RunConfig, to_yaml
from policylearn.training import fit, load_source
from policylearn.training.checkpoints import epochs_kept, newest_readable, read
from tests.training.step_log import StepLog, first_difference
from tests.training.tiny import tiny_config, write_graphs
from tests.warm import PIPE, WarmProcess

SCRIPT = """
import json, sys
from pathlib import Path
from policylearn.training import fit, load_source
from policylearn.settings import read_config
from tests.training.step_log import StepLog

class WaitingLog(StepLog):
    def on_train_batch_end(self, *args):
        super().on_train_batch_end(*args)
        print(json.dumps(self.steps[-1]), flush=True)
        sys.stdin.readline()  # so that nothing depends on who is faster

config = read_config(Path(sys.argv[1]))
fit(config, load_source(config.data), Path(sys.argv[2]), resume=True, callbacks=[WaitingLog()])
"""


@dataclass(frozen=True)
class Logged:
    """A run with its steps."""

    folder: Path
    steps: list[dict[str, Any]]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Logged]:
    """An uninterrupted run."""
    folder = tmp_path_factory.mktemp("reference")
    config = tiny_config(write_graphs(folder / "tiny.npz"), fit={"epochs": 8, "calibration_batches": 1})
    (folder / "config.yaml").write_text(to_yaml(config))
    return config, logged_fit(config, folder / "run", resume=False)


def logged_fit(config: RunConfig, folder: Path, *, resume: bool = True) -> Logged:
    log = StepLog()
    fit(config, load_source(config.data), folder, resume=resume, callbacks=[log])
    return Logged(folder, log.steps)


def assert_same_run(a: Logged, b: Logged) -> None:
    assert first_difference(a.steps, b.steps) == ""
    one, other = load_file(a.folder / "model.safetensors"), load_file(b.folder / "model.safetensors")
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []
    strip = [[line.split(",")[:4] for line in (run.folder / "history.csv").read_text().splitlines()] for run in (a, b)]
    assert strip[0] == strip[1]


@pytest.fixture(scope="module")
def killed(reference: tuple[RunConfig, Logged]) -> Logged:
    """The same run, killed in the middle of its fourth epoch, while it waits."""
    home = reference[1].folder.parent
    folder = home / "killed"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = WarmProcess(SCRIPT, home / "config.yaml", folder, env=environment, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        steps = []
        for number in range(11):
            steps.append(json.loads(process.stdout.readline()))
            if number < 10:
                process.stdin.write("\n")
                process.stdin.flush()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not (folder / "metrics.json").exists()
    return Logged(folder, steps)


def test_kill_and_resume_is_bit_identical(reference: tuple[RunConfig, Logged], killed: Logged, tmp_path: Path) -> None:
    config, whole = reference
    assert first_difference(killed.steps, whole.steps) == ""
    run = shutil.copytree(killed.folder, tmp_path / "run")
    assert epochs_kept(run / "checkpoints") == 3
    assert_same_run(logged_fit(config, run), whole)


def test_a_truncated_checkpoint_is_passed_over(
    reference: tuple[RunConfig, Logged], killed: Logged, tmp_path: Path
) -> None:
    config, whole = reference
    folder = shutil.copytree(killed.folder, tmp_path / "run") / "checkpoints"
    last = folder / "last.ckpt"
    last.write_bytes((folder / "previous.ckpt").read_bytes()[:-1000])
    assert read(last) is None
    assert newest_readable(folder) == folder / "previous.ckpt"
    assert_same_run(logged_fit(config, tmp_path / "run"), whole)


def test_without_any_checkpoint_a_resumed_run_starts_anew(reference: tuple[RunConfig, Logged], tmp_path: Path) -> None:
    config, whole = reference
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints" / "last.ckpt").write_bytes(b"nothing")
    assert_same_run(logged_fit(config, tmp_path / "run"), whole)


def test_a_log_says_where_runs_part(reference: tuple[RunConfig, Logged]) -> None:
    steps = reference[1].steps
    changed = [step | {"gradients": step["gradients"] | {"head.lin1.weight": "other"}} for step in steps[5:]]
    assert first_difference(steps, steps) == ""
    said = first_difference(steps, changed)
    assert str(steps[5]["step"]) in said
    assert "head.lin1.weight" in said
    assert "layouts" in said
