"""``python -m lab compare``: variants over datasets and paired seeds, with the standard error of every difference."""

from __future__ import annotations

import time
from pathlib import Path

from lab.verbs import verb
from policylearn.cli.options import Flag, Output, Words
from policylearn.cli.printing import say, spoken_notes
from policylearn.cli.stopping import stop_signals


@verb("compare")
def compare(
    comparison: Path,
    /,
    *,
    output: Output = None,
    runs: Path = Path("runs/compare"),
    equal_seconds: Flag = False,
    minutes: float | None = None,
    report: Flag = False,
    against: str | None = None,
    strata: Words = (),
) -> int:
    """Train every variant of a YAML on every dataset with every seed, once, and print paired differences.

    Start it several times at once to share the work, and once more after it was stopped to continue.

    Args:
        comparison: a YAML with reference, seeds, data and variants.
        output: where records go; results/compare/NAME by default.
        runs: where run folders go.
        equal_seconds: give all variants the reference's processor time, not its epochs.
        minutes: start no further training after this many minutes.
        report: train nothing, and print the results so far.
        against: print differences to this variant instead of the YAML's reference, which the files keep.
        strata: also print differences paired over graphs, by properties of graphs: 'largest_ring:6' cuts after 6,
            'nodes:20,30' twice. Properties: nodes, degree, rings, largest_ring, scaffold_seen, target.
    """
    from rich.console import Console

    from lab.compare import load_records, read_comparison, run_comparison, summarise, to_markdown
    from lab.compare.plan import CompareJob, check_variant, jobs_of
    from lab.compare.strata import StrataPlan, stratified
    from policylearn.cli.printing import add_bar, progress_bars
    from policylearn.cli.training_progress import TrainingBar
    from policylearn.data.atomic import write_text

    chosen = read_comparison(comparison)
    base = check_variant(chosen, against or chosen.reference)
    folder = output or Path("results/compare") / chosen.name
    console = Console(stderr=True)
    if not report:
        total = len(jobs_of(chosen))
        kept = "finished trainings and checkpoints are kept; call the same command again to continue"
        with spoken_notes(console), stop_signals(lambda: kept), progress_bars(console) as progress:
            trainings, epochs = add_bar(progress, "trainings", total), add_bar(progress, "epochs")

            def bar(job: CompareJob) -> list[TrainingBar]:
                return [TrainingBar(progress, epochs, job.record, "")]

            run_comparison(
                chosen,
                folder,
                runs / chosen.name,
                equal_seconds=equal_seconds,
                deadline=None if minutes is None else time.monotonic() + 60 * minutes,
                callbacks_of=bar,
                after=lambda _job: progress.advance(trainings),
            )
    records = load_records(folder)
    if not records:
        say(f"{folder}: there is no record yet; run without --report first", console)
        return 1
    write_text(folder / "summary.md", to_markdown(summarise(records, chosen.reference), chosen.reference) + "\n")
    say(to_markdown(summarise(records, base), base))
    if strata:
        say("\n" + stratified(records, base, [StrataPlan.read(one) for one in strata]))
    return 0
