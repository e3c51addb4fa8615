"""The page on the method points to the lines that it names."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "method.md"


def test_every_line_holds_what_the_page_says() -> None:
    links = re.findall(r"\[`(\w+)`\]\(([^)#]+)#L(\d+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(links) > 10
    wrong = {}
    for name, path, line in links:
        lines = (PAGE.parent / path).read_text(encoding="utf-8").splitlines()
        place = next(at for at, text in enumerate(lines, 1) if re.match(rf"\s*(def|class) {name}\b", text))
        if place != int(line):
            wrong[f"{path}#{name}"] = place
    assert wrong == {}, "set these line numbers"
