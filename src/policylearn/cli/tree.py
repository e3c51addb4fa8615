"""The command's parsers as a tree: verbs below the command, actions below a verb."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from jsonargparse import ArgumentParser


def children(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The parsers of a command's verbs, or of a verb's actions, by their word."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def find(root: ArgumentParser, words: Sequence[str]) -> tuple[list[str], ArgumentParser]:
    """The parser that a command line ends in, and the words that lead there."""
    path, parser = [root.prog], root
    for word in words:
        if word not in children(parser):
            break
        path, parser = [*path, word], children(parser)[word]
    return path, parser


def walk(root: ArgumentParser, words: Sequence[str] = ()) -> Iterator[tuple[list[str], ArgumentParser]]:
    """Every parser from the one on that the words lead to, outer ones first, with the words that lead to it."""
    path, parser = find(root, words)
    yield path, parser
    for word in children(parser):
        yield from walk(root, [*path[1:], word])


def option_names(parser: ArgumentParser) -> Iterator[str]:
    """The long names of a parser's own options."""
    for action in parser._actions:
        yield from (name for name in action.option_strings if name.startswith("--"))


def shorten_usage(parser: ArgumentParser, command: str, most: int = 12) -> None:
    """Give a verb with very many options a usage line that can be read."""
    if len(parser._actions) > most and not children(parser):
        words = " ".join(
            str(action.metavar or action.dest).upper() for action in parser._actions if not action.option_strings
        )
        parser.usage = f"{command} {words} [options]".replace("  ", " ")
