"""What a model or a run does other than one might expect."""

from __future__ import annotations


class RunNote(UserWarning):
    """Said once, when it happens: the command prints it, Python shows it as a warning."""
