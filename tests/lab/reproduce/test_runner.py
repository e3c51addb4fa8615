"""Work is shared and not doubled, and goes on after a kill, here or elsewhere."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import lightning

from lab.reproduce.plan import plan
from lab.reproduce.records import Record, load_records, run_folder
from lab.reproduce.runner import run_table
from lab.reproduce.unfinished import keep_unfinished
from lab.settings import open_ledger
from tests.errors import raises_naming
from tests.lab.reproduce.tiny import tiny_table, tiny_wish
from tests.warm import PIPE, WarmProcess

SCRIPT = """
import sys, time
from pathlib import Path
import lightning
from lab.reproduce.plan import plan
from lab.settings import open_ledger
from lab.reproduce.runner import run_table
from tests.lab.reproduce.tiny import tiny_table, tiny_wish

class Slow(lightning.Callback):
    def on_train_epoch_end(self, trainer, module):
        print("epoch", trainer.current_epoch, flush=True)
        time.sleep(float(sys.argv[4]))

data, root, epochs = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
jobs = plan(tiny_table(data), tiny_wish(epochs))
outcome = run_table(jobs, open_ledger(root), callbacks_of=lambda job: [Slow()])
for job in outcome.done:
    print("done", job.title.replace(" ", "_"), flush=True)
"""


def start(data: Path, root: Path, epochs: int, pause: float) -> WarmProcess:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return WarmProcess(SCRIPT, data, root, epochs, pause, env=environment, stdout=PIPE)


def figures(record: Record) -> tuple[object, ...]:
    return record.experiment, record.number, record.curve, record.valid, record.test, record.best_epoch


def test_two_processes_share_the_work(tiny_data: Path, tmp_path: Path) -> None:
    jobs = plan(tiny_table(tiny_data), tiny_wish(2))
    assert len(jobs) == 6
    pair = [start(tiny_data, tmp_path, 2, 0.1) for _ in range(2)]
    done = [
        [line.split()[1] for line in process.communicate().splitlines() if line.startswith("done")] for process in pair
    ]
    assert [process.returncode for process in pair] == [0, 0]
    assert sorted(done[0] + done[1]) == sorted(job.title.replace(" ", "_") for job in jobs), "each once"
    assert len(load_records(open_ledger(tmp_path))) == 6
    again = run_table(jobs, open_ledger(tmp_path))
    assert (len(again.found), again.done, again.busy) == (6, (), ())


def test_a_killed_run_goes_on_where_it_was(tiny_data: Path, tmp_path: Path) -> None:
    jobs = plan(tiny_table(tiny_data), tiny_wish(5))[:1]
    run_table(jobs, open_ledger(tmp_path / "whole"))
    process = start(tiny_data, tmp_path / "killed", 5, 0.2)
    assert process.stdout is not None
    while process.stdout.readline() != "epoch 2\n":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    ledger = open_ledger(tmp_path / "killed")
    assert load_records(ledger) == []
    seen: list[int] = []

    class Count(lightning.Callback):
        def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
            seen.append(trainer.current_epoch)

    assert run_table(jobs, ledger, callbacks_of=lambda _job: [Count()]).done == tuple(jobs)
    assert seen[0] > 0, "not from the start"
    assert seen[-1] == 4
    assert figures(load_records(ledger)[0]) == figures(load_records(open_ledger(tmp_path / "whole"))[0])


def test_a_kept_copy_continues_bit_for_bit_elsewhere(tiny_data: Path, tmp_path: Path) -> None:
    jobs = plan(tiny_table(tiny_data), tiny_wish(4, rows=("learned-t2",)))[:1]
    here, there, whole = (open_ledger(tmp_path / name) for name in ("here", "there", "whole"))
    run_table(jobs, whole)

    class Stop(lightning.Callback):
        def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
            if trainer.current_epoch == 2:
                raise RuntimeError("stopped")

    with raises_naming(RuntimeError, "stopped"):
        run_table(jobs, here, callbacks_of=lambda _job: [Stop()])
    (copy,) = keep_unfinished(here.root)
    assert sorted(path.name for path in copy.iterdir()) == ["config.yaml", "history.csv", "last.ckpt.xz", "run.json"]
    shutil.copytree(here.root / "unfinished", there.root / "unfinished")
    seen: list[int] = []

    class Count(lightning.Callback):
        def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
            seen.append(trainer.current_epoch)

    assert run_table(jobs, there, callbacks_of=lambda _job: [Count()]).done == tuple(jobs)
    assert seen == [2, 3]
    assert list((there.root / "runs").rglob("*.ckpt")) == [], "finished runs keep no checkpoints"
    assert figures(load_records(there)[0]) == figures(load_records(whole)[0])
    weights = [run_folder(ledger, jobs[0]) / "model.safetensors" for ledger in (there, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert not (there.root / "unfinished").exists(), "what has a record is not kept"
    shutil.copytree(there.root, here.root, dirs_exist_ok=True)
    assert keep_unfinished(here.root) == []
    assert not (here.root / "unfinished").exists(), "a record that came from elsewhere counts too"


def test_a_job_that_another_is_at_is_left_to_it(tiny_data: Path, tmp_path: Path) -> None:
    jobs, ledger = plan(tiny_table(tiny_data), tiny_wish(1))[:1], open_ledger(tmp_path)
    with ledger.claim(jobs[0]) as ours:
        assert ours
        outcome = run_table(jobs, ledger)
    assert outcome.busy == tuple(jobs)
    assert load_records(ledger) == []
