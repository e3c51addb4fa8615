"""``python -m policylearn.studies.theory`` runs all checks and writes their markdown table."""

from __future__ import annotations

import sys

from policylearn.studies.theory.checks import CHECKS, check_table


def main() -> int:
    """Run every check; the exit code is 1 if one fails."""
    found = [check() for check in CHECKS.values()]
    sys.stdout.write(check_table(found) + "\n")
    return int(any(check.holds is False for check in found))


if __name__ == "__main__":
    sys.exit(main())
