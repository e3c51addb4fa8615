"""The site builds strictly, needs nothing from outside, and its pages are short."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from policylearn.cli.registry import VERBS

PROJECT = Path(__file__).parents[2]
PAGES = sorted((PROJECT / "docs").glob("**/*.md"))
MOST_WORDS = 750
"""Two screens, besides tables and code."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a broken link or anchor, or a page outside the navigation, fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_loaded_from_outside(site: Path) -> None:
    away = r"""["']?(?:https?:)?//"""
    sources = rf"<(?:script|img|iframe|source)\b[^>]*\bsrc={away}|<link\b[^>]*\bhref={away}"
    loading = re.compile(rf"{sources}|(?:url\(|@import ){away}")
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 50
    assert [path.name for path in files if loading.search(path.read_text(encoding="utf-8"))] == []


def test_every_verb_notebook_and_package_has_a_page(site: Path) -> None:
    verbs = {f"cli/{name.split()[0]}.html" for name in VERBS}
    notebooks = {f"notebooks/{path.stem}.html" for path in (PROJECT / "docs" / "notebooks").glob("*.ipynb")}
    assert len(notebooks) == 5
    missing = [name for name in verbs | notebooks if not (site / name).is_file()]
    assert missing == []
    assert 'id="policylearn.bags.Selection"' in (site / "reference" / "bags.html").read_text(encoding="utf-8")
    assert "--molecule-timeout" in (site / "cli" / "serve.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_a_page_fits_on_two_screens(page: Path) -> None:
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(re.sub(r"\]\([^)]*\)", "]", "\n".join(prose)).split()) <= MOST_WORDS
