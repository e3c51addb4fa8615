"""A job is done once, by whoever is first; what is written stays."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab import ledger as module
from lab.ledger import JobOutcome, Ledger, LedgerError, read_content, run_jobs, short_hash
from tests.errors import raises_naming

DEFAULT = {"size": 1, "colour": "red"}
PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Task:
    """A job whose name has its settings in it, or not."""

    number: int
    settings: dict[str, Any] = field(default_factory=lambda: dict(DEFAULT))
    hashed: bool = True

    @property
    def record(self) -> str:
        return f"deep/job{self.number}" + (f"-{short_hash(self.settings)}" if self.hashed else "")


def perform(task: Task) -> dict[str, Any]:
    return {"config": task.settings, "result": task.number**2}


def run(root: Path, tasks: list[Task], **options: Any) -> JobOutcome[Task]:
    return run_jobs(Ledger(root, DEFAULT), tasks, options.pop("perform", perform), **options)


def test_each_job_is_done_once(tmp_path: Path) -> None:
    tasks = [Task(number) for number in range(3)]
    over: list[Task] = []
    assert run(tmp_path, tasks[:2], after=over.append).done == (tasks[0], tasks[1])
    assert over == tasks[:2]
    second = run(tmp_path, tasks, after=over.append)
    assert (second.done, second.found, second.busy) == ((tasks[2],), (tasks[0], tasks[1]), ())
    assert read_content(Ledger(tmp_path, DEFAULT).path(tasks[2])) == {"config": DEFAULT, "result": 4}


def test_equal_settings_are_the_same_job_whatever_its_name(tmp_path: Path) -> None:
    before = Task(0, {"size": 1})  # written before there was a colour
    assert before.record != Task(0).record
    run(tmp_path, [before])
    ledger = Ledger(tmp_path, DEFAULT)
    assert ledger.find(Task(0)) == ledger.path(before)
    assert ledger.find(Task(0, {"size": 1, "colour": "blue"})) is None
    assert ledger.find(Task(1)) is None


def test_a_place_taken_by_other_settings_is_said_before_anything_runs(tmp_path: Path) -> None:
    run(tmp_path, [Task(1, hashed=False)])
    wanted = [Task(0, hashed=False), Task(1, {"size": 2, "colour": "red"}, hashed=False)]
    with raises_naming(LedgerError, "size=1", "size=2"):
        run(tmp_path, wanted, perform=lambda _task: pytest.fail("too early"))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    ledger, task = Ledger(tmp_path, DEFAULT), Task(3)
    path = ledger.add(task, perform(task))
    before = path.read_bytes()
    with pytest.raises(LedgerError):
        ledger.add(task, {"config": {}, "result": -1})
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name], "no part is left behind"


def test_a_job_is_held_by_one_and_let_go_after_a_failure(tmp_path: Path) -> None:
    ledger, task = Ledger(tmp_path, DEFAULT), Task(0)

    def fail(_task: Task) -> dict[str, Any]:
        with ledger.claim(task) as ours:
            assert not ours
        assert run(tmp_path, [task, Task(1)]).busy == (task,)
        raise RuntimeError("broken")

    with raises_naming(RuntimeError, "broken"):
        run(tmp_path, [task], perform=fail)
    with ledger.claim(task) as ours:
        assert ours


def test_at_most_so_many_are_done_beside_those_of_another_process(tmp_path: Path) -> None:
    ledger, tasks = Ledger(tmp_path, DEFAULT), [Task(number) for number in range(3)]
    with ledger.claim(tasks[0]):
        assert run(tmp_path, tasks, most=1, wait=True).done == (tasks[1],), "the first is at another, the last too many"
    assert run(tmp_path, tasks, most=0).done == ()
    assert run(tmp_path, tasks).done == (tasks[0], tasks[2])


def test_one_that_waits_gets_what_another_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    ledger, task = Ledger(tmp_path, DEFAULT), Task(0)
    held, seen = threading.Event(), threading.Event()

    def other() -> None:
        with ledger.claim(task):
            held.set()
            seen.wait(10)
            ledger.add(task, perform(task))

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(10)
    assert run(tmp_path, [task]).busy == (task,), "without waiting it is left to the other"
    seen.set()
    outcome = run(tmp_path, [task], wait=True, perform=lambda _task: pytest.fail("it is done"))
    thread.join()
    assert (outcome.found, outcome.busy) == ((task,), ())


HOLD = """
import sys, time
from pathlib import Path
from lab.ledger import Ledger
from tests.lab.test_ledger import DEFAULT, Task
with Ledger(Path(sys.argv[1]), DEFAULT).claim(Task(0)) as ours:
    print(ours, flush=True)
    time.sleep(600)
"""


def test_the_job_of_a_killed_process_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == "True\n"
            assert run(tmp_path, [Task(0)]).busy == (Task(0),)
        finally:
            holder.send_signal(signal.SIGKILL)
    assert run(tmp_path, [Task(0)], wait=True).done == (Task(0),)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}'])
def test_a_broken_record_is_named(text: str, tmp_path: Path) -> None:
    path = Ledger(tmp_path, DEFAULT).add(Task(0), perform(Task(0)))
    path.write_text(text)
    with raises_naming(LedgerError, path.name):
        run(tmp_path, [Task(0)])
