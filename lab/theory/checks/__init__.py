"""Every statement of the paper as a check that runs, over ranges of parameters; their order is that of the paper."""

from lab.theory.checks import families, random_policies, regular, hand_built  # noqa: I001, F401 - in the paper's order
from lab.theory.checks.record import CHECKS, HEADINGS, Check, check_table

__all__ = ["CHECKS", "HEADINGS", "Check", "check_table"]
