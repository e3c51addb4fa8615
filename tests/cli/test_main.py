"""The command: quick help, whole words only, one line for bad input."""

from __future__ import annotations

import subprocess
import sys

import pytest

from policylearn import __version__
from policylearn.cli import datasets, main
from policylearn.cli.main import VERBS


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    text = " ".join(capsys.readouterr().out.split())  # however the lines are folded
    assert all(verb.NAME in text and verb.HELP in text for verb in VERBS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.split() == ["policylearn", __version__]


@pytest.mark.parametrize("words", [[], ["dataset"], ["datasets", "sho"], ["datasets", "show", "csl", "--cou", "2"]])
def test_words_are_not_guessed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_bad_input_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "show", "zink"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: there is no dataset 'zink'; did you mean zinc?")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "run", lambda options: int("not a number"))
    with pytest.raises(ValueError, match="invalid literal"):
        main(["datasets"])


def test_help_needs_no_torch() -> None:
    code = "import sys, policylearn.cli\ntry: policylearn.cli.main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
