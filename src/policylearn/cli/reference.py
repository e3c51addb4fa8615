"""The page about the command, written from its parsers: ``python -m policylearn.cli.reference docs/cli.md``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from jsonargparse import ArgumentParser

from policylearn.cli.main import VERBS, build_parser
from policylearn.cli.tree import children, walk
from policylearn.wording import markdown_table

HEAD = """# The command

Written from the command's own parsers by `python -m policylearn.cli.reference docs/cli.md`; change the help there.
Options are written in full, and a wrong one is answered with the nearest that exists. A command that refuses its input
says why in one line and ends with exit code 2.
"""
SETTINGS = """## Settings

Options of {verbs}, and the keys of a YAML:
`--selection.tau 2` on the command line is `selection: {{tau: 2}}` in a file. The defaults hold for data that the paper
does not use; for its own datasets the files in `configs/` say otherwise.
"""
OWN_GROUPS = ("positional arguments", "options")
HEADINGS = ("", "", "default")


def page() -> str:
    """The whole page."""
    root = build_parser([verb.NAME for verb in VERBS])
    parsers = {" ".join(path): parser for path, parser in walk(root)}
    with_settings = [command for command, parser in parsers.items() if settings_groups(parser)]
    parts = [HEAD, verbs_table(root)]
    parts += [section(command, parser) for command, parser in parsers.items() if parser is not root]
    if with_settings:
        parts.append(SETTINGS.format(verbs=" and ".join(f"`{command}`" for command in with_settings)))
        for group in settings_groups(parsers[with_settings[0]]):
            parts.append(f"### {group.title}\n\n{table(group._group_actions)}")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def verbs_table(root: ArgumentParser) -> str:
    """One line per verb."""
    assert [verb.NAME for verb in VERBS] == list(children(root))
    return markdown_table(("verb", ""), [(f"[`{verb.NAME}`](#policylearn-{verb.NAME})", verb.HELP) for verb in VERBS])


def section(command: str, parser: ArgumentParser) -> str:
    """A verb or an action of one."""
    own = [action for group in own_groups(parser) for action in group._group_actions if shown(action)]
    words = [f"[{name_of(action)}]" if action.nargs == "?" else name_of(action) for action in own if is_word(action)]
    if children(parser):
        actions = " | ".join(children(parser))
        required = any(isinstance(a, argparse._SubParsersAction) and a.required for a in parser._actions)
        words.append(actions if required else f"[{actions}]")
    options = ["[options]"] if not all(map(is_word, own)) else []
    lines = [f"{'#' * len(command.split())} {command}", "", "```", " ".join([command, *words, *options]), "```", ""]
    about = sentence(parser.description or "")
    lines += [about[:1].upper() + about[1:].removesuffix(".") + ".", ""]
    if own:
        lines += [table(own), ""]
    if settings_groups(parser):
        lines += ["Every one of the [settings](#settings) is an option too.", ""]
    return "\n".join(lines)


def table(actions: Iterable[argparse.Action]) -> str:
    """One line per option: how it is written, what it does, what holds without it."""
    rows = [
        (f"`{written(action)}`", sentence(action.help or ""), default_of(action)) for action in filter(shown, actions)
    ]
    return markdown_table(HEADINGS, rows)


def written(action: argparse.Action) -> str:
    """How an option is written, the same with every version of Python."""
    if is_word(action):
        return name_of(action)
    value = argparse.HelpFormatter("")._format_args(action, name_of(action))
    return f"{', '.join(action.option_strings)} {value}".strip()


def is_word(action: argparse.Action) -> bool:
    """Whether a value is told by its place instead of by an option."""
    return not action.option_strings


def name_of(action: argparse.Action) -> str:
    """What stands for a value."""
    return str(action.metavar or action.dest.rsplit(".", 1)[-1]).upper()


def shown(action: argparse.Action) -> bool:
    """Whether an option belongs on the page: help is everywhere, and actions have sections of their own."""
    is_help = any(name.endswith("help") for name in action.option_strings)
    return not (is_help or isinstance(action, argparse._SubParsersAction))


def default_of(action: argparse.Action) -> str:
    """What holds where an option is not given."""
    if is_word(action) and action.required:
        return "needed"
    default = action.default
    if default in (None, argparse.SUPPRESS, "") or (isinstance(default, (list, tuple, dict)) and not default):
        return ""
    if isinstance(default, (list, tuple)):
        return f"`{' '.join(map(str, default))}`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def sentence(text: str) -> str:
    """Help text in one line."""
    return re.sub(r"\s+", " ", text).strip()


def own_groups(parser: ArgumentParser) -> list[argparse._ArgumentGroup]:
    """The groups of a verb's own options."""
    return [group for group in parser._action_groups if group.title in OWN_GROUPS]


def settings_groups(parser: ArgumentParser) -> list[argparse._ArgumentGroup]:
    """The groups of options that are settings of a run."""
    groups = [group for group in parser._action_groups if group.title not in OWN_GROUPS]
    return [group for group in groups if any(map(shown, group._group_actions))]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m policylearn.cli.reference docs/cli.md")
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
