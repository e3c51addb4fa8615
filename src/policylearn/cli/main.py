"""The command's entry: choose the verb, run it, turn bad input into one line."""

from __future__ import annotations

import sys
from argparse import ArgumentError
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Protocol

from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

from policylearn import __version__
from policylearn.cli import bench, datasets, demo, evaluate, info, predict, reproduce, sweep, theory, train
from policylearn.cli.complaints import explain
from policylearn.cli.tree import shorten_usage

BAD_INPUT = 2


class Verb(Protocol):
    """What a verb's module offers; heavy imports belong inside its functions, so that ``--help`` is quick.

    A module may also have ``ABOUT``, which its help shows instead of ``HELP``.
    """

    NAME: str
    HELP: str

    def add_options(self, parser: ArgumentParser) -> None:
        """Give the verb's parser its options."""

    def run(self, options: Namespace) -> int:
        """Do it and return the exit code; ``options.words`` is what followed the verb."""


VERBS: tuple[Verb, ...] = (train, predict, evaluate, sweep, info, datasets, demo, theory, reproduce, bench)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its words; None takes those it was called with.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser(words[:1])
    try:
        options = parser.parse_args(words)
    except ArgumentError as error:
        sys.stderr.write(f"error: {explain(str(error), parser, words)}\n")
        raise SystemExit(BAD_INPUT) from None
    try:
        chosen = options[options.verb]
        chosen.words = words[1:]
        return {verb.NAME: verb for verb in VERBS}[options.verb].run(chosen)
    except ValueError as error:
        if not raised_by_us(error.__traceback__):
            raise  # A fault of the program and not of the input: its traceback is needed.
        sys.stderr.write(f"error: {error}\n")
        return BAD_INPUT


def build_parser(filled: Collection[str]) -> ArgumentParser:
    """The whole command's parser.

    Args:
        filled: verbs that get their options; those of the others would only cost time.
    """
    set_parsing_settings(docstring_parse_attribute_docstrings=True)  # the settings' help is written beside them
    parser = ArgumentParser(
        prog="policylearn",
        description="Subgraph GNNs made cheap: learn which few marked copies of a graph to look at.",
        version=__version__,
        allow_abbrev=False,
        exit_on_error=False,
    )
    commands = parser.add_subcommands(required=True, dest="verb")
    for verb in VERBS:
        about = getattr(verb, "ABOUT", verb.HELP)
        of_verb = ArgumentParser(description=about, allow_abbrev=False, exit_on_error=False)
        # Filled after it was hung in: jsonargparse wants commands inside commands from the outside in.
        commands.add_subcommand(verb.NAME, of_verb, help=verb.HELP)
        if verb.NAME in filled:
            verb.add_options(of_verb)
            shorten_usage(of_verb, f"policylearn {verb.NAME}")
    return parser


def raised_by_us(traceback: TracebackType | None) -> bool:
    """Whether the innermost frame is the package's own, which says why it refuses an input."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("policylearn.")
