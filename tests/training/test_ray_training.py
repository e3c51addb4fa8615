"""Training with a Ray cluster of two workers, one of which is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policylearn.cli import main
from policylearn.settings import to_yaml, with_setting
from policylearn.settings.run_files import RunError
from policylearn.training import fit, load_source
from tests.errors import raises_naming
from tests.ray_processes import WHY, two_cores, workers
from tests.training.test_nodes import assert_close_runs, plain_config
from tests.training.tiny import write_graphs

pytest.importorskip("ray", reason=WHY)
pytestmark = pytest.mark.filterwarnings("ignore")
WAIT = 300


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[Any]:
    yield from two_cores()


def test_a_killed_worker_is_started_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = plain_config(write_graphs(tmp_path / "tiny.npz", 64), fit={"epochs": 30})
    (tmp_path / "config.yaml").write_text(to_yaml(config))
    alone = fit(config, load_source(config.data), tmp_path / "alone").folder
    killed: list[int] = []

    def kill() -> None:
        until = time.monotonic() + WAIT
        while not (tmp_path / "run" / "checkpoints" / "previous.ckpt").exists() and time.monotonic() < until:
            time.sleep(0.05)
        for process in workers("RayTrainWorker")[:1]:
            process.kill()
            killed.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    words = ["train", config.data.name, "--config", str(tmp_path / "config.yaml"), "-o", str(tmp_path / "run")]
    assert main([*words, "--ray", "--devices", "2"]) == 0
    thread.join()
    assert len(killed) == 1
    assert_close_runs(alone, tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()
    assert "run folder, with report.html" in capsys.readouterr().out


def test_what_cannot_be_done_is_said_before(tmp_path: Path) -> None:
    from policylearn.training.ray_training import train_on_ray

    config = plain_config(write_graphs(tmp_path / "tiny.npz"))
    with raises_naming(RunError, "'fit.devices'", "64"):
        train_on_ray(with_setting(config, "fit.devices", 64), tmp_path / "run")
    with pytest.raises(RunError):
        train_on_ray(config, tmp_path)
