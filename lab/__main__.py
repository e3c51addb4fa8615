"""``python -m lab VERB``."""

import sys

from lab.verbs import bench, compare, reproduce, sweep, theory
from policylearn.cli.command import Command
from policylearn.cli.main import run_command

ROOT = Command(
    "python -m lab",
    "Reproduce the paper's tables, check its statements, compare and measure.",
    actions=(reproduce.COMMAND, compare.COMMAND, sweep.COMMAND, theory.COMMAND, bench.COMMAND),
)


def main(argv: list[str] | None = None) -> int:
    """Run the command; ``argv`` is as in `run_command`."""
    return run_command(ROOT, argv)


if __name__ == "__main__":
    sys.exit(main())
