"""Faults that the command once had, each with the test that would find it again."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from policylearn.cli import main, training_progress
from policylearn.cli.options import make_config
from policylearn.cli.training_progress import TrainingBar
from policylearn.cli.verbs import train as train_verb
from policylearn.settings import RunConfig
from policylearn.training import load_source, run_config, train
from policylearn.training.folds import read_history
from tests.training.molecules import molesol, write_table

SMALL = ["--prediction.channels", "8", "--prediction.layers", "1", "--fit.threads", "1", "--network-only"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = (list(column)[:60] for column in molesol())
    second = [value * 2 for value in values]
    labels = [int(value < -3) for value in values]
    return write_table(
        tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "a", "b", "label"), smiles, values, second, labels
    )


class Found(Exception):  # noqa: N818 - no error
    """Carries a configuration out of the command."""


def config_of(*words: object) -> RunConfig:
    """What the command would train."""

    def stop(*given: Any) -> None:
        raise Found(make_config(*given))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_verb, "make_config", stop)
        with pytest.raises(Found) as found:
            main(["train", *map(str, words)])
    config: RunConfig = found.value.args[0]
    return config


def run(table: Path, folder: Path, *more: object) -> int:
    words = ["train", table, "--target", "a", "--data.split", "random", "-o", folder, *SMALL, *more]
    return main([str(word) for word in words])


def test_a_repeated_target_keeps_both(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--target", "a", "--target", "b"], ["--target", "a", "b"], ["--data.target", "[a,b]"]):
        assert config_of(table, *words).data.target == ("a", "b")
    assert main(["train", str(table), "--data.target", "a", "--data.target=b"]) == 2
    assert "'--data.target'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["--on-error", "--on_error", "--data.on-error", "--data.on_error"])
def test_hyphens_and_underscores_are_the_same(name: str, table: Path) -> None:
    assert config_of(table, "--target", "a", name, "skip").data.on_error == "skip"
    assert config_of(table, "--target", "a", f"{name}=skip").data.on_error == "skip"
    assert config_of(table, "--model", "sun", "--system.max-rows", "77").system == {"max_rows": "77"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epochs", "-1"], "'fit.epochs'"),
        (["--optim.learning_rate", "-0.1"], "'optim.learning_rate'"),
        (["--selection.picks", "-1"], "'selection.picks'"),
        (["--accelerator", "gpu"], "'fit.accelerator'"),
        (["--ensemble", "0"], "'ensemble'"),
        (["--data.transforms.walk_encoding.steps", "0"], "'steps'"),
    ],
)
def test_settings_out_of_range_write_nothing(
    words: list[str], message: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, tmp_path / "run", *words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert message in error
    assert not (tmp_path / "run").exists(), "the corrected command finds its folder free"


@pytest.mark.parametrize(
    ("model", "option", "way_out"),
    [
        ("sun", "--picks", "leave one of them out"),
        ("osan", "--picks", "write --system.picks"),
        ("sun", "--selection.picks", "there is no option or setting"),
    ],
)
def test_an_option_that_the_model_lacks_is_named_as_it_was_typed(
    model: str, option: str, way_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "csl-13", "--model", model, option, "3"]) == 2
    error = capsys.readouterr().err
    assert f"{option} " in error or f"'{option}'" in error
    assert way_out in error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_says_what_was_kept_and_how_to_go_on(
    number: signal.Signals,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A process that was started in the background ignores Ctrl-C from the start.
    request.addfinalizer(partial(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGTERM)
    plain = TrainingBar.on_train_batch_end

    def stopped(self: TrainingBar, trainer: Any, *more: Any) -> None:
        plain(self, trainer, *more)
        if trainer.current_epoch == 2:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(TrainingBar, "on_train_batch_end", stopped)
    words = ["--epochs", "4", "--fit.checkpoint_seconds", "0"]
    with pytest.raises(SystemExit) as stop:
        run(table, tmp_path / "run", *words)
    assert stop.value.code == 128 + number
    assert signal.getsignal(signal.SIGTERM) is before
    *_, line, command = capsys.readouterr().err.splitlines()
    assert number.name in line
    assert f"{tmp_path / 'run'} (2 epochs)" in line
    assert command.strip().startswith(f"policylearn train {table} --target a")
    monkeypatch.undo()
    assert main(command.split()[1:]) == 0
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 4
    capsys.readouterr()
    assert main(command.split()[1:]) == 0
    assert "nothing was trained" in capsys.readouterr().err


def test_a_stop_before_the_first_epoch_leaves_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(TrainingBar, "on_train_start", stopped)
    with pytest.raises(SystemExit) as stop:
        run(table, tmp_path / "run", "--epochs", "2")
    assert stop.value.code == 143
    assert "SIGTERM: no epoch was kept" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_resume_into_another_target_is_refused_with_the_difference(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, tmp_path / "run", "--epochs", "1") == 0
    words = ["train", table, "--target", "b", "--data.split", "random", "-o", tmp_path / "run", *SMALL, "--resume"]
    assert main([str(word) for word in [*words, "--epochs", "1"]]) == 2
    assert "its target is a, not b" in capsys.readouterr().err
    assert run(table, tmp_path / "run", "--epochs", "2", "--resume") == 0
    said = capsys.readouterr()
    assert "continues to 2" in said.err
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 2


def test_python_and_the_command_train_alike_on_a_table(table: Path, tmp_path: Path) -> None:
    assert run(table, tmp_path / "command", "--epochs", "1") == 0
    settings = {
        "data.target": "a",
        "data.split": "random",
        "fit.epochs": 1,
        "fit.threads": 1,
        "data.transforms.fingerprint": None,
    }
    config = run_config(table, settings | {"prediction.channels": 8, "prediction.layers": 1})
    train(config, load_source(config.data), str(tmp_path / "python"))
    ours, theirs = (yaml.safe_load((tmp_path / name / "config.yaml").read_text()) for name in ("python", "command"))
    assert ours == theirs
    assert ours["recipe"] == "modern"
    losses = [read_history(tmp_path / name / "history.csv")["loss"] for name in ("python", "command")]
    assert losses[0] == losses[1]
    facts = [json.loads((tmp_path / name / "run.json").read_text())["task"] for name in ("python", "command")]
    assert facts[0] == facts[1]


def test_a_part_of_one_class_is_said_and_the_model_kept(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smiles = molesol()[0][:60]
    labels = [row % 2 if row < 45 else 0 for row in range(60)]
    parts = ["train" if row < 45 else "valid" if row < 53 else "test" for row in range(60)]
    data = write_table(tmp_path / "one.csv", ("smiles", "label", "part"), smiles, labels, parts)
    words = ["train", data, "--target", "label", "--data.split_column", "part", "-o", tmp_path / "run", *SMALL]
    assert main([str(word) for word in [*words, "--epochs", "2"]]) == 0
    said = capsys.readouterr()
    assert "the test part has no rocauc: all its labels are 0" in said.err
    assert {"model.safetensors", "report.html", "predictions.csv"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
    assert main(["info", str(tmp_path / "run")]) == 0
    assert "all its labels are 0" in capsys.readouterr().out
    assert main(["predict", str(tmp_path / "run"), str(data), "-o", str(tmp_path / "out.csv")]) == 0


def test_progress_without_a_terminal_is_a_line_per_some_seconds(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, tmp_path / "slow", "--epochs", "3") == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("training: ")]
    assert [line.split(" loss")[0] for line in lines] == ["training: epoch 1/3", "training: epoch 3/3"]
    assert "valid rmse" in lines[0]
    monkeypatch.setattr(training_progress, "LINE_SECONDS", 0.0)
    assert run(table, tmp_path / "fast", "--epochs", "2", "--fit.batch_size", "32") == 0
    said = capsys.readouterr().err
    assert "training: epoch 1/2, step 1 of 2" in said
    assert "training: epoch 2/2, step 1 of 2; loss" in said


def test_lightning_and_torch_say_nothing_of_their_own(
    table: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(table, tmp_path / "run", "--epochs", "1") == 0
    said = "".join(capfd.readouterr()).replace(str(tmp_path), "").lower()
    assert not any(word in said for word in ("tpu", "lightning", "trainer", "num_workers", "warning", "tip"))
