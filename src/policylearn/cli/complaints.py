"""A parser's complaint in one line, with the nearest known word where one is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from jsonargparse import ArgumentParser

from policylearn.cli.tree import children, find, option_names
from policylearn.wording import nearest_word, one_line, unknown_setting, wrong_value


def explain(message: str, root: ArgumentParser, words: Sequence[str]) -> str:
    """What is wrong, what comes nearest, and where to read on.

    Args:
        message: the parser's own.
        root: of the whole command.
        words: the command line.
    """
    path, parser = find(root, words)
    command = " ".join(path)
    read_on = f"see '{command} --help'"
    unknown = re.match(r"unrecognized arguments: (\S+)", message)
    if unknown and unknown[1].startswith("-"):
        option = unknown[1].split("=")[0]
        return f"'{command}' has no option '{option}'; {nearest(option, option_names(parser), read_on)}"
    if unknown:
        return f"'{command}' takes no further word '{unknown[1]}'; {read_on}"
    setting = unknown_setting(message)
    if setting:
        # The selection network's settings are no options of their own; they are named as those of the other network.
        known = list(option_names(parser))
        known += [name.replace("--prediction.", "--selection.network.") for name in known]
        return f"there is no setting '{setting}'; {nearest(f'--{setting}', known, read_on)}"
    choice = re.match(r"argument \S+: invalid choice: '(.*?)' \(choose from", message)
    if choice and children(parser):
        return f"'{command}' has no verb '{choice[1]}'; {nearest(choice[1], children(parser), read_on)}"
    if 'expected "' in message and "was not provided" in message:
        return f"say what to do: {command} {' | '.join(children(parser))}; {read_on}"
    missing = re.match(r"the following arguments are required: (.*)", message)
    if missing:
        names = ", ".join(name.rsplit(".", 1)[-1].upper() for name in missing[1].split(", "))
        return f"'{command}' needs {names}; {read_on}"
    return f"{wrong_value(message) or one_line(message)}; {read_on}"


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint at the known word that comes closest."""
    close = nearest_word(word, known)
    return f"did you mean '{close}'?" if close else otherwise
