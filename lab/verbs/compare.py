"""``python -m lab compare``: variants over datasets and paired seeds, with the standard error of every difference."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from lab.compare.plan import CompareJob, jobs_of, read_comparison
from lab.compare.runner import CompareRecord, load_records, perform
from lab.compare.strata import PairedRun, StrataPlan, stratified
from lab.compare.summary import summarise, to_markdown
from lab.ledger import run_jobs
from lab.settings import look_up, open_ledger
from lab.training_bars import training_bars
from lab.verbs import verb
from policylearn.cli.options import Flag, Output, Words
from policylearn.cli.printing import say
from policylearn.data.atomic import write_text


@verb("compare")
def compare(
    comparison: Path,
    /,
    *,
    output: Output = None,
    runs: Path = Path("runs/compare"),
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
        report: train nothing, and print the results so far.
        against: print differences to this variant instead of the YAML's reference, which the files keep.
        strata: also print differences paired over graphs, by properties of graphs: 'largest_ring:6' cuts after 6,
            'nodes:20,30' twice, and without cuts each value is a stratum. Properties: nodes, degree, rings,
            largest_ring, scaffold_seen, target, group (the column that data.group_column names).
    """
    chosen = read_comparison(comparison)
    base = against or chosen.reference
    look_up("variant", base, chosen.variants)
    folder = output or Path("results/compare") / chosen.name
    console = Console(stderr=True)
    if not report:
        jobs, ledger = jobs_of(chosen), open_ledger(folder)
        with training_bars("trainings", len(jobs), console) as (epoch_bar, advance):

            def train(job: CompareJob) -> CompareRecord:
                return perform(job, runs / chosen.name, epoch_bar(job.record, ""), ledger)

            run_jobs(ledger, jobs, train, after=lambda _job: advance())
    records = load_records(folder)
    if not records:
        say(f"{folder}: there is no record yet; run without --report first", console)
        return 1
    write_text(folder / "summary.md", to_markdown(summarise(records, chosen.reference), chosen.reference) + "\n")
    say(to_markdown(summarise(records, base), base))
    if strata:
        paired = [PairedRun(one.data, one.variant, one.seed, one) for one in records]
        say("\n" + stratified(paired, base, [StrataPlan.read(one) for one in strata]))
    return 0
