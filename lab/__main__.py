"""``python -m lab VERB``."""

import sys
from collections.abc import Sequence

from lab.verbs import VERBS
from policylearn.cli.main import run_command

ABOUT = "Reproduce the paper's tables, check its statements, compare and measure."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; ``argv`` is as in `run_command`."""
    return run_command("python -m lab", ABOUT, VERBS, argv)


if __name__ == "__main__":
    sys.exit(main())
