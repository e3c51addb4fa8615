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
from policylearn.cli.command import Parser
from policylearn.cli.train import COMMAND, make_config
from policylearn.cli.training_progress import TrainingBar
from policylearn.settings import RunConfig
from policylearn.training import load_source, run_config, train
from policylearn.training.folds import read_history
from tests.training.molecules import molesol, write_table

SMALL = ["--prediction.channels", "8", "--prediction.layers", "1", "--fit.threads", "1", "--no-baseline"]
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = (list(column)[:60] for column in molesol())
    second = [value * 2 for value in values]
    labels = [int(value < -3) for value in values]
    return write_table(
        tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "a", "b", "label"), smiles, values, second, labels
    )


def options_of(*words: object) -> Any:
    _, options = COMMAND.parse([str(word) for word in words])
    return options


def run(table: Path, folder: Path, *more: object) -> int:
    words = ["train", table, "--target", "a", "--data.split", "random", "-o", folder, *SMALL, *more]
    return main([str(word) for word in words])


def test_a_repeated_target_keeps_both(table: Path) -> None:
    for words in (
        ["--target", "a", "--target", "b"],
        ["--target", "a", "b"],
        ["--data.target", "a", "--data.target", "b"],
    ):
        assert make_config(options_of(table, *words)).data.target == ("a", "b")


def test_options_of_several_words_replace_their_default_once() -> None:
    parser = Parser("test", "a test")
    parser.add_argument("--sizes", type=int, nargs="+", default=[7], help="of things")
    assert parser.parse([]).sizes == [7]
    assert parser.parse(["--sizes", "1", "2", "--sizes", "3"]).sizes == [1, 2, 3]


@pytest.mark.parametrize("name", ["--on-error", "--on_error", "--data.on-error", "--data.on_error"])
def test_hyphens_and_underscores_are_the_same(name: str, table: Path) -> None:
    assert make_config(options_of(table, "--target", "a", name, "skip")).data.on_error == "skip"
    assert make_config(options_of(table, "--target", "a", f"{name}=skip")).data.on_error == "skip"
    system = options_of(table, "--target", "a", "--model", "sun", "--system.max-rows", "77")
    assert make_config(system).system == {"max_rows": 77}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epochs", "-1"], "'fit.epochs' must be >= 1 (got -1)"),
        (["--epochs", "0"], "'fit.epochs' must be >= 1 (got 0)"),
        (["--prediction.channels", "0"], "'prediction.channels' must be >= 2 (got 0)"),
        (["--optim.learning_rate", "-0.1"], "'optim.learning_rate' must be >= 0 (got -0.1)"),
        (["--accelerator", "gpu"], "'fit.accelerator' is gpu"),
        (["--model", "sun", "--system.layers", "0"], "'system.layers' must be >= 1 (got 0)"),
        (["--estimator", "rloo", "--selection.samples", "1"], "'samples' must be >= 2 for 'rloo' (got 1)"),
        (["--estimator", "rloo", "--fit.batch_size", "6"], "make it a multiple of 4"),
        (["--data.transforms.walk_encoding.steps", "0"], "'steps' must be >= 1 (got 0)"),
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
    assert line == f"stopped by {number.name}: kept {tmp_path / 'run'} (2 epochs). Continue with"
    assert command.strip().startswith(f"policylearn train {table} --target a")
    monkeypatch.undo()
    assert main(command.split()[1:]) == 0
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 4
    capsys.readouterr()
    assert main(command.split()[1:]) == 0
    assert "was finished already, so nothing was trained" in capsys.readouterr().err


def test_a_stop_before_the_first_epoch_leaves_nothing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(TrainingBar, "on_train_start", stopped)
    with pytest.raises(SystemExit) as stop:
        run(table, tmp_path / "run", "--epochs", "2")
    assert stop.value.code == 143
    assert "stopped by SIGTERM: no epoch was kept; call the same command again" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_resume_into_another_target_is_refused_with_the_difference(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(table, tmp_path / "run", "--epochs", "1") == 0
    words = ["train", table, "--target", "b", "--data.split", "random", "-o", tmp_path / "run", *SMALL, "--resume"]
    assert main([str(word) for word in [*words, "--epochs", "1"]]) == 2
    assert "holds another run: its target is a, not b" in capsys.readouterr().err
    assert run(table, tmp_path / "run", "--epochs", "2", "--resume") == 0
    said = capsys.readouterr()
    assert "was finished with 1 epochs and continues to 2; from here on, learning rates are those of" in said.err
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 2


def test_python_and_the_command_train_alike_on_a_table(table: Path, tmp_path: Path) -> None:
    assert run(table, tmp_path / "command", "--epochs", "1") == 0
    settings = {"data.target": "a", "data.split": "random", "fit.epochs": 1, "fit.threads": 1}
    config = run_config(table, settings | {"prediction.channels": 8, "prediction.layers": 1})
    train(config, load_source(config.data), str(tmp_path / "python"))
    ours, theirs = (yaml.safe_load((tmp_path / name / "config.yaml").read_text()) for name in ("python", "command"))
    assert ours == theirs
    assert ours["recipe"] == "modern"
    losses = [read_history(tmp_path / name / "history.csv")["loss"] for name in ("python", "command")]
    assert losses[0] == losses[1]
    facts = [json.loads((tmp_path / name / "run.json").read_text())["task"] for name in ("python", "command")]
    assert facts[0] == facts[1]


def test_help_and_pages_agree_on_the_default_estimator() -> None:
    default = RunConfig().selection.estimator
    assert f"(default: {default})" in (DOCS / "cli.md").read_text()
    text = " ".join((DOCS / "training.md").read_text().split())
    assert f"With `{default}`, the default estimator" in text
    assert run_config("own.csv").selection.estimator == run_config("own.npz").selection.estimator == default


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
    assert "the test part has no rocauc: all its labels are 0, and ROC-AUC needs both" in said.err
    assert {"model.safetensors", "report.html", "predictions.csv"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
    assert main(["info", str(tmp_path / "run")]) == 0
    assert "none: all its labels are 0" in capsys.readouterr().out
    assert main(["predict", str(tmp_path / "run"), str(data), "-o", str(tmp_path / "out.csv")]) == 0


def test_report_leaves_results_alone_without_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "RESULTS.md").write_text("what was measured\n")
    assert main(["reproduce", "--report", "--results", str(tmp_path / "nothing")]) == 2
    assert "holds no records, so there is nothing to report" in capsys.readouterr().err
    assert (tmp_path / "RESULTS.md").read_text() == "what was measured\n"


def test_spread_is_gone_and_says_what_to_use_instead(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "run", "in.csv", "-o", "out.csv", "--spread", "16"]) == 2
    error = capsys.readouterr().err
    assert "--spread is gone" in error
    assert "--ensemble 5" in error


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
