"""Two machines, played by two loopback addresses under torchrun, are one process."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import distributed

from policylearn.settings import RunConfig, read_config, to_yaml
from policylearn.training import fit, load_source, processes
from policylearn.training.folds import read_history
from tests.training.tiny import tiny_config, write_graphs
from tests.warm import WarmProcess

ADDRESSES = ("127.0.0.1", "127.0.0.2")
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",  # torch tells only first comers where its shared store is
}
WAIT = 240
TORCHRUN = "from torch.distributed.run import main; main()"


def plain_config(path: Path, **changes: dict) -> RunConfig:
    """Nothing is drawn and no norm looks at the batch; 38 training graphs make unequal parts."""
    base = {
        "prediction": {"norm": "layer", "dropout": 0.0},
        "selection": {"name": "degree"},
        "optim": {"learning_rate": 0.01},
    }
    return tiny_config(path, **base | changes)


def clean_environment() -> dict[str, str]:
    """Without what a launcher of the tests themselves may have written."""
    ours = ("LOCAL_RANK", "NODE_RANK", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    return {key: value for key, value in os.environ.items() if key not in ours}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((ADDRESSES[0], 0))
        return int(taken.getsockname()[1])


class Node:
    """One machine: a torchrun of its own, with the address that it listens on."""

    def __init__(self, number: int, rendezvous: Sequence[str], words: Sequence[str], log: Path) -> None:
        command = ["--nnodes", "2", "--nproc-per-node", "1", "--local-addr", ADDRESSES[number], *rendezvous]
        command += ["-m", "policylearn", *words]
        self.log = log
        with log.open("w") as file:
            environment = clean_environment() | ENVIRONMENT
            self.process = WarmProcess(TORCHRUN, *command, env=environment, stdout=file, stderr=file)

    def wait(self) -> int:
        return self.process.wait(timeout=WAIT)

    def kill(self) -> None:
        """Pull the plug: torchrun and what it started, without a word."""
        if self.process.poll() is None:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            for pid in (self.process.pid, *map(int, children)):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()

    @property
    def text(self) -> str:
        return self.log.read_text()


def elastic(number: int, port: int) -> list[str]:
    """The first machine hosts the rendezvous; both lie on this one, so torchrun cannot tell by itself."""
    words = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[0]}:{port}", "--max-restarts", "2"]
    quick = "keep_alive_interval=1,keep_alive_max_attempt=3"
    return [*words, "--rdzv-conf", f"is_host={number == 0},{quick}", "--monitor-interval", "0.1"]


@contextmanager
def ended(nodes: list[Node]) -> Iterator[list[Node]]:
    """Nodes that are gone when the block is left."""
    try:
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def assert_close_runs(one: Path, two: Path) -> None:
    curves = [read_history(folder / "history.csv") for folder in (one, two)]
    for column in ("loss", "valid"):
        assert curves[1][column] == pytest.approx(curves[0][column], abs=1e-4)
    weights = [load_file(folder / "model.safetensors") for folder in (one, two)]
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        assert torch.allclose(value, weights[1][name], atol=1e-4), name


PAIR = """
import sys
from pathlib import Path
from policylearn.settings import read_config
from policylearn.settings.run_files import RunError
from policylearn.training import fit, load_source

rank, folder = sys.argv[1], Path(sys.argv[2])
config = read_config(folder / "plain.yaml")
fit(config, load_source(config.data), folder / f"plain-{rank}")
config = read_config(folder / "learned.yaml")
fit(config, load_source(config.data), folder / f"learned-{rank}")
config = read_config(folder / f"other-{rank}.yaml")
try:
    fit(config, load_source(config.data), folder / "refused")
except RunError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of two processes that train together, as launchers start them, and what each says."""
    folder = tmp_path_factory.mktemp("pair")
    nodes, graphs, others = folder / "nodes.npz", folder / "graphs.npz", folder / "others.npz"
    # Of a task of nodes, the parts of a step have other numbers of labels.
    write_graphs(nodes, 64, node_level=True), write_graphs(graphs), write_graphs(others, seed=1)
    configs = {"plain": plain_config(nodes, fit={"epochs": 4}), "learned": tiny_config(graphs, fit={"epochs": 1})}
    configs |= {"other-0": plain_config(graphs), "other-1": plain_config(others)}
    for name, config in configs.items():
        (folder / f"{name}.yaml").write_text(to_yaml(config))
    where = {"MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}
    where |= {"TORCHELASTIC_RUN_ID": "test", "LOCAL_RANK": "0"}
    logs, processes = [folder / f"{rank}.log" for rank in (0, 1)], []
    for rank, log in enumerate(logs):
        environment = clean_environment() | ENVIRONMENT | where | {"RANK": str(rank), "GROUP_RANK": str(rank)}
        with log.open("w") as file:
            processes.append(WarmProcess(PAIR, rank, folder, env=environment, stdout=file, stderr=file))
    codes = [process.wait(WAIT) for process in processes]
    said = [log.read_text() for log in logs]
    assert codes == [0, 0], "\n".join(said)
    return folder, said


def test_two_machines_are_one_process(pair: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, _ = pair
    config = read_config(folder / "plain.yaml")
    alone = fit(config, load_source(config.data), tmp_path / "alone").folder
    assert_close_runs(alone, folder / "plain-0")
    assert not (folder / "plain-1").exists(), "the first one writes for all"


def test_past_costs_are_those_of_all_processes(pair: tuple[Path, list[str]]) -> None:
    """A graph comes to one process in this epoch and to the other in the next: both know what it cost."""
    folder, _ = pair
    state = torch.load(folder / "learned-0" / "checkpoints" / "last.ckpt", weights_only=False)["state_dict"]
    known = state["past_costs"].isfinite()
    train = load_source(read_config(folder / "learned.yaml").data).dataset.splits[0].train
    assert set(known.nonzero().flatten().tolist()) == set(train.tolist())


def test_other_data_stop_all_machines(pair: tuple[Path, list[str]]) -> None:
    folder, said = pair
    assert all("fingerprint" in text for text in said)
    assert not (folder / "refused").exists()


def test_a_killed_machine_comes_back(tmp_path: Path) -> None:
    config = plain_config(write_graphs(tmp_path / "tiny.npz", 64), fit={"epochs": 20})
    (tmp_path / "config.yaml").write_text(to_yaml(config))
    alone = fit(config, load_source(config.data), tmp_path / "alone").folder
    port, run = free_port(), tmp_path / "run"
    words = ["train", config.data.name, "--config", str(tmp_path / "config.yaml"), "-o", str(run), "--resume"]
    nodes = [Node(at, elastic(at, port), words, tmp_path / f"{at}.log") for at in (0, 1)]
    with ended(nodes):
        until = time.monotonic() + WAIT
        while not (run / "checkpoints" / "previous.ckpt").exists():  # so that an epoch was kept
            assert time.monotonic() < until, nodes[0].text
            assert nodes[0].process.poll() is None, nodes[0].text
            time.sleep(0.05)
        nodes[1].kill()
        assert not (run / "metrics.json").exists()
        nodes.append(Node(1, elastic(1, port), words, tmp_path / "again.log"))
        assert nodes[0].wait() == 0, nodes[0].text
        assert nodes[2].wait() == 0, nodes[2].text
    assert nodes[0].text.count("epoch 1/20 ") == 1, "the second time it does not begin anew"
    assert "run folder, with report.html" in nodes[0].text
    assert "run folder" not in nodes[2].text
    assert_close_runs(alone, run)


def test_a_process_leaves_its_group_before_python_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, at_end = [], []
    monkeypatch.setattr(processes.distributed, "init_process_group", begun.append)
    monkeypatch.setattr(processes.atexit, "register", at_end.append)
    processes.join_process_group()
    assert not begun, "nobody launched this process"
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    processes.join_process_group()
    assert len(begun) == 1
    assert at_end == [processes.leave_process_group]


def test_leaving_twice_is_leaving_once(tmp_path: Path) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    processes.leave_process_group()
    assert not distributed.is_initialized()
    processes.leave_process_group()
