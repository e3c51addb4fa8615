"""``policylearn train``: from a dataset, a packed file or a CSV of SMILES to a run folder."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser
from policylearn.cli.printing import say, spoken_notes, warn
from policylearn.cli.setting_options import add_settings, given_settings
from policylearn.cli.stopping import kept_in, stop_signals
from policylearn.settings.choices import COUNTING

if TYPE_CHECKING:
    import lightning
    from rich.console import Console

    from policylearn.prediction import Outcome
    from policylearn.prediction.baseline import Baseline
    from policylearn.training import RunConfig, Source, Trained

HELP = "train a model on a dataset, a packed .npz or a CSV of SMILES"
ABOUT = (
    "Train a model and write a run folder. Settings that are not given are the paper's for the dataset and the policy;"
    " for data that the paper does not use, they are the defaults shown below."
)

SHORTHANDS = {
    "policy": ("selection.name", "learned, random, full, none, degree or centrality (short for --selection.name)", str),
    "picks": ("selection.picks", "T, how many nodes are marked (short for --selection.picks)", int),
    "estimator": (
        "selection.estimator",
        "reinforce, rloo, straight_through, gapped, imle (or --selection.estimator)",
        str,
    ),
    "epochs": ("fit.epochs", "passes over the data (short for --fit.epochs)", int),
    "seed": ("fit.seed", "random seed of weights, data order and picks (short for --fit.seed)", int),
    "devices": ("fit.devices", "number of processes or GPUs (short for --fit.devices)", int),
    "accelerator": ("fit.accelerator", "cpu, gpu or auto (short for --fit.accelerator)", str),
    "smiles": ("data.smiles", "a CSV's column of molecules (short for --data.smiles)", str),
    "fold": ("data.fold", "one fold instead of all (short for --data.fold)", int),
    "on_error": ("data.on_error", "raise or skip, for broken rows of a CSV (short for --data.on_error)", str),
}


DIVERGED = 1
"""The exit code of a training that ended early because its loss was no number any more."""


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument(
        "dataset",
        type=str,
        help="a name (see 'policylearn datasets'), a packed .npz, or a table: .csv, .tsv, .smi, .sdf or .parquet",
    )
    parser.add_argument("--config", type=Path | None, default=None, help="a YAML to start from instead of the paper's")
    parser.add_argument("-o", "--output", type=Path | None, default=None, help="the run folder (default: below runs/)")
    parser.add_argument(
        "--ensemble",
        type=int,
        default=1,
        help="how many models to train, with different seeds; they answer as one, with a standard deviation",
    )
    parser.add_argument(
        "--no-baseline", action="store_true", help="do not train boosted trees on RDKit descriptors for comparison"
    )
    parser.add_argument("--resume", action="store_true", help="continue the run in that folder")
    parser.add_argument(
        "--ray",
        action="store_true",
        help="train in --devices processes of a Ray cluster (RAY_ADDRESS, or this machine)",
    )
    add_run_options(parser)


def add_run_options(parser: Parser) -> None:
    """Options that say what to train: shorthands, and one per setting."""
    parser.add_argument("--target", type=str, default=[], nargs="+", help="column(s) to predict")
    for name, (_, text, kind) in SHORTHANDS.items():
        parser.add_argument(f"--{name}", type=kind | None, default=None, help=text)
    add_settings(parser)


def run(options: Namespace) -> int:
    """Train, with a progress bar, and say where the run is."""
    from rich.console import Console

    from policylearn.training import load_source
    from policylearn.training.processes import is_first_process, join
    from policylearn.training.resources import check_device, with_possible_picks

    join()  # before anything can fail in one process alone
    console = Console(stderr=True, quiet=not is_first_process())
    config = make_config(options)
    if options.ensemble < 1:
        raise ValueError(f"'ensemble' must be >= 1 (got {options.ensemble})")
    if not options.ray:  # a cluster's devices are elsewhere
        check_device(config.fit)
    with console.status(f"loading {config.data.name}"):
        source = load_source(config.data)
    with spoken_notes(console):
        config = with_possible_picks(config, source.dataset)
        folder = options.output or default_folder(config, options.ensemble)
        announce(console, config, source, folder)
        with stop_signals(lambda: kept_in(folder, options.words)):
            return train_and_report(options, config, source, folder, console)


def train_and_report(options: Namespace, config: RunConfig, source: Source, folder: Path, console: Console) -> int:
    """Train, score, and print what came out; the exit code."""
    from rich.console import Console as Output

    from policylearn.cli.progress import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.settings.run_files import METRICS
    from policylearn.training import Trained, train, train_ensemble
    from policylearn.training.processes import is_first_process

    metric, first = source.dataset.task.metric, is_first_process()
    before = (folder / METRICS).stat().st_mtime_ns if (folder / METRICS).exists() else None
    with progress_bars(console, disable=not (first and console.is_terminal)) as progress:

        def callbacks_of(title: str) -> Sequence[lightning.Callback]:
            return [TrainingBar(progress, add_bar(progress, title), title, metric)] if first else []

        if options.ray:
            done = train_there(config, folder, members=options.ensemble, resume=options.resume)
        elif options.ensemble > 1:
            train_ensemble(config, source, folder, options.ensemble, resume=options.resume, callbacks_of=callbacks_of)
            done = Trained(folder, {})
        else:
            done = train(config, source, folder, resume=options.resume, callbacks_of=callbacks_of)
    if not first:
        return 0
    if before is not None and options.ensemble == 1 and (folder / METRICS).stat().st_mtime_ns == before:
        say(f"{folder}: was finished already, so nothing was trained", console)
    outcomes = finish_all(folder, source, config)
    baseline = leave_notes(folder, source, config, options)
    known = done if done.metrics else Trained(folder, outcomes[0].metrics)
    report(Output(), config, source, known, outcomes, baseline)
    return DIVERGED if any("diverged" in one.metrics for one in outcomes) else 0


def train_there(config: RunConfig, folder: Path, *, members: int, resume: bool) -> Trained:
    """Train on a Ray cluster, and read back what came out."""
    import json

    from policylearn.settings.run_files import METRICS
    from policylearn.training import Trained
    from policylearn.training.ray_training import train_on_ray

    train_on_ray(config, folder, members=members, resume=resume)
    found = folder / METRICS
    return Trained(folder, json.loads(found.read_text(encoding="utf-8")) if found.exists() else {})


def finish_all(folder: Path, source: Source, config: RunConfig) -> list[Outcome]:
    """Predictions, calibration and scores of the run, or of each fold."""
    from policylearn.prediction import finish

    folds = len(source.dataset.splits)
    if folds == 1 or config.data.fold is not None:
        return [finish(folder, source, fold=config.data.fold or 0)]
    return [finish(folder / f"fold-{fold}", source, fold=fold) for fold in range(folds)]


def make_config(options: Namespace) -> RunConfig:
    """The paper's settings for this dataset and policy (or those of --config), then what the user said."""
    from policylearn.settings.parsing import nested
    from policylearn.training import changed, read_config, run_config

    given = given_settings(options)
    for name, (key, _, _) in SHORTHANDS.items():
        value = getattr(options, name)
        given |= {} if value is None else {key: value}
    given |= {"data.target": options.target} if options.target else {}
    if options.config is None:
        return run_config(options.dataset, given, source="the command line")
    return changed(read_config(options.config), nested(given | {"data.name": options.dataset}), "the command line")


def leave_notes(folder: Path, source: Source, config: RunConfig, options: Namespace) -> Baseline | None:
    """Work out the baseline of a table, and write notes and a report into the folder of the run or of each fold."""
    import shlex

    from policylearn.explain.run_report import write_run_report
    from policylearn.prediction.baseline import fit_baseline
    from policylearn.prediction.run_notes import RunNotes

    folds = len(source.dataset.splits)
    whole = folds == 1 or config.data.fold is not None
    warnings = [source.report.summary()] if source.report is not None else []
    warnings += [source.dataset.caveat] if source.dataset.caveat else []
    baseline = None
    if source.report is not None and not options.no_baseline:
        baseline = fit_baseline(source, fold=config.data.fold or 0, seed=config.fit.seed)
    notes = RunNotes(f"policylearn train {shlex.join(options.words)}", warnings, baseline)
    for inner in [folder] if whole else [folder / f"fold-{fold}" for fold in range(folds)]:
        notes.save(inner)
        write_run_report(inner)
    return baseline if whole else None


def default_folder(config: RunConfig, members: int = 1) -> Path:
    """A folder below runs/ that says what was run."""
    data = Path(config.data.name).name.split(".")[0]
    target = f"-{'-'.join(config.data.target)}" if config.data.target else ""
    picks = f"-t{config.selection.picks}" if config.method in COUNTING else ""
    fold = "" if config.data.fold is None else f"-fold{config.data.fold}"
    together = f"-ensemble{members}" if members > 1 else ""
    return Path("runs") / f"{data}{target}-{config.method}{picks}{fold}-seed{config.fit.seed}{together}"


def announce(console: Console, config: RunConfig, source: Source, folder: Path) -> None:
    """Say what will be trained on what."""
    from policylearn.training.systems import memory_note

    dataset, task = source.dataset, source.dataset.task
    if source.report is not None:
        say(source.report.summary(), console)
        say(f"task: {source.explanation}", console)
        if source.split_note:
            say(f"split: {source.split_note}", console)
    if dataset.caveat:
        warn(f"{dataset.name}: {dataset.caveat}", console)
    sizes = " / ".join(
        str(len(part)) for part in (dataset.splits[0].train, dataset.splits[0].valid, dataset.splits[0].test)
    )
    folds = f", {len(dataset.splits)} folds" if len(dataset.splits) > 1 else ""
    better = "higher" if task.higher_is_better else "lower"
    say(
        f"{dataset.name}: {len(dataset)} graphs, {sizes} train / valid / test{folds}; {task.kind}, {task.metric}"
        f" ({better} is better); run folder {folder}",
        console,
    )
    note = memory_note(config, dataset.graphs)
    if note:
        console.print(f"{config.model}: {note}", highlight=False, markup=False, soft_wrap=True)


def report(
    console: Console,
    config: RunConfig,
    source: Source,
    done: Trained,
    outcomes: Sequence[Outcome] = (),
    baseline: Baseline | None = None,
) -> None:
    """The table at the end, and the folder."""
    from rich.table import Table

    metrics = done.metrics
    table = Table(title=f"{source.dataset.name}, {config.method}")
    for column in ("metric", "valid", "test", "epoch kept", "epochs", "seconds", "weights"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    deviation = f" ± {metrics['test_deviation']:.4f}" if "test_deviation" in metrics else ""
    table.add_row(
        metrics["metric"],
        f"{metrics['valid']:.4f}" if metrics["valid"] is not None else "-",
        f"{metrics['test']:.4f}{deviation}" if metrics["test"] is not None else "-",
        str(metrics["best_epoch"]),
        str(metrics["epochs"]),
        f"{metrics['seconds']:.0f}",
        f"{sum(metrics['parameters'].values()):,}",
    )
    if baseline is not None:
        figures = [f"{value:.4f}" if value is not None else "-" for value in (baseline.valid, baseline.test)]
        table.add_row(f"{metrics['metric']} of {baseline.name}", *figures, "", "", f"{baseline.seconds:.0f}", "")
    console.print(table)
    for line in coverage_lines(outcomes):
        say(line, console)
    say(f"run folder, with report.html: {done.folder}", console)


def coverage_lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How often the intervals or sets held the truth on the test part, all folds together."""
    measured = [(one.calibration, one.calibration.coverage) for one in outcomes if one.calibration is not None]
    known = [(found, coverage) for found, coverage in measured if coverage is not None]
    if not known:
        return
    labels = sum(coverage.labels for _, coverage in known)
    share = sum(coverage.share * coverage.labels for _, coverage in known) / labels
    size = sum(coverage.size * coverage.labels for _, coverage in known) / labels
    found, coverage = known[0]
    things = f"intervals of mean width {size:.3g}" if found.kind == "interval" else f"sets of {size:.2f} labels"
    yield f"{coverage.level:.0%} {things} (calibrated on valid) held {share:.1%} of {labels:,} labels of the test part"
    if math.isinf(size):
        needed = math.ceil(coverage.level / (1 - coverage.level) - 1e-9)  # so that the rank asked for exists
        yield f"intervals have no ends where validation has too few labels; {coverage.level:.0%} needs {needed} or more"


COMMAND = Command("train", HELP, add_options, run, about=ABOUT)
