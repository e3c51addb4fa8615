"""The command: find the verb, read its options, run it, and turn bad input into one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from signal import SIGINT
from types import TracebackType
from typing import Any

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnusedCliTokensError

from policylearn.cli.registry import VERBS
from policylearn.registry import import_file
from policylearn.wording import hint

BAD_INPUT, STOPPED = 2, 128 + SIGINT
PLUGIN, PLUGINS = "--plugin", "POLICYLEARN_PLUGINS"
SETTINGS, WORDS = "settings", "words"
"""Parameters of a verb that take settings of a run given as options (``--fit.epochs 3``), and all words as given."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``policylearn`` with these arguments; None takes those of the process."""
    about = (
        "Subgraph GNNs made cheap: learn which few marked copies of a graph to look at.\n\n"
        "To begin: 'policylearn demo', or 'policylearn train table.csv --target COLUMN' with a table of SMILES.\n\n"
        f"{PLUGIN} FILE before a verb imports a Python file that registers parts of your own ({PLUGINS} does the same)."
    )
    return run_command("policylearn", about, VERBS, argv)


def run_command(
    name: str, about: str, verbs: Mapping[str, Callable[..., Any]], argv: Sequence[str] | None = None
) -> int:
    """Run a command of several verbs, with one line for bad input.

    Args:
        name: of the command.
        about: its help.
        verbs: functions by name; a name of two words is a verb below a verb.
        argv: the arguments; None takes those of the process.
    """
    try:
        given = tuple(sys.argv[1:] if argv is None else argv)
        words = import_plugins(list(given))
        app = make_app(name, about, verbs)
        words, settings = take_settings(app, words)
        command, bound, ignored = app.parse_args(words, exit_on_error=False, print_error=False)
        more = {key: value for key, value in {SETTINGS: settings, WORDS: given}.items() if key in ignored}
        return command(*bound.args, **bound.kwargs, **more) or 0
    except KeyboardInterrupt:
        sys.stderr.write("stopped by SIGINT\n")
        return STOPPED
    except UnusedCliTokensError as error:
        complaint = f"unexpected argument '{(error.unused_tokens or [''])[0]}'; see --help"
    except MissingArgumentError as error:
        complaint = f"{str(error).rstrip('.')}; see '{' '.join([name, *(error.command_chain or ())])} --help'"
    except CycloptsError as error:
        complaint = str(error)
    except ValueError as error:
        if not is_our_error(error.__traceback__):
            raise  # a fault of the program and not of the input: its traceback is needed
        complaint = str(error)
    sys.stderr.write(f"error: {complaint}\n")
    return BAD_INPUT


def make_app(name: str, about: str, verbs: Mapping[str, Callable[..., Any]]) -> App:
    """The parser of a command."""
    app = App(
        name=name,
        help=about,
        version=f"{name} {version('policylearn')}",
        result_action="return_value",
        default_parameter=Parameter(negative_iterable=()),  # no --empty-NAME beside options that take several values
    )
    groups = {path.split()[0]: App(name=path.split()[0], result_action="return_value") for path in verbs if " " in path}
    for group in groups.values():
        app.command(group)
    for path, function in sorted(verbs.items()):
        first, _, second = path.partition(" ")
        if second:
            groups[first].command(function, name=second)
        elif first in groups:
            groups[first].default(function)
        else:
            app.command(function, name=path)
    return app


def import_plugins(words: list[str]) -> list[str]:
    """Import the files that the environment and the words name; gives the words without them."""
    for path in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
        import_file(path)
    rest, left = [], iter(words)
    for word in left:
        name, equals, path = word.partition("=")
        if name != PLUGIN:
            rest.append(word)
            continue
        path = path if equals else next(left, "")
        if not path:
            raise ValueError(f"{PLUGIN} needs a file: the path of a .py that registers your own parts")
        import_file(path)
    return rest


def take_settings(app: App, words: list[str]) -> tuple[list[str], dict[str, str]]:
    """The words without options that are settings of a run, and these by their dotted name.

    A verb with a parameter 'settings' takes any option that it does not declare as a setting.
    """
    chain, apps, rest = app.parse_commands(words)
    if not chain or chain[-1].startswith("-"):
        return words, {}
    declared = [name for argument in apps[-1].assemble_argument_collection() for name in argument.names]
    if f"--{SETTINGS}" not in declared or {"--help", "-h"} & set(rest):
        return words, {}
    kept, settings, seen, queue = list(chain), dict[str, str](), set[str](), list(rest)
    while queue:
        word = queue.pop(0)
        name, given, value = word.partition("=")
        plain = name.replace("_", "-")
        if not name.startswith("--") or plain in declared:
            kept.append(plain + given + value if name.startswith("--") else word)
        elif plain in seen:
            raise ValueError(f"'{name}' was given twice; give it once, several values as a list: {name} [a,b]")
        elif given or (queue and not queue[0].startswith("--")):
            seen.add(plain)
            settings[name.removeprefix("--").replace("-", "_")] = value if given else queue.pop(0)
        else:
            way_out = hint(name, declared, f"see '{' '.join([app.name[0], *chain])} --help'")
            raise ValueError(f"'{name}' needs a value; {way_out}")
    return kept, settings


def is_our_error(traceback: TracebackType | None) -> bool:
    """Whether the innermost frame is the package's own, which says why it refuses an input."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    name = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__", ""))
    return name.startswith(("policylearn", "lab."))
