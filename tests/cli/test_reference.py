"""The page about the command is what the parsers say."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.main import ROOT
from policylearn.cli.reference import page

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_what_the_parsers_say() -> None:
    remedy = "the command's options have changed; run: python -m policylearn.cli.reference docs/cli.md"
    assert PAGE.read_text(encoding="utf-8") == page(), remedy


def test_the_page_names_every_option_of_every_verb() -> None:
    text = page()
    for path, command in ROOT.walk():
        assert command is ROOT or f"# {path}\n" in text
        hidden = ("--help", "--version", "--selection.network.")
        names = [name for name in command.parser(path).long_names() if not name.startswith(hidden)]
        assert [name for name in names if name not in text] == []
