"""Pages with generated parts: text between two marks."""

from __future__ import annotations

from pathlib import Path


def replace_between(path: Path, begin: str, text: str, end: str) -> None:
    """Write a text between two marks of a page."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{path}: has no '{begin.strip()}' with '{end}' behind it; add both where the text belongs")
    path.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
