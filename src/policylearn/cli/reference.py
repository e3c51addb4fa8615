"""The page about the command, written from its parsers: ``python -m policylearn.cli.reference docs/cli.md``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from policylearn.cli.command import Parser, place_of
from policylearn.cli.main import ROOT
from policylearn.wording import markdown_table, one_line

HEAD = """# The command

Written from the command's own parsers by `python -m policylearn.cli.reference docs/cli.md`; change the help there.
Options are written in full, and a wrong one is answered with the nearest that exists. A command that refuses its input
says why in one line and ends with exit code 2.
"""
SETTINGS = """## Settings

Options of {verbs}, and the keys of a YAML:
`--selection.tau 2` on the command line is `selection: {{tau: 2}}` in a file. The settings of `prediction` are also
those of `selection.network`, the selection network. The defaults hold for data that the paper does not use; for its own
datasets the files in `configs/` say otherwise.
"""
OWN_GROUPS = ("positional arguments", "options")


def page() -> str:
    """The whole page."""
    parsers = {path: command.parser(path) for path, command in ROOT.walk()}
    with_settings = [path for path, parser in parsers.items() if settings_groups(parser)]
    verbs = [(f"[`{verb.name}`](#policylearn-{verb.name})", verb.help) for verb in ROOT.actions]
    parts = [HEAD, markdown_table(("verb", ""), verbs)]
    parts += [section(parser) for path, parser in parsers.items() if path != ROOT.name]
    if with_settings:
        parts.append(SETTINGS.format(verbs=" and ".join(f"`{path}`" for path in with_settings)))
        for group in settings_groups(parsers[with_settings[0]]):
            parts.append(f"### {group.title}\n\n{table(group._group_actions)}")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def section(parser: Parser) -> str:
    """A verb or an action of one."""
    about = one_line(parser.description or "")
    lines = ["#" * len(parser.prog.split()) + f" {parser.prog}", "", "```", parser.usage_line(), "```", ""]
    lines += [about[:1].upper() + about[1:].removesuffix(".") + ".", ""]
    own = [action for group in own_groups(parser) for action in group._group_actions if shown(action)]
    if own:
        lines += [table(own), ""]
    if settings_groups(parser):
        lines += ["Every one of the [settings](#settings) is an option too.", ""]
    return "\n".join(lines)


def table(actions: Iterable[argparse.Action]) -> str:
    """One line per option: how it is written, and what it does."""
    rows = [
        (f"`{written(action)}`", one_line(action.help or "").replace("%%", "%")) for action in actions if shown(action)
    ]
    return markdown_table(("", ""), rows)


def written(action: argparse.Action) -> str:
    """How an option is written, the same with every version of Python."""
    name = place_of(action).split(" ", 1)[-1]
    if not action.option_strings:
        return name
    value = "" if action.nargs == 0 else f"{name} [{name} ...]" if action.nargs == "+" else name
    return f"{', '.join(action.option_strings)} {value}".strip()


def shown(action: argparse.Action) -> bool:
    """Whether an option belongs on the page; help is everywhere."""
    return action.help != argparse.SUPPRESS and "--help" not in action.option_strings


def own_groups(parser: Parser) -> list[argparse._ArgumentGroup]:
    """The groups of a verb's own options."""
    return [group for group in parser._action_groups if group.title in OWN_GROUPS]


def settings_groups(parser: Parser) -> list[argparse._ArgumentGroup]:
    """The groups of options that are settings of a run."""
    groups = [group for group in parser._action_groups if group.title not in OWN_GROUPS]
    return [group for group in groups if any(map(shown, group._group_actions))]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m policylearn.cli.reference docs/cli.md")
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
