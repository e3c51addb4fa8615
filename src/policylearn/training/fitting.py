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
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
from torch_geometric.data import Batch

from policylearn.data import BatchLoader, Dataset, PackedGraphs, Split
from policylearn.fast import keep_freed_memory
from policylearn.models import GraphModel, chosen_system, complete
from policylearn.settings.flat import flat
from policylearn.settings.provenance import versions
from policylearn.settings.run_config import FitConfig, RunConfig, with_setting
from policylearn.settings.run_files import CURVES, HISTORY
from policylearn.training.checkpoints import CHECKPOINTS, Checkpoints
from policylearn.training.curves import draw_curves
from policylearn.training.data_source import Source
from policylearn.training.datamodule import GraphDataModule
from policylearn.training.evaluation import PartAnswers, answer_part
from policylearn.training.history import History
from policylearn.training.memory import check_memory
from policylearn.training.module import DivergedError, RunModule
from policylearn.training.part_checks import check_parts, unscored_notes
from policylearn.training.prepared_data import PreparedData, prepare_data
from policylearn.training.pretrained import FrozenEncoder, start_from
from policylearn.training.processes import agree, by_first, check_device, checkpoint_for_all, join, launched, note
from policylearn.training.quiet import quiet_lightning
from policylearn.training.run_folder import ResumeState, look_into, new_folder
from policylearn.training.runs import (
    OGB,
    OGB_OF_PARENTS,
    RunFacts,
    make_model,
    save_metrics,
    save_settings,
    save_weights,
)


@dataclass(frozen=True)
class Trained:
    """What a training that has just ended holds in memory, so that nothing is read or computed twice.

    Args:
        model: with the weights that were kept.
        graphs: all graphs with the structures that the model reads.
        split: which of them it learned from.
        answers: what it says of the validation and test parts.
    """

    model: torch.nn.Module
    graphs: PackedGraphs
    split: Split
    answers: dict[str, PartAnswers]


@dataclass(frozen=True)
class Fitted:
    """What a finished run gives.

    Args:
        folder: of the run.
        metrics: as ``metrics.json`` has them.
        history: of the epochs.
        trained: what is still in memory; None where the run had been finished before.
    """

    folder: Path
    metrics: dict[str, Any]
    history: History
    trained: Trained | None = None


def fit(
    config: RunConfig,
    source: Source,
    folder: str | Path,
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
        resume: continue from the newest whole checkpoint in ``folder``, which must be of the same data and settings;
            ``fit.epochs`` may be raised. A finished run is given back as it is.
        callbacks: further Lightning callbacks, such as a progress bar.
        every_epoch: which parts are evaluated after each epoch.
    """
    join()
    folder = Path(folder)
    check_device(config.fit)
    config = with_possible_picks(config, source.dataset.graphs)
    unscored = check_parts(source.dataset, source.dataset.splits[fold])
    with new_folder(folder, resume=resume), quiet_lightning():
        agree(what_is_trained(config, source, fold))
        begun = by_first(lambda: look_into(folder, config, source, fold) if resume else ResumeState())
        if begun.finished is not None:
            return Fitted(folder, begun.finished, make_history(config, source))
        for text in unscored_notes(unscored, source.dataset.task.metric):
            note(text)
        return train_split(config, source, folder, fold, begun, callbacks, every_epoch, unscored)


def with_possible_picks(config: RunConfig, graphs: PackedGraphs) -> RunConfig:
    """The configuration with no more picks than the largest graph has nodes, since no graph could take them."""
    largest = int(graphs.num_nodes.max())
    picks = complete(config).system.get("selection", {}).get("picks", 0)
    if picks <= largest:
        return config
    note(f"T = {picks} picks are more than any graph has nodes; T = {largest} is used, the nodes of the largest graph")
    return with_setting(config, "selection.picks", largest)


def train_split(
    config: RunConfig,
    source: Source,
    folder: Path,
    fold: int,
    begun: ResumeState,
    callbacks: Sequence[lightning.Callback],
    every_epoch: tuple[str, ...],
    unscored: dict[str, str],
) -> Fitted:
    """Train, keep the best weights, then score what can be scored."""
    settings = config.fit
    if settings.threads:
        torch.set_num_threads(settings.threads)
    prepared = prepare_data(config, source, fold, listeners=callbacks)
    dataset, split, task = prepared.dataset, source.dataset.splits[fold], source.dataset.task
    if settings.check_memory and settings.accelerator == "cpu":
        check_memory(config, dataset, split, lambda: make_model(config, prepared.inputs))
    torch.manual_seed(settings.seed)
    model = make_model(config, prepared.inputs)
    if settings.start is not None and begun.checkpoint is None:
        start_from(model, settings.start)
    frozen = [FrozenEncoder(model)] if settings.freeze else []
    data = GraphDataModule(
        dataset,
        split,
        batch_size=settings.batch_size,
        evaluation_batch_size=settings.evaluation_batch_size or settings.batch_size,
        seed=settings.seed,
        parts=every_epoch,
    )
    calibrates = settings.calibration_batches and not settings.freeze
    calibration = CalibrationBatches(data, settings.calibration_batches) if calibrates else ()
    module = RunModule(
        model,
        task,
        config.optim,
        seed=settings.seed,
        calibration=calibration,
        parts=every_epoch,
        graphs=len(dataset.graphs),
        unscored=unscored,
    )
    checkpoints = folder / CHECKPOINTS
    history = make_history(config, source, folder / HISTORY)
    keeping = Checkpoints(checkpoints, seconds=settings.checkpoint_seconds)
    trainer = make_trainer(config, folder, [history, keeping, *frozen, *callbacks])
    facts = describe(source, prepared, settings, fold, model)
    if trainer.is_global_zero:
        checkpoints.mkdir(parents=True, exist_ok=True)
        if not begun.keeps_files:
            save_settings(folder, config, facts)
    started = time.perf_counter()
    with checkpoint_for_all(begun.checkpoint) as checkpoint:
        diverged = run_trainer(trainer, module, data, history, checkpoint)
    assert history.kept is not None, "there is at least one epoch"
    model.load_state_dict(history.kept_weights)
    model.cpu()
    if trainer.is_global_zero:  # before anything is scored, which may fail
        save_settings(folder, config, facts)
        save_weights(folder, model)
        draw_curves(history.records, history.kept, task, folder / CURVES)
    found = {
        part: answer_part(model, data.evaluation_loader(rows), task, scores=part not in unscored)
        for part, rows in (("valid", split.valid), ("test", split.test))
        if len(rows)
    }
    system, settings_of_model = chosen_system(config)
    metrics = {
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "best_epoch": history.kept.epoch,
        "epochs": len(history.records),
        **{part: found[part].metric if part in found else None for part in ("valid", "test")},
        "seconds": sum(record.seconds for record in history.records),
        "cpu_seconds": sum(record.cpu_seconds for record in history.records),
        "seconds_this_session": time.perf_counter() - started,
        "parameters": count_parameters(model),
        "model": config.model,
        **system.facts(settings_of_model),
        **({"unscored": unscored} if unscored else {}),
        **({} if diverged is None else {"diverged": diverged}),
    }
    if trainer.is_global_zero:
        save_metrics(folder, metrics)
    return Fitted(folder, metrics, history, Trained(model, dataset.graphs, split, found))


def run_trainer(
    trainer: lightning.Trainer, module: RunModule, data: GraphDataModule, history: History, checkpoint: Path | None
) -> int | None:
    """Train; the epoch in which the loss ceased to be a number, None where it did not.

    Where no epoch was whole by then, there is nothing to keep, and the `DivergedError` is passed on.
    """
    with warnings.catch_warnings():
        # Batches are cut from arrays in the main process: workers would only be slower.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*number of training batches.*")
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        keep_freed_memory()  # a step leaves its memory for the next
        try:
            trainer.fit(module, data, ckpt_path=checkpoint, weights_only=True)
        except DivergedError as error:
            if history.kept is None:
                raise
            which = "best so far" if history.keep == "best" else "last before it"
            note(f"{error}; training has ended, and the weights of epoch {history.kept.epoch} are kept, the {which}")
            return error.epoch
    return None


def make_history(config: RunConfig, source: Source, path: Path | None = None) -> History:
    """What keeps the figures of each epoch and the best weights."""
    better, fit = source.dataset.task.higher_is_better, config.fit
    return History(higher_is_better=better, keep=fit.keep or "best", patience=fit.patience, path=path)


def describe(
    source: Source, prepared: PreparedData, settings: FitConfig, fold: int, model: torch.nn.Module
) -> RunFacts:
    """What the run must remember of its data and machine."""
    dataset = source.dataset
    return RunFacts(
        task=dataset.task,
        node_features=source.node_features,
        edge_features=source.edge_features,
        featuriser=None if not source.molecules else OGB_OF_PARENTS if source.parents else OGB,
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


def what_is_trained(config: RunConfig, source: Source, fold: int) -> dict[str, Any]:
    """What all processes of a training must have in common; the data may have another name on another machine."""
    data = {
        "the package's version": versions()["policylearn"],
        "the data's fingerprint": source.dataset.fingerprint[:12],
    }
    settings = {name: value for name, value in flat(config).items() if name != "data.name"}
    return {**data, "the fold": fold, **settings}


def make_trainer(config: RunConfig, folder: Path, callbacks: list[lightning.Callback]) -> lightning.Trainer:
    """Lightning's trainer with our settings; a launcher has decided on the number of processes."""
    settings, launch = config.fit, launched()
    return lightning.Trainer(
        max_epochs=settings.epochs,
        accelerator=settings.accelerator,
        devices=settings.devices if launch is None else launch.local,
        num_nodes=1 if launch is None else launch.machines,
        strategy="ddp" if settings.devices > 1 or launch is not None else "auto",
        plugins=None if launch is None else TorchElasticEnvironment(),
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
