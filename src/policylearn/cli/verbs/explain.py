"""``policylearn explain``: what a run says of new molecules, and which atoms it looks at."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.options import OutputPath
from policylearn.cli.printing import say
from policylearn.cli.registry import verb


@verb("explain")
def explain(
    run: Path,
    table: Path,
    /,
    *,
    output: OutputPath = Path("explanation.html"),
    smiles: str | None = None,
    most: int = 50,
) -> int:
    """Draw what a run looks at in new molecules, on one page.

    Args:
        run: the run folder, or a packed file.
        table: a table of SMILES, as for 'policylearn predict'.
        output: the HTML file.
        smiles: the column of molecules; its name in training by default.
        most: rows that are shown, from the top.
    """
    from policylearn.explain.explanation import write_explanation
    from policylearn.explain.run_report import load_quietly

    rows, failed = write_explanation(load_quietly(run), table, output, smiles=smiles, most=most, workers=1)
    said = f"; {failed} without an answer, with the reason" if failed else ""
    say(f"wrote {output}: {rows} rows{said}")
    return 1 if failed else 0
