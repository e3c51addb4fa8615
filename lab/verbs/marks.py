"""``python -m lab marks``: what marks do for molecules with a large ring, in figures and drawn."""

from __future__ import annotations

from pathlib import Path

from lab.marks import marked_run
from lab.pictures import draw_panels
from lab.verbs import verb
from policylearn.cli.options import Output
from policylearn.cli.printing import say
from policylearn.wording import markdown_table


@verb("marks")
def marks(
    *runs: Path,
    picks: int = 2,
    ring: int = 6,
    drawn: int = 4,
    output: Output = None,
) -> None:
    """Print how the error falls with each mark, for molecules with and without a large ring, and draw some.

    Molecules of the test and validation parts count. The first of the test part are drawn, in the order of the data.

    Args:
        runs: folders of trained runs with picks that predict one number.
        picks: T; may be larger than in training.
        ring: a ring of more atoms is large.
        drawn: how many molecules are drawn.
        output: the PNG; nothing is drawn without.
    """
    found = [marked_run(folder, picks, ring) for folder in runs]
    headings = ("run", f"ring > {ring}", "molecules", f"MAE with 0 to {picks} marks", "a mark on the ring")
    say(markdown_table(headings, [row for one in found for row in one.rows()]))
    if output is not None:
        say(str(draw_panels([panel for one in found for panel in one.panels(drawn)], output, columns=drawn)))
