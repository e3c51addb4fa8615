"""The command ``policylearn``: one file a verb."""

from policylearn.cli.main import main

__all__ = ["main"]
