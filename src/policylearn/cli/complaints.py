"""A parser's complaint in one line, with the nearest known word where one is unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from jsonargparse import ArgumentParser

from policylearn.cli.tree import children, find, option_names


def one_line(message: str, root: ArgumentParser, words: Sequence[str]) -> str:
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
    inner = re.search(r"does not accept option '(.+?)'", message)
    if inner:
        return f"there is no setting '{inner[1]}'; {nearest(f'--{inner[1]}', option_names(parser), read_on)}"
    choice = re.match(r"argument \S+: invalid choice: '(.*?)' \(choose from", message)
    if choice and children(parser):
        return f"'{command}' has no verb '{choice[1]}'; {nearest(choice[1], children(parser), read_on)}"
    if 'expected "' in message and "was not provided" in message:
        return f"say what to do: {command} {' | '.join(children(parser))}; {read_on}"
    missing = re.match(r"the following arguments are required: (.*)", message)
    if missing:
        names = ", ".join(name.rsplit(".", 1)[-1].upper() for name in missing[1].split(", "))
        return f"'{command}' needs {names}; {read_on}"
    network = re.match(r'Parser key "([^"]+)":.*?Option \'([^\']+)\' is not accepted', message, re.DOTALL)
    if network:
        setting = ".".join(network.groups())
        # The selection network's settings are no options of their own; they are named as those of the other network.
        known = [name.replace("--prediction.", f"--{network[1]}.") for name in option_names(parser)]
        return f"there is no setting '{setting}'; {nearest(f'--{setting}', known, read_on)}"
    return f"{wrong_value(message) or ' '.join(message.split())}; {read_on}"


def wrong_value(message: str) -> str | None:
    """A value of the wrong kind: the setting, what it must be, what it is."""
    key = re.match(r'Parser key "(.+?)":', message)
    given = re.search(r"(?:Got|Given) value: (.*)", message)
    kinds = list(dict.fromkeys(readable(kind) for kind in re.findall(r"Expected an? (.+?)(?:\. Got|$)", message, re.M)))
    wanted = [kind for kind in kinds if kind != "NoneType"]
    if not (key and given and wanted):
        return None
    return f"'{key[1]}' must be {' or '.join(wanted)} (got {given[1]})"


def readable(kind: str) -> str:
    """A Python type in words."""
    literal = re.fullmatch(r"(?:typing\.)?Literal\[(.*)\]", kind)
    if literal:
        return f"one of {literal[1]}".replace("'", "")
    plain = re.fullmatch(r"<class '(?:[\w.]+\.)?(\w+)'>", kind)
    names = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "dict": "a mapping"}
    return names.get(plain[1], plain[1]) if plain else kind


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """The known words that come closest: those that begin alike, those whose last part is alike, those that look so."""
    names = list(known)
    ends = {name.lstrip("-").rsplit(".", 1)[-1]: name for name in reversed(names)}
    close = [name for name in names if len(word) > 2 and name.startswith(word)][:1]
    close += difflib.get_close_matches(word, names, 1, cutoff=0.75)
    close += [ends[end] for end in difflib.get_close_matches(word.lstrip("-").rsplit(".", 1)[-1], list(ends), 1)]
    return f"did you mean '{close[0]}'?" if close else otherwise
