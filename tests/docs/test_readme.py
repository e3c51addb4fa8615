"""Every Python block of the README, of CONTRIBUTING and of the pages in docs runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from policylearn.cli.registry import VERBS

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted((PROJECT / "docs").glob("**/*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


def python_blocks(page: Path) -> list[tuple[int, str]]:
    """Line and code of each block that is marked ``python``; others are text or for a shell."""
    text = page.read_text()
    return [
        (text[: match.start(2)].count("\n") + 1, match[2]) for match in FENCE.finditer(text) if match[1] == "python"
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page share one namespace, as a reader would run them, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, code in python_blocks(page):
        # Padded, so that a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + code, str(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_commands_name_verbs_that_exist(page: Path) -> None:
    shell = "".join(code for language, code in FENCE.findall(page.read_text()) if language == "sh")
    known = {name.split()[0] for name in VERBS}
    assert set(re.findall(r"^policylearn (\w+)", shell, re.MULTILINE)) <= known
    targets = re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"^make (?:\w+=\S+ )*(\w+)", shell, re.MULTILINE)) <= set(targets)


def test_the_readme_tells_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What its comments say that the examples print."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(1)
    (_, on_batch), (_, on_table) = python_blocks(PROJECT / "README.md")[:2]
    namespace: dict[str, Any] = {}
    exec(on_batch, namespace)
    low, high = namespace["model"](namespace["batch"]).sigmoid().flatten().tolist()
    assert low < 0.2
    assert high > 0.8
    assert namespace["model"].select(namespace["batch"]).roots.shape == (2, 2)
    capsys.readouterr()
    exec(on_table, namespace)
    explanation, *_ = capsys.readouterr().out.splitlines()
    assert f"# {explanation}" in on_table
    assert [twice.lines for twice in namespace["table"].report.duplicates] == [(2, 6)]
