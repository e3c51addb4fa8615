"""The command: quick help, whole words only, one line for bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from policylearn import __version__
from policylearn.cli import datasets, main
from policylearn.cli.main import ROOT


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = " ".join(capsys.readouterr().out.split())  # however the lines are folded
    assert all(verb.name in text and verb.help in text for verb in ROOT.actions)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.split() == ["policylearn", __version__]


COMPLAINTS = {
    "": "say what to do: policylearn train | ",
    "dataset": "'policylearn' has no verb 'dataset'; did you mean 'datasets'?",
    "--versio": "'policylearn' has no option '--versio'; did you mean '--version'?",
    "datasets sho": "'policylearn datasets' has no verb 'sho'; did you mean 'show'?",
    "datasets show": "'policylearn datasets show' needs NAME; see 'policylearn datasets show --help'",
    "datasets show csl --cou 2": "'policylearn datasets show' has no option '--cou'; did you mean '--count'?",
    "demo now": "'policylearn demo' takes no further word 'now'; see 'policylearn demo --help'",
    "demo --steps x": "'steps' must be a whole number (got x); see 'policylearn demo --help'",
    "demo --steps": "argument --steps: expected one argument; see 'policylearn demo --help'",
    "demo --qqq": "'policylearn demo' has no option '--qqq'; see 'policylearn demo --help'",
    "train": "'policylearn train' needs DATASET; see",
    "train zinc --pick 2": "'policylearn train' has no option '--pick'; did you mean '--picks'?",
    "train zinc --picks x": "'picks' must be a whole number (got x); see",
    "train zinc --tau 2": "'policylearn train' has no option '--tau'; did you mean '--selection.tau'?",
    "train zinc --fit.epoch=2": "'policylearn train' has no option '--fit.epoch'; did you mean '--fit.epochs'?",
    "train zinc --optim.selection_lr 1": "'policylearn train' has no option '--optim.selection_lr'; did you mean"
    " '--optim.selection_learning_rate'?",
    "train zinc --selection.mode fast": "'selection.mode' must be one of incremental, paper (got fast); see",
    "train zinc --selection.network.chan 3": "'policylearn train' has no option '--selection.network.chan';"
    " did you mean '--selection.network.channels'?",
    "predict run": "'policylearn predict' needs INPUT, -o OUTPUT; see",
    "theory": "say what to do: python -m lab theory check | ",
    "evaluate run --part tset": "'part' must be one of train, valid, test (got tset); see",
}


@pytest.mark.parametrize("words", COMPLAINTS)
def test_words_are_not_guessed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {COMPLAINTS[words]}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


COMMANDS = dict(ROOT.walk())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_help_that_says_what_each_option_does(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*path.split()[1:], "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {path} ")
    assert len(text.split("\n\n")[0].splitlines()) <= 4, "the usage can be read"
    assert [action.dest for action in COMMANDS[path].parser(path)._actions if not action.help] == []


def test_bad_input_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "show", "zink"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: there is no dataset 'zink'; did you mean 'zinc'?")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "list_datasets", lambda root: int("not a number"))
    with pytest.raises(ValueError, match="invalid literal"):
        main(["datasets"])


OLD_RUN = Path(__file__).parents[1] / "prediction" / "runs_of_0_1" / "full"
LATER = ("torch_geometric", "lightning", "torchmetrics", "torch._dynamo", "pandas", "networkx", "sklearn", "matplotlib")
"""What takes seconds to import and is not needed to begin."""
TABLE = "smiles,y\n" + "".join(f"{'C' * length}O,{length}\n" for length in range(1, 13))


def test_a_prediction_does_without_what_is_slow_to_import(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    code = f"""
import sys
from policylearn.cli import main
assert main({["predict", str(OLD_RUN), str(tmp_path / "table.csv"), "-o", str(tmp_path / "out.csv")]!r}) == 0
found = [name for name in {LATER!r} if name in sys.modules]
assert not found, found
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 13


def test_a_training_reads_its_table_before_what_is_slow_to_import(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    code = f"""
import sys
from policylearn.cli import main, train
def announce(console, config, source, folder):
    found = [name for name in {LATER!r} if name in sys.modules]
    assert not found, found
    sys.exit(len(source.dataset))
train.announce = announce
main({["train", str(tmp_path / "table.csv"), "--target", "y", "--data.split", "random"]!r})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 12, done.stderr


HEAVY = ("torch", "torch_geometric", "lightning", "rdkit", "numba", "matplotlib", "scipy", "sklearn", "networkx", "ray")
QUICK = [f"{path.removeprefix('policylearn')} --help".strip() for path in COMMANDS]
QUICK += ["train zinc --nosuch", "theory learn --nosuch", "datasets", "info", f"info {OLD_RUN}"]


def test_what_only_says_something_imports_nothing_heavy() -> None:
    """One process for all: a module that one command imports is there for the next."""
    code = f"""
import sys
from policylearn.cli import main
for words in {QUICK!r}:
    try:
        main(words.split())
    except SystemExit:
        pass
    found = [name for name in {HEAVY!r} if name in sys.modules]
    assert not found, (words, found)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
