"""Faults that a training once had, each with the test that would find it again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import lightning
import pytest
import torch

from policylearn.data import DataError
from policylearn.models import complete
from policylearn.settings import ConfigError, RunConfig, read_config
from policylearn.settings.run_config import DataConfig, FitConfig
from policylearn.settings.run_files import RunError
from policylearn.settings.schema import RunNote
from policylearn.training import fit, load_run, load_source, train
from policylearn.training.checkpoints import epochs_kept
from policylearn.training.folds import combine_folds
from policylearn.training.module import DivergedError, RunModule
from tests.errors import raises_naming
from tests.training.test_resume import Logged, assert_same_run
from tests.training.tiny import tiny_config, write_graphs

CORES = [f"C1CCC({'C' * size})CC1" for size in range(1, 25)] + [f"c1ccc({'C' * size})cc1" for size in range(1, 25)]
CHAINS = ["C" * size for size in range(1, 13)]


def table_of(path: Path, smiles: list[str], labels: list[object], name: str = "y") -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", name), *zip(smiles, labels, strict=True)])
    return path


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("data") / "tiny.npz", 40)


@pytest.fixture(scope="module")
def finished(graphs: Path) -> Path:
    """A run of two epochs."""
    config = tiny_config(graphs, fit={"epochs": 2})
    return fit(config, load_source(config.data), graphs.parent / "run").folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_resume_into_other_data_is_refused(finished: Path, graphs: Path, tmp_path: Path) -> None:
    other = tiny_config(write_graphs(tmp_path / "other.npz", 40, seed=1), fit={"epochs": 2})
    before = files_of(finished)
    with raises_naming(RunError, "other", "40", "fingerprint"):
        fit(other, load_source(other.data), finished, resume=True)
    moved = tiny_config(write_graphs(tmp_path / "moved.npz", 40), fit={"epochs": 2})
    fit(moved, load_source(moved.data), finished, resume=True)  # the same data elsewhere
    assert files_of(finished) == before


def test_resume_into_another_target_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("smiles,logS,logP\n" + "".join(f"{s},{i},{i % 7}.5\n" for i, s in enumerate(CORES + CHAINS)))
    targets = ("logS", "logP")
    one, two = (tiny_config(path, data={"target": [name], "split": "random"}, fit={"epochs": 1}) for name in targets)
    fit(one, load_source(one.data), tmp_path / "run")
    with raises_naming(RunError, "target", *targets):
        fit(two, load_source(two.data), tmp_path / "run", resume=True)


def test_resume_with_other_settings_is_refused(finished: Path, graphs: Path) -> None:
    other = tiny_config(graphs, fit={"epochs": 2, "threads": 2}, optim={"learning_rate": 0.02})
    with raises_naming(RunError, "0.001", "0.02"):
        fit(other, load_source(other.data), finished, resume=True)  # threads are the machine's
    fewer = tiny_config(graphs, fit={"epochs": 1})
    with raises_naming(RunError, "fit.epochs 1"):
        fit(fewer, load_source(fewer.data), finished, resume=True)


def test_raising_the_epochs_of_a_finished_run_goes_on_and_says_so(graphs: Path, tmp_path: Path) -> None:
    short, long = (tiny_config(graphs, fit={"epochs": epochs}) for epochs in (2, 5))
    source = load_source(short.data)
    fit(long, source, tmp_path / "whole")
    fit(short, source, tmp_path / "run")
    with pytest.warns(RunNote, match="5 epochs"):
        done = fit(long, source, tmp_path / "run", resume=True)
    assert done.metrics["epochs"] == 5
    assert load_run(tmp_path / "run").config.fit.epochs == 5
    assert_same_run(Logged(tmp_path / "run", []), Logged(tmp_path / "whole", []))


def test_a_run_and_an_ensemble_do_not_share_a_folder(finished: Path, graphs: Path) -> None:
    from policylearn.training import train_ensemble

    config = tiny_config(graphs, fit={"epochs": 1})
    with pytest.raises(RunError):
        train_ensemble(config, load_source(config.data), finished, 2, resume=True)


def small(path: Path, **data: object) -> RunConfig:
    return tiny_config(path, data={"target": ["y"], **data}, fit={"epochs": 2})


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_part_of_one_class_still_gives_a_model(part: str, tmp_path: Path) -> None:
    other = {"valid": "test", "test": "valid"}[part]
    rows = [(smiles, number % 2, "train") for number, smiles in enumerate(CORES)]
    rows += [("C" * (2 + number), 0, part) for number in range(4)]
    rows += [("O" + "C" * (2 + number), number % 2, other) for number in range(4)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "y", "part"), *rows])
    config = small(tmp_path / "t.csv", split_column="part")
    with pytest.warns(RunNote) as said:
        done = fit(config, load_source(config.data), tmp_path / "run")
    assert part in str(said[0].message)
    assert "all its labels are 0" in str(said[0].message)
    assert len(said) == (2 if part == "valid" else 1), "the epoch is chosen by the loss instead"
    assert done.metrics[part] is None
    assert 0 <= done.metrics[other] <= 1
    run = load_run(str(tmp_path / "run"))
    assert run.metrics["unscored"].keys() == {part}
    assert run.build() is not None
    with (tmp_path / "run" / "history.csv").open() as file:
        records = list(csv.DictReader(file))
    assert all((record["valid_loss"] != "") == (part == "valid") for record in records)
    if part == "valid":
        losses = [float(record["valid_loss"]) for record in records]
        assert done.metrics["best_epoch"] == losses.index(min(losses)) + 1


def test_a_training_part_of_one_class_is_refused_before_training(tmp_path: Path) -> None:
    rows = [(s, 0, "train") for s in CORES] + [("CC", 1, "valid"), ("CCC", 0, "valid"), ("CCCC", 1, "test")]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "y", "part"), *rows])
    config = small(tmp_path / "t.csv", split_column="part")
    with raises_naming(DataError, "training part"):
        fit(config, load_source(config.data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_folds_of_which_some_cannot_be_scored_have_the_mean_of_the_others() -> None:
    nothing = float("nan")
    figure = combine_folds([[0.5, 0.9], [nothing, nothing]], [[0.6, 0.7], [0.1, 0.2]], higher_is_better=True)
    assert (figure.best_epoch, figure.valid, figure.values) == (2, 0.9, (0.7, 0.2))
    none = combine_folds([[nothing, nothing]], [[0.6, 0.7]], higher_is_better=True)
    assert (none.best_epoch, none.values) == (2, (0.7,))


def test_folds_are_read_at_the_epoch_whose_weights_they_keep() -> None:
    curves = [[0.9, 0.5], [0.8, 0.6]]
    assert combine_folds(curves, curves, higher_is_better=True).values == (0.9, 0.8)
    assert combine_folds(curves, curves, higher_is_better=True, keep="last").values == (0.5, 0.6)


def test_a_failed_start_leaves_no_folder(graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, data={"transforms": {"distances": {}}}, fit={"epochs": 1})
    with raises_naming(DataError, "'pair_distance'"):
        fit(config, load_source(config.data), tmp_path / "new")
    assert not (tmp_path / "new").exists()

    class Fails(lightning.Callback):
        def on_train_batch_end(self, *_: object) -> None:
            raise RuntimeError("in the first step")

    (tmp_path / "empty").mkdir()
    good = tiny_config(graphs, fit={"epochs": 1})
    source = load_source(good.data)
    with raises_naming(RuntimeError, "first step"):
        fit(good, source, tmp_path / "empty", callbacks=[Fails()])
    assert list((tmp_path / "empty").iterdir()) == []
    assert fit(good, source, tmp_path / "empty").metrics["epochs"] == 1


class Poison(lightning.Callback):
    """Makes weights no numbers in an epoch."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        if trainer.current_epoch + 1 == self.epoch:
            with torch.no_grad():
                next(pl_module.parameters()).fill_(torch.nan)


def test_a_loss_that_is_no_number_ends_the_training_and_keeps_the_best(graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, fit={"epochs": 6})
    source = load_source(config.data)
    with pytest.warns(RunNote, match="epoch 4, step 1"):
        done = fit(config, source, tmp_path / "run", callbacks=[Poison(4)])
    assert (done.metrics["epochs"], done.metrics["diverged"]) == (3, 4)
    assert all(bool(weight.isfinite().all()) for weight in load_run(tmp_path / "run").build().parameters())
    assert epochs_kept(tmp_path / "run" / "checkpoints") == 3
    with raises_naming(DivergedError, "optim.learning_rate"):
        fit(config, source, tmp_path / "other", callbacks=[Poison(1)])
    assert not (tmp_path / "other").exists()


def test_history_is_written_as_it_goes_and_counts_from_one(graphs: Path, tmp_path: Path) -> None:
    seen: list[list[str]] = []

    class Reader(lightning.Callback):
        def on_train_epoch_end(self, *_: object) -> None:
            with (tmp_path / "run" / "history.csv").open() as file:
                seen.append([record["epoch"] for record in csv.DictReader(file)])

    config = tiny_config(graphs, fit={"epochs": 3})
    done = fit(config, load_source(config.data), str(tmp_path / "run"), callbacks=[Reader()])
    assert seen == [["1"], ["1", "2"], ["1", "2", "3"]]
    assert 1 <= done.metrics["best_epoch"] <= 3


def test_more_picks_than_nodes_are_the_largest_graph(graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, selection={"name": "random", "picks": 1000}, fit={"epochs": 1})
    source = load_source(config.data)
    largest = int(source.dataset.graphs.num_nodes.max())
    with pytest.warns(RunNote, match="T = 1000"):
        done = fit(config, source, tmp_path / "run")
    assert done.metrics["picks"] == load_run(tmp_path / "run").config.system["selection"]["picks"] == largest


def test_a_gpu_that_is_not_there_is_said_before_anything_is_written(graphs: Path, tmp_path: Path) -> None:
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        pytest.skip("there is a GPU")
    config = tiny_config(graphs, fit={"accelerator": "gpu"})
    with raises_naming(RunError, "--accelerator cpu"):
        fit(config, load_source(config.data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_relative_path_of_the_data_works_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from policylearn.training import reevaluate

    write_graphs(tmp_path / "tiny.npz", 40)
    monkeypatch.chdir(tmp_path)
    config = tiny_config("tiny.npz", fit={"epochs": 1})
    done = fit(config, load_source(config.data), "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert reevaluate(load_run("../run")).value == done.metrics["test"]


def test_lightning_makes_no_noise(graphs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = tiny_config(graphs, fit={"epochs": 1})
    train(config, load_source(config.data), str(tmp_path / "run"))
    assert capfd.readouterr() == ("", "")


def test_threads_are_those_of_one_run_alone(graphs: Path, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    config = tiny_config(graphs, fit={"epochs": 1, "threads": before + 1})
    fit(config, load_source(config.data), tmp_path / "run")
    assert torch.get_num_threads() == before
    assert load_run(tmp_path / "run").facts.threads == before + 1


def test_a_setting_that_is_gone_does_not_keep_a_run_from_loading(finished: Path, tmp_path: Path) -> None:
    import shutil

    old = shutil.copytree(finished, tmp_path / "old")
    text = (old / "config.yaml").read_text().replace("fit:\n", "fit:\n  check_memory: true\n")
    (old / "config.yaml").write_text(text)
    assert load_run(old).config == load_run(finished).config == read_config(old / "config.yaml")


def test_facts_that_are_damaged_are_named(finished: Path, tmp_path: Path) -> None:
    import shutil

    run = shutil.copytree(finished, tmp_path / "run")
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(facts | {"threads": "many"}))
    with raises_naming(RunError, "run.json", "threads"):
        load_run(run)


def test_python_checks_ranges_as_the_command_does() -> None:
    with pytest.raises(ConfigError):
        FitConfig(epochs=-1)
    with pytest.raises(ConfigError):
        DataConfig(fold=-1)


def test_metrics_of_older_runs_are_counted_from_one_too(finished: Path, tmp_path: Path) -> None:
    import shutil

    old = shutil.copytree(finished, tmp_path / "old")
    facts = json.loads((old / "run.json").read_text())
    (old / "run.json").write_text(json.dumps(facts | {"format": 2}))
    stored = json.loads((old / "metrics.json").read_text())["best_epoch"]
    assert load_run(old).metrics["best_epoch"] == stored + 1


def test_module_needs_no_trainer_for_its_metric(graphs: Path) -> None:
    config = tiny_config(graphs)
    task = load_source(config.data).dataset.task
    module = RunModule(torch.nn.Linear(1, 1), task, config.optim, unscored=("valid",))
    assert module.metrics["valid"].what == "loss"


def test_paths_may_be_text_everywhere(finished: Path, graphs: Path, tmp_path: Path) -> None:
    from policylearn import load
    from policylearn.data import PackedGraphs, load_dataset, load_file, read_table
    from policylearn.data.convert import table_columns
    from policylearn.prediction import finish
    from policylearn.prediction.table_writer import predict_table
    from policylearn.training import load_members
    from policylearn.training.reevaluation import recall

    config = tiny_config(graphs, fit={"epochs": 2})
    source = load_source(config.data)
    assert train(config, source, str(finished), resume=True).metrics["epochs"] == 2
    assert load_members(str(finished))[0].config == read_config(str(finished / "config.yaml")) == complete(config)
    finish(str(finished), [recall(finished, source)])
    assert len(PackedGraphs.load(str(graphs))) == len(load_file(str(graphs))) == len(load_dataset(str(graphs))) == 40
    PackedGraphs.load(str(graphs)).save(str(tmp_path / "copy.npz"))
    assert predict_table(load(str(finished)), str(tmp_path / "copy.npz"), str(tmp_path / "out.csv")).rows == 40
    table = str(table_of(tmp_path / "t.csv", CHAINS, list(range(12))))
    assert table_columns(table) == ["smiles", "y"]
    assert len(read_table(table, targets="y").graphs) == 12
