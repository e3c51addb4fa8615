"""The page of new molecules: what a run says of each, how sure it is, and which atoms it looks at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from policylearn.data import DataError
from policylearn.data.atomic import write_text
from policylearn.data.convert import open_rows
from policylearn.explain.molecules import PickedMolecule, picked_molecules
from policylearn.explain.run_report import described, render
from policylearn.prediction.predictor import Answer, Predictor


@dataclass(frozen=True)
class ExplainedRow:
    """One row of the table: a molecule with its answer, or why there is none."""

    line: int
    said: str
    sure: str
    warning: str
    molecule: PickedMolecule | None
    error: str


def write_explanation(
    predictor: Predictor,
    source: str | Path,
    path: str | Path,
    *,
    smiles: str | None = None,
    most: int = 50,
    workers: int = 0,
) -> tuple[int, int]:
    """Write the page; give how many rows it shows, and how many of them have an error instead of an answer.

    Args:
        predictor: of a run on molecules.
        source: a table of SMILES.
        path: of the page.
        smiles: the column of molecules; None takes the name that it had in training.
        most: rows that are shown, from the top.
        workers: as in `Predictor.answer_molecules`.
    """
    source, path = Path(source), Path(path)
    if most < 1:
        raise ValueError(f"'most' must be >= 1 (got {most})")
    if predictor.run.facts.featuriser is None:
        raise DataError(f"{source}: the run was trained on graphs and cannot read molecules")
    column = smiles or predictor.run.config.data.smiles
    lines: dict[int, str] = {}
    errors: dict[int, str] = {}
    more = False
    with open_rows(source, smiles=column) as rows:
        column = rows.smiles or column
        for row in rows:
            if len(lines) + len(errors) == most:
                more = True
                break
            if row.problem:
                errors[row.line] = row.problem
            else:
                lines[row.line] = row.fields[column]
    texts = list(lines.values())
    answer, problems = predictor.answer_molecules(texts, workers=workers)
    errors |= {line: problems[at] for at, line in enumerate(lines) if at in problems}
    good = [line for at, line in enumerate(lines) if at not in problems]
    molecules = picked_molecules(predictor, [lines[line] for line in good])
    told = [""] * len(good)
    if predictor.domain is not None and answer.near is not None:
        told = predictor.domain.warnings(answer.near)
    shown = [
        ExplainedRow(
            line, described(predictor.task, answer.values[at]), sureness(predictor, answer, at), told[at], one, ""
        )
        for at, (line, one) in enumerate(zip(good, molecules, strict=True))
    ]
    shown += [ExplainedRow(line, "", "", "", None, reason) for line, reason in errors.items()]
    text = render(
        "explanation.html",
        title=f"{source.name}: {', '.join(predictor.task.targets)}",
        run=str(predictor.run.folder),
        rows=sorted(shown, key=lambda row: row.line),
        more=most if more else 0,
    )
    write_text(path, text)
    return len(shown), len(errors)


def sureness(predictor: Predictor, answer: Answer, row: int) -> str:
    """The interval or set of a row in words, and its similarity; empty without both."""
    near = answer.near
    similar = near is not None and bool(near.similarity[row] >= 0)  # NaN without fingerprints
    parts = [bounds_of(predictor, answer, row)]
    parts += [f"similarity to the nearest training molecule: {near.similarity[row]:.2f}"] if near and similar else []
    return "; ".join(part for part in parts if part)


def bounds_of(predictor: Predictor, answer: Answer, row: int) -> str:
    """The interval or set of a row in words; empty without calibration."""
    targets = predictor.task.targets
    if answer.lower is not None and answer.upper is not None:
        whose = [f"{target}: " if len(targets) > 1 else "" for target in targets]
        ends = zip(whose, answer.lower[row], answer.upper[row], strict=True)
        return "90 % interval: " + ", ".join(f"{name}{low:.4g} to {high:.4g}" for name, low, high in ends)
    if answer.labels is None:
        return ""
    names = predictor.task.classes or ("0", "1")
    sets = [
        " or ".join(name for name, fit in zip(names, fits, strict=True) if fit) or "unlike any label"
        for fits in answer.labels[row]
    ]
    return "90 % set: " + ", ".join(f"{target}: {one}" for target, one in zip(targets, sets, strict=True))
