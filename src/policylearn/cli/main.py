"""The command's entry: choose the verb, run it, turn bad input into one line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from jsonargparse import ArgumentParser, Namespace

from policylearn import __version__
from policylearn.cli import datasets, demo, theory

BAD_INPUT = 2


class Verb(Protocol):
    """What a verb's module offers; heavy imports belong inside `run`, so that ``--help`` is quick."""

    NAME: str
    HELP: str

    def add_options(self, parser: ArgumentParser) -> None:
        """Give the verb's parser its options."""

    def run(self, options: Namespace) -> int:
        """Do it and return the exit code; ``options.words`` is what followed the verb."""


VERBS: tuple[Verb, ...] = (datasets, demo, theory)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its words; None takes those it was called with.
    """
    verbs = {verb.NAME: verb for verb in VERBS}
    parser = ArgumentParser(
        prog="policylearn",
        description="Subgraph GNNs made cheap: learn which few marked copies of a graph to look at.",
        version=__version__,
        allow_abbrev=False,
    )
    commands = parser.add_subcommands(required=True, dest="verb")
    for verb in VERBS:
        of_verb = ArgumentParser(description=verb.HELP, allow_abbrev=False)
        # Filled after it was hung in: jsonargparse wants commands inside commands from the outside in.
        commands.add_subcommand(verb.NAME, of_verb, help=verb.HELP)
        verb.add_options(of_verb)
    words = sys.argv[1:] if argv is None else list(argv)
    options = parser.parse_args(words)
    try:
        chosen = options[options.verb]
        chosen.words = words[1:]
        return verbs[options.verb].run(chosen)
    except ValueError as error:
        if not raised_by_us(error.__traceback__):
            raise  # A fault of the program and not of the input: its traceback is needed.
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT


def raised_by_us(traceback: TracebackType | None) -> bool:
    """Whether the innermost frame is the package's own, which says why it refuses an input."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("policylearn.")
