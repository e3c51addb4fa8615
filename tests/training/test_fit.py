"""Training: what is learned, what is written, and that it can be repeated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch_geometric.data import Batch

from policylearn.data import BatchLoader, build_metric
from policylearn.models import complete
from policylearn.settings import RunConfig, with_setting
from policylearn.settings.run_files import RunError
from policylearn.training import Fitted, fit, load_run, load_source, train
from policylearn.training.evaluation import scored
from policylearn.training.folds import read_history
from policylearn.training.module import RunModule
from policylearn.training.prepared_data import prepare_data
from policylearn.training.runs import make_model
from tests.errors import raises_naming
from tests.training.step_log import StepLog, first_difference
from tests.training.tiny import tiny_config, write_graphs


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graphs(tmp_path_factory.mktemp("data") / "tiny.npz")


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("policy", ["learned", "random", "full", "none", "degree"])
def test_every_policy_learns_something(policy: str, graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, selection={"name": policy}, fit={"epochs": 15}, optim={"learning_rate": 0.01})
    done = train(config, load_source(config.data), tmp_path / "run")
    curve = read_history(tmp_path / "run" / "history.csv")
    assert done.metrics["metric"] == "mae"
    assert min(curve["loss"][-5:]) < 0.5 * curve["loss"][0]
    assert done.metrics["valid"] == pytest.approx(min(curve["valid"]), abs=1e-6)


@pytest.fixture(scope="module")
def log() -> StepLog:
    return StepLog()


@pytest.fixture(scope="module")
def run(graphs: Path, log: StepLog) -> tuple[RunConfig, Fitted]:
    """A run of eight epochs whose last one is not its best."""
    config = tiny_config(graphs, optim={"learning_rate": 0.05}, fit={"epochs": 8, "evaluation_batch_size": 5})
    return config, fit(config, load_source(config.data), graphs.parent / "run", callbacks=[log])


def test_the_run_folder_holds_what_is_needed(run: tuple[RunConfig, Fitted]) -> None:
    config, done = run
    names = {path.name for path in done.folder.iterdir()}
    assert {"model.safetensors", "config.yaml", "metrics.json", "history.csv", "run.json"} <= names
    found, dataset = load_run(done.folder), load_source(config.data).dataset
    assert found.config == complete(config)
    assert found.facts.task == dataset.task
    assert found.facts.dataset["fingerprint"] == dataset.fingerprint
    assert found.metrics == json.loads((done.folder / "metrics.json").read_text()) == done.metrics
    assert found.metrics["mode"] == "incremental"
    assert found.metrics["estimator"] == "reinforce"
    assert not list(done.folder.rglob("*.part"))


def test_the_best_epochs_weights_are_kept(run: tuple[RunConfig, Fitted]) -> None:
    _, done = run
    curve = read_history(done.folder / "history.csv")
    assert done.metrics["best_epoch"] == int(np.argmin(curve["valid"])) + 1
    assert done.metrics["valid"] == pytest.approx(min(curve["valid"]), abs=1e-7)


def test_the_last_epochs_weights_are_kept_where_that_is_asked_for(
    run: tuple[RunConfig, Fitted], tmp_path: Path
) -> None:
    config, best = run
    whole = read_history(best.folder / "history.csv")["valid"]
    epochs = next(end for end in range(2, 9) if whole[end - 1] > min(whole[:end]))
    config = with_setting(with_setting(config, "fit.keep", "last"), "fit.epochs", epochs)
    done = fit(config, load_source(config.data), tmp_path / "run")
    curve = read_history(tmp_path / "run" / "history.csv")["valid"]
    assert curve == whole[:epochs]
    assert done.metrics["best_epoch"] == epochs
    assert done.metrics["valid"] == pytest.approx(curve[-1], abs=1e-7)


def test_the_same_seed_gives_the_same_run(run: tuple[RunConfig, Fitted], log: StepLog, tmp_path: Path) -> None:
    config, first = run
    source, second = load_source(config.data), StepLog()
    again = fit(config, source, tmp_path / "again", callbacks=[second]).folder
    assert first_difference(log.steps, second.steps) == ""
    assert same(weights(first.folder), weights(again))
    other = fit(with_setting(config, "fit.seed", 1), source, tmp_path / "other").folder
    assert not same(weights(again), weights(other))


def test_the_step_decay_is_the_prediction_networks_alone(graphs: Path) -> None:
    config = tiny_config(graphs, optim={"learning_rate": 0.004, "selection_learning_rate": 0.002, "decay_every": 3})
    source = load_source(config.data)
    task = source.dataset.task
    model = make_model(config, prepare_data(config, source).inputs)
    made = RunModule(model, task, config.optim).configure_optimizers()
    adam, scheduler = made["optimizer"], made["lr_scheduler"]
    rates = []
    for _ in range(7):
        rates.append([group["lr"] for group in adam.param_groups])
        adam.step()
        scheduler.step()
    assert [rate[0] for rate in rates] == [0.004] * 3 + [0.002] * 3 + [0.001]
    assert [rate[1] for rate in rates] == [0.002] * 7
    groups = [sum(w.numel() for w in group["params"]) for group in adam.param_groups]
    assert groups[1] == sum(w.numel() for w in model.policy.parameters())
    assert sum(groups) == sum(w.numel() for w in model.parameters())
    assert all(group["eps"] == 1e-3 for group in adam.param_groups)


def test_metrics_are_over_all_data_not_averaged_over_batches(run: tuple[RunConfig, Fitted]) -> None:
    config, done = run
    source = load_source(config.data)
    model = load_run(done.folder).build()
    metric = build_metric(source.dataset.task)
    loader = BatchLoader(source.dataset.graphs, source.dataset.splits[0].valid, batch_size=1000)
    with torch.no_grad():
        for batch in loader:
            metric.update(model(batch), batch.y)
    assert float(metric.compute()) == pytest.approx(done.metrics["valid"], abs=1e-6)


def test_node_level_tasks_train_too(tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "nodes.npz", node_level=True)
    config = tiny_config(path, fit={"epochs": 30}, optim={"learning_rate": 0.01})
    done = train(config, load_source(config.data), tmp_path / "run")
    curve = read_history(tmp_path / "run" / "history.csv")
    assert load_run(done.folder).facts.task.level == "node"
    assert min(curve["valid"]) < 0.4 * curve["valid"][0]


@pytest.mark.parametrize("precision", ["bf16-mixed", "64-true"])
def test_other_precisions_train(precision: str, graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, fit={"precision": precision, "epochs": 10}, optim={"learning_rate": 0.01})
    done = fit(config, load_source(config.data), tmp_path / "run")
    loss = read_history(done.folder / "history.csv")["loss"]
    assert loss[-1] < 0.5 * loss[0]


def test_early_stopping(graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(
        graphs, optim={"learning_rate": 0.0, "selection_learning_rate": 0.0}, fit={"patience": 3, "epochs": 50}
    )
    config = with_setting(config, "prediction.norm", "layer")
    done = fit(config, load_source(config.data), tmp_path / "run")
    assert done.metrics["epochs"] == 4


def test_folds_report_the_best_epoch_of_the_mean_curve(tmp_path: Path) -> None:
    config = tiny_config("csl-13", data={"split": "folds"}, fit={"epochs": 3, "calibration_batches": 2})
    source = load_source(config.data)
    few = replace(source, dataset=replace(source.dataset, splits=source.dataset.splits[:3]))
    done = train(config, few, tmp_path / "run")
    curves = np.array([read_history(tmp_path / "run" / f"fold-{k}" / "history.csv")["valid"] for k in range(3)])
    best = int(curves.mean(0).argmax())
    assert done.metrics["best_epoch"] == best + 1
    assert done.metrics["test"] == pytest.approx(curves[:, best].mean())
    assert done.metrics["test_deviation"] == pytest.approx(curves[:, best].std())
    assert len(done.metrics["folds"]) == 3


def test_a_folder_with_a_run_is_left_alone(graphs: Path, tmp_path: Path) -> None:
    config = tiny_config(graphs, fit={"epochs": 1})
    source = load_source(config.data)
    fit(config, source, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    with raises_naming(RunError, "--resume"):
        fit(config, source, tmp_path / "run")
    fit(config, source, tmp_path / "run", resume=True)
    assert {path: path.read_bytes() for path in before} == before


def test_a_model_with_votes_is_scored_on_each_of_them() -> None:
    class Voting(torch.nn.Module):
        def votes(self, batch: Batch) -> torch.Tensor:
            return torch.stack([batch.y - 1, batch.y + 3])

    batch = Batch(y=torch.tensor([[1.0], [2.0]]))
    outputs, targets = scored(Voting(), batch)
    assert outputs.flatten().tolist() == [0, 1, 4, 5]
    assert targets.flatten().tolist() == [1, 2, 1, 2]
    assert float((outputs - targets).abs().mean()) == 2  # the mean of the votes would have an error of 1
