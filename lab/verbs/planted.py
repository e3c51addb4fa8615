"""``python -m lab planted``: find the small part of a large sparse graph that decides its label."""

from __future__ import annotations

from pathlib import Path

from lab.ledger import Ledger, read_record, run_jobs
from lab.planted import PlantedConfig, PlantedRecord, planted_table, run_planted, training_sizes
from lab.verbs import verb
from policylearn.cli.options import Flag, Numbers, OutputPath, Words
from policylearn.cli.printing import say


@verb("planted")
def planted(
    *,
    policies: Words = ("learned", "none", "random", "degree"),
    picks: Numbers = (1, 2, 5),
    seeds: Numbers = (0,),
    sizes: Numbers = (),
    graphs: Numbers = (),
    steps: int = 800,
    output: OutputPath = Path("results/planted"),
    report: Flag = False,
) -> int:
    """Train on small graphs with a planted wheel, test on larger ones, and print accuracy, time and memory.

    Runs that have a record are skipped.

    Args:
        policies: who picks.
        picks: values of T; without picks there is one run.
        seeds: of the runs.
        sizes: nodes of the test graphs; 200, 1,000, 10,000 and 100,000 by default.
        graphs: how many of each size; 500, 500, 100 and 20 by default.
        steps: of a training.
        output: folder of the records.
        report: train nothing, and print the results so far.
    """
    tests = {str(n): count for n, count in zip(sizes, graphs, strict=True)} or PlantedConfig().tests
    jobs = [
        PlantedConfig(policy, count, seed, steps, nodes=training_sizes(count), tests=tests)
        for seed in seeds
        for policy in policies
        for count in ((0,) if policy == "none" else picks)
    ]
    if not report:
        run_jobs(Ledger(output), jobs, run_planted)
    records = [read_record(path, PlantedRecord) for path in sorted(output.glob("*.json"))]
    if not records:
        say(f"{output}: there is no record yet; run without --report first")
        return 1
    say(planted_table(records))
    return 0
