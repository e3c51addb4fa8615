"""The command ``policylearn``: one file per verb."""

from policylearn.cli.main import main

__all__ = ["main"]
