"""The command: quick help, whole words only, one line for bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from policylearn import __version__
from policylearn.cli import main
from policylearn.cli.printing import say
from policylearn.cli.registry import VERBS
from policylearn.cli.verbs import datasets
from tests.errors import raises_naming


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"│ {verb} " in text for verb in VERBS if " " not in verb)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.split() == ["policylearn", __version__]


COMPLAINTS = {
    "dataset": ("dataset", "datasets"),
    "--versio": ("--versio",),
    "datasets show": ("'show'", "--help"),
    "train zink": ("'zink'", "'zinc'"),
    "demo --outpu x": ("--outpu", "--output"),
    "demo --steps x": ("--steps", "x"),
    "demo --steps": ("--steps",),
    "train": ("DATASET",),
    "train zinc --pick 2": ("'--pick'", "'--picks'"),
    "train zinc --resum": ("'--resum'", "'--resume'"),
    "train zinc --tau 2": ("'--tau'", "'--selection.tau'"),
    "train zinc --fit.epoch=2": ("'fit.epoch'", "'fit.epochs'"),
    "train zinc --optim.selection_lr 1": ("'optim.selection_lr'", "'optim.selection_learning_rate'"),
    "train zinc --selection.mode fast": ("'selection.mode'", "incremental, paper", "fast"),
    "train zinc --model sunn": ("'sunn'", "'sun'"),
    "predict run": ("TABLE",),
    "evaluate run --part tset": ("--part", "tset", "valid"),
    "--plugin": ("--plugin",),
    "--plugin nowhere.py info": ("nowhere.py",),
    "info --plugin=nowhere.py": ("nowhere.py",),
}
"""What the line names: the word, the way out."""


@pytest.mark.parametrize("words", COMPLAINTS)
def test_words_are_not_guessed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert all(word in captured.err for word in COMPLAINTS[words])
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_each_parameter_is(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: policylearn {verb}")
    assert len(lines) > 3


def test_a_line_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = "not scored: SMILES 'c1:o:c:c:c1' [bold] " + "x" * 300
    say(text)
    assert capsys.readouterr().out == text + "\n"


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "list_datasets", lambda root: int("not a number"))
    with raises_naming(ValueError, "not a number"):
        main(["datasets"])


def test_ctrl_c_ends_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(root: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "list_datasets", interrupted)
    assert main(["datasets"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


OLD_RUN = Path(__file__).parents[1] / "prediction" / "runs_of_0_1" / "full"
LATER = ("torch_geometric", "lightning", "torchmetrics", "torch._dynamo", "pandas", "networkx", "sklearn", "matplotlib")
"""What takes seconds to import and is not needed to begin."""
TABLE = "smiles,y\n" + "".join(f"{'C' * length}O,{length}\n" for length in range(1, 13))


HEAVY = ("torch", "torch_geometric", "lightning", "rdkit", "numba", "matplotlib", "scipy", "sklearn", "networkx", "ray")
QUICK = [*(f"{verb} --help" for verb in VERBS), "--help", "train zinc --nosuch", "datasets", "info", f"info {OLD_RUN}"]


def test_nothing_waits_for_what_it_does_not_need(tmp_path: Path) -> None:
    """One process for all: a module that one command imports is there for the next."""
    table, output = tmp_path / "table.csv", tmp_path / "out.csv"
    table.write_text(TABLE)
    code = f"""
import sys
from policylearn.cli import main
from policylearn.cli.verbs import train

def check(words, absent):
    found = [name for name in absent if name in sys.modules]
    assert not found, (words, found)

for words in {QUICK!r}:
    main(words.split())
    check(words, {HEAVY!r})

def announce(console, config, source, folder):
    assert len(source.dataset) == 12
    raise InterruptedError  # the table has been read, and nothing trained

train.announce = announce
try:
    main({["train", str(table), "--target", "y", "--data.split", "random"]!r})
except InterruptedError:
    check("train", {LATER!r})
else:
    raise AssertionError("nothing was announced")
assert main({["predict", str(OLD_RUN), str(table), "-o", str(output)]!r}) == 0
check("predict", {LATER!r})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(output.read_text().splitlines()) == 13
