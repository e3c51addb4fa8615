"""``policylearn train``: from a dataset, a packed file or a table of SMILES to a run folder."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policylearn.cli.options import Flag, GivenWords, Output, RunOptions, SettingOptions, make_config
from policylearn.cli.printing import add_bar, make_table, progress_bars, say, spoken_notes, warn
from policylearn.cli.registry import verb
from policylearn.cli.stopping import stop_signals

if TYPE_CHECKING:
    import lightning
    from rich.console import Console

    from policylearn.data import PackedGraphs
    from policylearn.prediction.outcome import Outcome
    from policylearn.settings import RunConfig
    from policylearn.training import Fitted, Source

DIVERGED = 1
"""The exit code of a training that ended early because its loss became NaN."""

MANY_NODES = 1000
"""A model with as many copies of a graph of so many nodes holds a full bag."""


@verb("train")
def train(
    dataset: str,
    /,
    *,
    run: RunOptions | None = None,
    output: Output = None,
    config: Path | None = None,
    ensemble: int = 1,
    network_only: Flag = False,
    resume: Flag = False,
    ray: Flag = False,
    settings: SettingOptions = None,
    words: GivenWords = (),
) -> int:
    """Train a model on a dataset, a packed .npz or a table of SMILES, and write a run folder.

    Settings that are not given are the paper's for the dataset and the model; data that the paper does not use has
    defaults. Every setting is an option too, such as --fit.batch_size 32: 'policylearn settings' lists them, and
    'policylearn settings MODEL' those of a model.

    Args:
        dataset: a name (see 'policylearn datasets'), a packed .npz, or a table: .csv, .tsv, .smi, .sdf or .parquet.
        run: short forms of common settings.
        output: the run folder; below runs/ by default.
        config: a YAML to start from instead of the paper's settings.
        ensemble: how many models to train, with different seeds; they answer as one, with a standard deviation.
        network_only: on tables, fit no kernel model and no boosted trees beside the network.
        resume: continue the run in that folder.
        ray: train in --devices processes of a Ray cluster (RAY_ADDRESS, or this machine).
        settings: settings by their dotted names.
        words: all words of the command.
    """
    from rich.console import Console

    from policylearn.training import load_source
    from policylearn.training.processes import check_device, is_first_process, join_process_group

    join_process_group()  # before anything can fail in one process alone
    console = Console(stderr=True, markup=False, quiet=not is_first_process())
    if network_only:
        settings = {**(settings or {}), "data.transforms.fingerprint": "null"}
    chosen = make_config(dataset, run, settings, config)
    if ensemble < 1:
        raise ValueError(f"'ensemble' must be >= 1 (got {ensemble})")
    if not ray:  # a cluster's devices are elsewhere
        check_device(chosen.fit)
    with console.status(f"loading {chosen.data.name}"):
        source = load_source(chosen.data)
    folder = output or default_folder(chosen, ensemble)

    def say_kept() -> str:
        from policylearn.training.run_folder import resume_hint  # imports Lightning, which takes seconds

        return resume_hint(folder, words)

    with spoken_notes(console), stop_signals(say_kept):
        announce(console, chosen, source, folder)
        runs = train_runs(chosen, source, folder, console, members=ensemble, resume=resume, ray=ray)
        if not is_first_process():
            return 0
        if not ray and is_finished(runs):  # Ray hands back runs as they lie in the folder, trained or not
            say(f"{folder}: was finished already, so nothing was trained", console)
            return 0
        return report(chosen, source, folder, runs, shlex.join(["policylearn", *words]))


def train_runs(
    config: RunConfig, source: Source, folder: Path, console: Console, *, members: int, resume: bool, ray: bool
) -> dict[Path, Sequence[Fitted]]:
    """Train under progress bars; the runs of each folder that answers: a run, each fold, or an ensemble."""
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.training import train, train_ensemble
    from policylearn.training.processes import is_first_process

    metric, first = source.dataset.task.metric, is_first_process()
    if ray:
        from policylearn.training.ray_training import train_on_ray

        train_on_ray(config, folder, members=members, resume=resume)
        # What the workers have left is read here, without their devices.
        resume, config = True, config.replace(fit=config.fit.replace(devices=1, accelerator="cpu"))
    with progress_bars(console, disable=not (first and console.is_terminal)) as progress:

        def callbacks_of(title: str) -> Sequence[lightning.Callback]:
            return [TrainingBar(progress, add_bar(progress, title), title, metric)] if first else []

        if members > 1:
            return {folder: train_ensemble(config, source, folder, members, resume=resume, callbacks_of=callbacks_of)}
        done = train(config, source, folder, resume=resume, callbacks_of=callbacks_of)
        return {one.folder: [one] for one in done.runs}


def is_finished(runs: dict[Path, Sequence[Fitted]]) -> bool:
    """Whether nothing was trained and every folder has its report, which is written last."""
    from policylearn.explain.run_report import REPORT

    trained = any(one.trained is not None for group in runs.values() for one in group)
    return not trained and all((inner / REPORT).exists() for inner in runs)


def report(config: RunConfig, source: Source, folder: Path, runs: dict[Path, Sequence[Fitted]], command: str) -> int:
    """Score, write what belongs into each folder, and print the table; the exit code."""
    import json

    from policylearn.data.atomic import write_text
    from policylearn.explain.run_report import write_run_report
    from policylearn.prediction.model_card import CARD, RunNotes, model_card
    from policylearn.prediction.outcome import finish, fold_figures, in_memory
    from policylearn.settings.run_files import METRICS
    from policylearn.training.reevaluation import recall
    from policylearn.training.runs import save_metrics

    warnings = [source.report.summary()] if source.report is not None else []
    warnings += [source.dataset.caveat] if source.dataset.caveat else []
    outcomes = []
    for inner, group in runs.items():
        group = [one if one.trained is not None else recall(one.folder, source) for one in group]
        outcome = finish(inner, group)
        RunNotes(command, warnings).save(inner)
        write_run_report(inner, parts=outcome.parts, predictor=outcome.predictor, graphs=in_memory(group[0]).graphs)
        write_text(inner / CARD, model_card(inner, outcome.parts))
        outcomes.append(outcome)
    metrics = outcomes[0].metrics
    if len(outcomes) > 1:
        metrics = fold_figures(json.loads((folder / METRICS).read_text(encoding="utf-8")), outcomes)
        save_metrics(folder, metrics)
    print_summary(config, source, folder, metrics, outcomes)
    return DIVERGED if any("diverged" in outcome.metrics for outcome in outcomes) else 0


def default_folder(config: RunConfig, members: int = 1) -> Path:
    """A folder below runs/ that says what was run."""
    from policylearn.training.runs import label_of

    data = Path(config.data.name).name.split(".")[0]
    target = f"-{'-'.join(config.data.target)}" if config.data.target else ""
    fold = "" if config.data.fold is None else f"-fold{config.data.fold}"
    together = f"-ensemble{members}" if members > 1 else ""
    return Path("runs") / f"{data}{target}-{label_of(config)}{fold}-seed{config.fit.seed}{together}"


def announce(console: Console, config: RunConfig, source: Source, folder: Path) -> None:
    """Say what will be trained on what."""
    dataset, task = source.dataset, source.dataset.task
    if source.report is not None:
        say(source.report.summary(), console)
        say(f"task: {source.explanation}", console)
    if source.split_note:
        say(f"split: {source.split_note}", console)
    if dataset.caveat:
        warn(f"{dataset.name}: {dataset.caveat}", console)
    first = dataset.splits[0]
    sizes = " / ".join(str(len(part)) for part in (first.train, first.valid, first.test))
    folds = f", {len(dataset.splits)} folds" if len(dataset.splits) > 1 else ""
    better = "higher" if task.higher_is_better else "lower"
    say(
        f"{dataset.name}: {len(dataset)} graphs, {sizes} train / valid / test{folds}; {task.kind}, {task.metric}"
        f" ({better} is better); run folder {folder}",
        console,
    )
    for note in system_notes(config, dataset.graphs):
        say(f"{config.model}: {note}", console)


def system_notes(config: RunConfig, graphs: PackedGraphs) -> Iterator[str]:
    """What a user should know of the system, and of one with a copy per node, what a step holds in memory."""
    import numpy as np

    from policylearn.models import chosen_system

    system, settings = chosen_system(config)
    if system.note:
        yield system.note
    most = getattr(settings, "max_rows", None)
    if most is None or system.copies(settings, MANY_NODES) < MANY_NODES:
        return
    rows = np.sort([size * system.copies(settings, size) for size in graphs.num_nodes.tolist()])
    size = min(config.fit.batch_size, len(rows))
    usual, width = round(float(rows.mean()) * size), getattr(settings, "channels", None)
    megabytes = "" if width is None else f", about {usual * width * 4 / 1e6:,.0f} MB per layer"
    yield (
        f"a batch of {size} graphs has about {usual:,} pairs of nodes{megabytes}, at worst {rows[-size:].sum():,}"
        f" (max_rows is {most:,}); for less, lower --fit.batch_size, or take a policy with few picks"
    )


def print_summary(
    config: RunConfig, source: Source, folder: Path, metrics: dict[str, Any], outcomes: Sequence[Outcome]
) -> None:
    """The table at the end, the coverage of intervals, and the folder."""
    from rich.console import Console

    from policylearn.prediction.blend import ALONE, FEWEST_ROWS
    from policylearn.training.runs import label_of

    def figure(value: float | None, digits: int = 4) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    console, metric = Console(markup=False), str(metrics["metric"])
    headings = ("metric", "valid", "test", "epoch kept", "epochs", "seconds", "weights")
    deviation = f" ± {figure(metrics['test_deviation'])}" if "test_deviation" in metrics else ""
    figures = (figure(metrics["valid"]), figure(metrics["test"]) + deviation)
    epochs = (str(metrics["best_epoch"]), str(metrics["epochs"]), figure(metrics["seconds"], 0))
    rows: list[tuple[str, ...]] = [(metric, *figures, *epochs, f"{sum(metrics['parameters'].values()):,}")]
    for name, found in metrics.get("alone", {}).items():
        rows.append((f"  {ALONE[name]} alone", figure(found.get("valid")), figure(found.get("test")), *[""] * 4))
    label = label_of(config)
    title = f"{source.dataset.name}, {'no picks' if label == 'none' else label}"
    console.print(make_table(headings, rows, title, numbers=True))
    shares = {name: sum(own) / len(own) for name, own in metrics.get("shares", {}).items()}
    if shares:
        shown = ", ".join(f"{ALONE[name]} {share:.0%}" for name, share in shares.items())
        say(f"shares in predictions: {shown}", console)
    elif config.data.transforms.get("fingerprint") is not None:
        say(f"no kernel model and boosted trees: they need {FEWEST_ROWS} training rows per target", console)
    for group, found in metrics.get("groups", {}).items():
        place = f"{config.data.group_column} {group or '(empty)'}"
        say(f"test {metric} where {place}: {figure(found['metric'])} ({found['rows']:,} rows)", console)
    coverage = describe_coverage(outcomes)
    if coverage:
        say(coverage, console)
    say(f"run folder, with report.html: {folder}", console)


def describe_coverage(outcomes: Sequence[Outcome]) -> str:
    """How often the intervals or sets held the truth on the test part, all folds together; empty without any."""
    from policylearn.prediction.calibration import labels_needed

    calibrations = [one.predictor.calibration for one in outcomes]
    known = [(found.kind, found.coverage) for found in calibrations if found is not None and found.coverage is not None]
    if not known:
        return ""
    labels = sum(coverage.labels for _, coverage in known)
    share, size = (
        sum(getattr(coverage, name) * coverage.labels for _, coverage in known) / labels for name in ("share", "size")
    )
    kind, level = known[0][0], known[0][1].level
    if math.isinf(size):
        bounded = set.intersection(*(set(found.bounded_levels()) for found in calibrations if found is not None))
        need = f"they need {labels_needed(level)} labels or more in the validation part"
        if level in bounded:
            return f"{level:.0%} intervals for some targets only: {need}"
        way_out = f"; 'predict --interval {max(bounded):g}' has some" if bounded else ""
        return f"no {level:.0%} intervals: {need}{way_out}"
    things = f"intervals of mean width {size:.3g}" if kind == "interval" else f"sets of {size:.2f} labels"
    return f"{level:.0%} {things} (calibrated on valid) held {share:.1%} of {labels:,} labels of the test part"
