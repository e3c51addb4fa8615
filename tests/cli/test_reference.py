"""The page about the command is what the parsers say."""

from __future__ import annotations

from pathlib import Path

from policylearn.cli.main import VERBS, build_parser
from policylearn.cli.reference import page
from policylearn.cli.tree import option_names, walk

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_what_the_parsers_say() -> None:
    remedy = "the command's options have changed; run: python -m policylearn.cli.reference docs/cli.md"
    assert PAGE.read_text(encoding="utf-8") == page(), remedy


def test_the_page_names_every_option_of_every_verb() -> None:
    text = page()
    for path, parser in walk(build_parser([verb.NAME for verb in VERBS])):
        assert len(path) == 1 or f"# {' '.join(path)}\n" in text
        missing = [name for name in option_names(parser) if name not in text and not name.endswith(("help", "version"))]
        assert missing == []
