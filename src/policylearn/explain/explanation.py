"""The page of new molecules: what a run says of each, how sure it is, and which atoms it looks at."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from policylearn.data.atomic import write_text
from policylearn.data.convert import open_rows
from policylearn.explain.picks import picked_answers, prediction_text
from policylearn.prediction.answer import Answer
from policylearn.prediction.answer_columns import label_names
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.table_reader import molecule_column
from policylearn.prediction.templates import render


def write_explanation(
    predictor: Predictor,
    source: str | Path,
    path: str | Path,
    *,
    smiles: str | None = None,
    most: int = 50,
    workers: int = 0,
) -> tuple[int, int]:
    """Write the page of a table of SMILES, of which it shows the first ``most`` rows.

    Gives how many these are, and how many of them have an error instead of an answer. The other arguments are those of
    `evaluate_table`.
    """
    source, path = Path(source), Path(path)
    if most < 1:
        raise ValueError(f"'most' must be >= 1 (got {most})")
    column = molecule_column(predictor, source, smiles)
    with open_rows(source, smiles=column) as rows:
        column = rows.smiles or column
        taken = list(islice(rows, most + 1))
    lines = {row.line: row.fields[column] for row in taken[:most] if not row.problem}
    errors = {row.line: row.problem for row in taken[:most] if row.problem}
    graphs, problems = predictor.prepare_molecules(list(lines.values()), workers=workers)
    answer = predictor.answer_prepared(graphs)
    errors |= {line: problems[at] for at, line in enumerate(lines) if at in problems}
    good = [line for at, line in enumerate(lines) if at not in problems]
    found = None if graphs is None else picked_answers(predictor, graphs)
    molecules = [] if found is None else [found.draw(at, lines[line], molecule=True) for at, line in enumerate(good)]
    told = [""] * len(good)
    if predictor.domain is not None and answer.near is not None:
        told = predictor.domain.warnings(answer.near)
    shown = [
        {
            "line": line,
            "said": prediction_text(predictor.task, answer.values[at]),
            "sure": uncertainty_text(predictor, answer, at),
            "warning": told[at],
            "molecule": one,
        }
        for at, (line, one) in enumerate(zip(good, molecules, strict=True))
    ]
    shown += [{"line": line, "molecule": None, "error": reason} for line, reason in errors.items()]
    text = render(
        "explanation.html",
        "explain",
        title=f"{source.name}: {', '.join(predictor.task.targets)}",
        run=str(predictor.run.folder),
        rows=sorted(shown, key=lambda row: row["line"]),
        picks=any(one.steps for one in molecules),
        more=most if len(taken) > most else 0,
    )
    write_text(path, text)
    return len(shown), len(errors)


def uncertainty_text(predictor: Predictor, answer: Answer, row: int) -> str:
    """The interval or set of a row in words, and its similarity; empty without both."""
    task, near, parts = predictor.task, answer.near, []
    if answer.lower is not None and answer.upper is not None:
        whose = [f"{target}: " if len(task.targets) > 1 else "" for target in task.targets]
        ends = zip(whose, answer.lower[row], answer.upper[row], strict=True)
        bounded = [f"{name}{low:.4g} to {high:.4g}" for name, low, high in ends if np.isfinite(high - low)]
        parts.append("90 % interval: " + (", ".join(bounded) or "none, the run has too few validation labels"))
    if answer.labels is not None:
        sets = [" or ".join(label_names(task, fits)) or "unlike any label" for fits in answer.labels[row]]
        named = zip(task.targets, sets, strict=True)
        parts.append("90 % set: " + ", ".join(f"{target}: {one}" for target, one in named))
    if near is not None and near.similarity[row] >= 0:  # NaN without fingerprints
        parts.append(f"similarity to the nearest training molecule: {near.similarity[row]:.2f}")
    return "; ".join(parts)
