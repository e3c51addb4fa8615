"""Train one model on one split, from a configuration to a run folder."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import lightning
import torch
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from torch_geometric.data import Batch

from policylearn.data import BatchLoader, Dataset
from policylearn.data.atomic import write_text
from policylearn.fast import while_training
from policylearn.models import GraphModel
from policylearn.settings.run_config import FitConfig, RunConfig
from policylearn.settings.run_files import CURVES, HISTORY, METRICS, RunError
from policylearn.training.checkpoints import Checkpoints, newest_readable
from policylearn.training.curves import draw_curves
from policylearn.training.data_source import Source
from policylearn.training.datamodule import GraphDataModule
from policylearn.training.evaluation import measure
from policylearn.training.history import History
from policylearn.training.module import RunModule
from policylearn.training.prepared_data import PreparedData, prepare_data
from policylearn.training.runs import RunFacts, load_run, make_model, save_run
from policylearn.training.systems import model_settings

CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class Fitted:
    """What a finished training gives."""

    folder: Path
    metrics: dict[str, Any]
    history: History


def fit(
    config: RunConfig,
    source: Source,
    folder: Path,
    *,
    fold: int = 0,
    resume: bool = False,
    callbacks: Sequence[lightning.Callback] = (),
    every_epoch: tuple[str, ...] = ("valid",),
) -> Fitted:
    """Train on one split and write the run folder.

    Args:
        config: the run.
        source: its data.
        folder: where to write; it must be new, unless ``resume``.
        fold: which of the splits.
        resume: continue from the newest whole checkpoint in ``folder``; a finished run is given back as it is.
        callbacks: further Lightning callbacks, such as a progress bar.
        every_epoch: which parts are evaluated after each epoch.
    """
    settings = config.fit
    prepare(folder, resume=resume)
    history = History(higher_is_better=source.dataset.task.higher_is_better, patience=settings.patience)
    if resume and (folder / METRICS).exists():
        return Fitted(folder, load_run(folder).metrics, history)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    prepared = prepare_data(config, source, fold, listeners=callbacks)
    dataset, split, task = prepared.dataset, source.dataset.splits[fold], source.dataset.task
    torch.manual_seed(settings.seed)
    model = make_model(config, prepared.inputs)
    data = GraphDataModule(
        dataset,
        split,
        batch_size=settings.batch_size,
        evaluation_batch_size=settings.evaluation_batch_size or settings.batch_size,
        seed=settings.seed,
        samples=getattr(model, "bags_per_graph", 1),
        parts=every_epoch,
    )
    calibration = CalibrationBatches(data, settings.calibration_batches) if settings.calibration_batches else ()
    module = RunModule(
        model,
        task,
        config.optim,
        seed=settings.seed,
        calibration=calibration,
        parts=every_epoch,
        graphs=len(dataset.graphs),
    )
    checkpoints = folder / CHECKPOINTS
    checkpoints.mkdir(parents=True, exist_ok=True)
    trainer = make_trainer(
        config, folder, [history, Checkpoints(checkpoints, seconds=settings.checkpoint_seconds), *callbacks]
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        # Batches are cut from arrays in the main process: workers would only be slower.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*number of training batches.*")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        newest = newest_readable(checkpoints) if resume else None
        with while_training(model):
            trainer.fit(module, data, ckpt_path=newest, weights_only=True)
    assert history.best is not None, "there is at least one epoch"
    model.load_state_dict(history.best_weights)
    valid, test = (measure(model.cpu(), data.evaluation_loader(part), task) for part in (split.valid, split.test))
    metrics = {
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "best_epoch": history.best.epoch,
        "epochs": len(history.records),
        "valid": valid.value,
        "test": test.value,
        "seconds": sum(record.seconds for record in history.records),
        "cpu_seconds": sum(record.cpu_seconds for record in history.records),
        "seconds_this_session": time.perf_counter() - started,
        "parameters": count_parameters(model),
        **model_settings(config),
        **({} if test.picks is None else {"valid_mean_picks": valid.picks, "test_mean_picks": test.picks}),
    }
    if trainer.is_global_zero:
        write_text(folder / HISTORY, history.table())
        draw_curves(history.records, history.best, task, folder / CURVES)
        save_run(folder, config, describe(source, prepared, settings, fold, model), model, metrics)
    return Fitted(folder, metrics, history)


def prepare(folder: Path, *, resume: bool) -> None:
    """Make the run folder; one that holds a run already is left alone unless it is resumed."""
    if folder.exists() and any(folder.iterdir()) and not resume:
        raise RunError(f"{folder}: is not empty; add --resume to continue it, or choose another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)


def describe(
    source: Source, prepared: PreparedData, settings: FitConfig, fold: int, model: torch.nn.Module
) -> RunFacts:
    """What the run must remember of its data and machine."""
    dataset = source.dataset
    return RunFacts(
        task=dataset.task,
        node_features=source.node_features,
        edge_features=source.edge_features,
        featuriser="ogb" if source.molecules else None,
        dataset=describe_dataset(dataset),
        fold=fold if len(dataset.splits) > 1 else None,
        threads=torch.get_num_threads(),
        evaluation_batch_size=settings.evaluation_batch_size or settings.batch_size,
        depends_on_batch=cast(GraphModel, model).depends_on_batch,
        transforms=[transform.to_json() for transform in prepared.transforms],
        columns=prepared.columns,
    )


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """What the run must remember of its graphs."""
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "caveat": dataset.caveat,
        "graphs": len(dataset),
    }


def make_trainer(config: RunConfig, folder: Path, callbacks: list[lightning.Callback]) -> lightning.Trainer:
    """Lightning's trainer with our settings."""
    settings = config.fit
    return lightning.Trainer(
        max_epochs=settings.epochs,
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy="ddp" if settings.devices > 1 else "auto",
        precision=settings.precision,
        gradient_clip_val=config.optim.gradient_clip or None,
        callbacks=callbacks,
        logger=make_logger(settings, folder),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        log_every_n_steps=1,
    )


def make_logger(settings: FitConfig, folder: Path) -> Logger | bool:
    """The logger besides history.csv, if one is asked for."""
    if settings.logger == "tensorboard":
        return TensorBoardLogger(folder, name="", version="tensorboard")
    if settings.logger == "wandb":
        return WandbLogger(save_dir=folder, project="policylearn", name=folder.name)
    return False


def count_parameters(model: torch.nn.Module) -> dict[str, int]:
    """Weights of each network."""
    everything = sum(weight.numel() for weight in model.parameters())
    apart = getattr(model, "selection_parameters", None)
    selection = 0 if apart is None else sum(weight.numel() for weight in apart())
    return {"selection": selection, "prediction": everything - selection}


class CalibrationBatches(Iterable[Batch]):
    """The first few training batches, the same at every walk.

    Args:
        data: whose training graphs.
        count: how many batches.
    """

    def __init__(self, data: GraphDataModule, count: int) -> None:
        self.loader = BatchLoader(
            data.dataset.graphs, data.split.train, batch_size=data.batch_size, shuffle=True, seed=data.seed
        )
        self.count = count

    def __iter__(self) -> Iterator[Batch]:
        for _, batch in zip(range(self.count), self.loader, strict=False):
            yield batch
