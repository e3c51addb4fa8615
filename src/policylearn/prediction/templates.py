"""Pages and cards from the templates of a room."""

from __future__ import annotations

from typing import Any


def render(template: str, room: str, **values: Any) -> str:
    """Fill a template of ``pages`` in a room; in HTML every value is escaped unless it is one of our own drawings."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    pages = Environment(
        loader=PackageLoader(f"policylearn.{room}", "pages"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return pages.get_template(template).render(**values)
