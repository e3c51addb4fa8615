"""``policylearn evaluate``: a run's metric from its weights and data, or on new labelled rows."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Literal

from policylearn.cli.printing import make_table, say
from policylearn.cli.registry import verb


@verb("evaluate")
def evaluate(
    run: Path,
    labelled: Path | None = None,
    /,
    *,
    smiles: str | None = None,
    part: Literal["train", "valid", "test"] = "test",
    data: str | None = None,
) -> int:
    """Evaluate a run on new labelled rows, or on its own data.

    With a table of molecules that has the columns which the run predicts: scores by target, and how often its intervals
    contain the truth there; rows that cannot be scored are counted (exit code 1). Without one: the metric on the run's
    own data, under the conditions that it records, to the last digit.

    Args:
        run: the run folder, or a packed file.
        labelled: a table of new labelled molecules.
        smiles: its column of molecules; its name in training by default.
        part: of the run's own data.
        data: where the data is now, if it has moved; it must be the same data.
    """
    return evaluate_own_data(run, part, data) if labelled is None else evaluate_labelled(run, labelled, smiles)


def evaluate_labelled(run: Path, labelled: Path, smiles: str | None) -> int:
    """Score new rows, and print a table."""
    from rich.console import Console

    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.labelled import evaluate_table
    from policylearn.prediction.scores import NAMES

    result = evaluate_table(load_quietly(run), labelled, smiles=smiles, workers=1)
    names = [name for name in NAMES if any(name in scores for scores in result.scores.values())]
    rows = [
        (target, f"{result.labels[target]:,}", *(f"{scores[name]:.4f}" if name in scores else "-" for name in names))
        for target, scores in result.scores.items()
    ]
    headings = ("target", "labels", *(NAMES[name] for name in names))
    Console(markup=False).print(make_table(headings, rows, str(labelled), numbers=True))
    if result.coverage is not None and math.isfinite(result.coverage.size):  # else any label is inside
        say(f"{result.coverage.level:.0%} intervals or sets held {result.coverage.share:.1%} of the labels")
    for reason in result.failed[:5]:
        say(f"not scored: {reason}")
    if result.failed:
        say(f"{result.rows:,} rows scored, {len(result.failed):,} not")
    return 1 if result.failed else 0


def evaluate_own_data(run: Path, part: Literal["train", "valid", "test"], data: str | None) -> int:
    """Compute the metric on the run's own data, and print it in full."""
    from rich.console import Console

    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.blend import BLEND
    from policylearn.prediction.outcome import blended_metric
    from policylearn.training.packed_run import run_folder
    from policylearn.training.reevaluation import other_versions, reevaluate
    from policylearn.training.runs import load_run

    with run_folder(run) as folder, Console(stderr=True, markup=False).status("evaluating"):
        found, blend = load_run(folder), None
        if (folder / BLEND).exists():
            if part != "test":
                raise ValueError(
                    f"models beside the network of {run} have learned from the rows of '{part}', so that a figure there"
                    " says nothing; evaluate 'test', or new labelled rows"
                )
            blend = partial(blended_metric, load_quietly(folder))
        result = reevaluate(found, part=part, data=data, score=blend)
    say(f"{result.part} {result.metric}: {result.value!r} ({result.graphs:,} graphs)")
    if result.logged is not None and result.logged != result.value:
        others = other_versions(found.facts)
        reason = f"since then {others}" if others else f"it was trained on {found.facts.machine}"
        say(f"the run logged {result.logged!r}; {reason}")
    return 0
