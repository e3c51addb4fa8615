"""``python -m lab queue``: what is done, running and waiting."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.reproduce.plan import plan
from lab.reproduce.tables import TABLES
from lab.reproduce.wish import Wish
from lab.settings import open_ledger
from lab.verbs.reproduce import find_table

EPOCHS = "epoch,loss,valid,test,seconds,learning_rate,cpu_seconds,valid_loss\n" + "".join(
    f"{epoch},1.0,0.5,,6.0,0.001,1.0,\n" for epoch in (1, 2)
)


def test_a_queue_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ("gin", "random-t2", "learned-t2", "full")
    command = "reproduce expressivity --columns csl --only 0 --rows"
    file, results = tmp_path / "mine.txt", tmp_path / "results"
    old = f"cd frozen && POLICYLEARN_DATA=data .venv/bin/policylearn {command}"
    file.write_text("# CSL\n\n" + "\n".join(f"python -m lab {command} {row}" for row in rows))
    (tmp_path / "mine.txt.done").write_text(f"{old} gin\n")
    table = find_table("expressivity", TABLES)
    job, learned = plan(table, Wish(rows=("random-t2", "learned-t2"), columns=("csl",), only=(0,)))
    assert "random" in job.record
    now = learned.record
    open_ledger(results).add(job, {"config": job.settings, "seconds": 1800.0})
    words = ["queue", str(file), "--results", str(results)]
    assert main(words) == 0
    assert capsys.readouterr().out == "2 of 4 done; records of 0.5 h; none running; 2 waiting\n"
    for name, ended in (("csl/learned-t2/seed0-1", True), (now, False), ("exp/none/fold3-2", False)):
        folder = results / "runs" / name
        folder.mkdir(parents=True)
        (folder / "history.csv").write_text(EPOCHS)
        (folder / "config.yaml").write_text("fit: {epochs: 12}\n")
        if ended:
            (folder / "metrics.json").write_text("{}")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"2 of 4 done; records of 0.5 h; running {now}: epoch 2 of 12, 1 min left")
    assert "; running exp/none/fold3-2: epoch 2 of 12, 1 min left" in out, "of another queue"
    assert "unfinished" not in out
    assert out.endswith("; 1 waiting\n")
    shutil.copytree(results / "runs" / now, results / "unfinished/csl/full/seed0-3")
    shutil.rmtree(results / "runs/exp/none/fold3-2")
    os.utime(results / "runs" / now / "history.csv", (0, 0))
    assert main(words) == 0
    stopped = f"unfinished {now}: epoch 2 of 12; unfinished csl/full/seed0-3: epoch 2 of 12"
    assert capsys.readouterr().out == f"2 of 4 done; records of 0.5 h; none running; {stopped}; 2 waiting\n"
