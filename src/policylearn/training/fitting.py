"""Train one model on one split, from a configuration to a run folder."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import lightning
import torch
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger

from policylearn.data import BatchLoader, DataError, Dataset, PackedGraphs, Split
from policylearn.fast import keep_freed_memory
from policylearn.models import GraphModel, chosen_system, complete
from policylearn.settings.flat import flat
from policylearn.settings.provenance import versions
from policylearn.settings.run_config import FitConfig, RunConfig, with_setting
from policylearn.settings.run_files import HISTORY
from policylearn.training.checkpoints import CHECKPOINTS, Checkpoints
from policylearn.training.data_source import Source
from policylearn.training.evaluation import PartAnswers, answer_parts, torch_threads
from policylearn.training.history import History
from policylearn.training.module import DivergedError, RunModule
from policylearn.training.part_checks import check_parts, unscored_notes
from policylearn.training.prepared_data import PreparedData, prepare_data
from policylearn.training.pretrained import body_of, start_from
from policylearn.training.processes import (
    check_device,
    check_processes_agree,
    checkpoint_for_all,
    join_process_group,
    launched,
    note,
    on_first_process,
)
from policylearn.training.run_folder import ResumeState, new_folder, read_resume_state
from policylearn.training.runs import RunFacts, make_model, save_metrics, save_settings, save_weights


@dataclass(frozen=True)
class Trained:
    """What a training that has just ended holds in memory, so that nothing is read or computed twice."""

    model: torch.nn.Module
    graphs: PackedGraphs  # all graphs, with the structures that the model reads
    split: Split
    answers: dict[str, PartAnswers]  # predictions for the validation and test parts


@dataclass(frozen=True)
class Fitted:
    """A finished run: its folder, what ``metrics.json`` says, and what is in memory if it was trained just now."""

    folder: Path
    metrics: dict[str, Any]
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
            ``fit.epochs`` may be raised. A finished run is returned as it is.
        callbacks: further Lightning callbacks, such as a progress bar.
        every_epoch: which parts are evaluated after each epoch.
    """
    join_process_group()
    folder = Path(folder)
    check_device(config.fit)
    config = with_possible_picks(config, source.dataset.graphs)
    unscored = check_parts(source.dataset, source.dataset.splits[fold])
    with new_folder(folder, resume=resume), quiet_lightning(), torch_threads(config.fit.threads):
        check_processes_agree(facts_to_agree_on(config, source, fold))
        begun = on_first_process(lambda: read_resume_state(folder, config, source, fold) if resume else ResumeState())
        if begun.finished is not None:
            return Fitted(folder, begun.finished)
        for text in unscored_notes(unscored, source.dataset.task.metric):
            note(text)
        return train_split(config, source, folder, fold, begun, callbacks, every_epoch, unscored)


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
    prepared = prepare_data(config, source, fold, callbacks=callbacks)
    graphs, split, task = prepared.dataset.graphs, source.dataset.splits[fold], source.dataset.task
    torch.manual_seed(settings.seed)
    model = make_model(config, prepared.inputs)
    if settings.start is not None and begun.checkpoint is None:
        start_from(model, settings.start)
    checkpoints, keep = folder / CHECKPOINTS, settings.keep or "best"
    history = History(folder / HISTORY, higher_is_better=task.higher_is_better, keep=keep, patience=settings.patience)
    keeping = Checkpoints(checkpoints, seconds=settings.checkpoint_seconds)
    trainer = make_trainer(config, folder, [history, keeping, *callbacks])
    calibrated = 0 if settings.freeze else settings.calibration_batches
    module = RunModule(
        model,
        task,
        config.optim,
        seed=settings.seed,
        calibration=list(itertools.islice(training_batches(graphs, split, settings), calibrated)),
        parts=every_epoch,
        graphs=len(graphs),
        unscored=unscored,
        frozen=body_of(model) if settings.freeze else (),
    )
    facts = describe(source, prepared, settings, fold, model)
    if trainer.is_global_zero:
        checkpoints.mkdir(parents=True, exist_ok=True)
        if not begun.keeps_files:
            save_settings(folder, config, facts)
    batches, size = training_batches(graphs, split, settings, trainer), facts.evaluation_batch_size
    # Every process evaluates all graphs, so that a metric needs no exchange.
    evaluated = [BatchLoader(graphs, getattr(split, part), batch_size=size) for part in every_epoch]
    keep_freed_memory()  # a step leaves its memory for the next
    diverged: dict[str, int] = {}
    with checkpoint_for_all(begun.checkpoint) as checkpoint:
        try:
            trainer.fit(module, batches, evaluated, ckpt_path=checkpoint, weights_only=True)
        except DivergedError as error:
            if history.kept is None:
                raise
            which = "best so far" if keep == "best" else "last before it"
            note(f"{error}; training has ended, and the weights of epoch {history.kept.epoch} are kept, the {which}")
            diverged = {"diverged": error.epoch}
    assert history.kept is not None, "there is at least one epoch"
    model.load_state_dict(history.kept_weights)
    model.cpu()
    if trainer.is_global_zero:  # before anything is scored, which may fail
        save_settings(folder, config, facts)
        save_weights(folder, model)
    found = answer_parts(model, graphs, split, task, batch_size=size, unscored=unscored)
    system, settings_of_model = chosen_system(config)
    metrics = {
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "best_epoch": history.kept.epoch,
        "epochs": len(history.records),
        **{part: found[part].metric if part in found else None for part in ("valid", "test")},
        "seconds": sum(record.seconds for record in history.records),
        "cpu_seconds": sum(record.cpu_seconds for record in history.records),
        "parameters": count_parameters(model),
        "model": config.model,
        **system.facts(settings_of_model),
        **({"unscored": unscored} if unscored else {}),
        **diverged,
    }
    if trainer.is_global_zero:
        save_metrics(folder, metrics)
    return Fitted(folder, metrics, Trained(model, graphs, split, found))


def training_batches(
    graphs: PackedGraphs, split: Split, settings: FitConfig, trainer: lightning.Trainer | None = None
) -> BatchLoader:
    """The training graphs in an order that depends on seed and epoch alone; a process's share with a ``trainer``."""
    rank, world = (0, 1) if trainer is None else (trainer.global_rank, trainer.world_size)
    size, rest = divmod(settings.batch_size, world)
    if rest:
        raise DataError(f"'fit.batch_size' is {settings.batch_size}; use a multiple of the {world} processes")
    return BatchLoader(
        graphs, split.train, batch_size=size, shuffle=True, seed=settings.seed, rank=rank, world_size=world
    )


def with_possible_picks(config: RunConfig, graphs: PackedGraphs) -> RunConfig:
    """The configuration with no more picks than the largest graph has nodes, since no graph could take them."""
    largest = int(graphs.num_nodes.max())
    picks = complete(config).system.get("selection", {}).get("picks", 0)
    if picks <= largest:
        return config
    note(f"T = {picks} picks are more than any graph has nodes; T = {largest} is used, the nodes of the largest graph")
    return with_setting(config, "selection.picks", largest)


def describe(
    source: Source, prepared: PreparedData, settings: FitConfig, fold: int, model: torch.nn.Module
) -> RunFacts:
    """What the run must remember of its data and machine."""
    dataset = source.dataset
    return RunFacts(
        task=dataset.task,
        node_features=source.node_features,
        edge_features=source.edge_features,
        featuriser=source.featuriser,
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
    return {name: getattr(dataset, name) for name in ("name", "fingerprint", "caveat")} | {"graphs": len(dataset)}


def facts_to_agree_on(config: RunConfig, source: Source, fold: int) -> dict[str, Any]:
    """What all processes of a training must have in common; the data may have another name on another machine."""
    settings = {name: value for name, value in flat(config).items() if name != "data.name"}
    data = {"the data's fingerprint": source.dataset.fingerprint[:12], "the fold": fold}
    return {"the package's version": versions()["policylearn"], **data, **settings}


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


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Leave out Lightning's remarks on hardware, loaders and tips; its errors stay."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\..*")
            warnings.filterwarnings("ignore", message=".*LeafSpec.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
