"""Pages of the site that are not files in docs: verbs, packages, notebooks, and files that pages link to."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).parents[1]
DOCS = PROJECT / "docs"
COPIES = {
    "RESULTS.md": "results.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "lab/findings.md": "findings.md",
    "README.md": "index.md",
}
"""Where pages of the project that lie outside docs are on the site."""
ROOMS = ("", "data", "bags", "nn", "policies", "models", "fast", "training", "prediction", "explain", "settings")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
SHORT_CELL, LONG_CELL = 16, 40
"""Characters: up to so many a cell of a table is not broken, from so many on it has a least width."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put a page per verb and per package into the reference."""
    reference = next(part["Reference"] for part in config.nav or [] if "Reference" in part)
    reference[:] = [
        {"The command": ["cli.md", *({name: f"cli/{name}.md"} for name in verbs())]},
        {"Python": [{room_name(room): f"reference/{room or 'policylearn'}.md"} for room in ROOMS]},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for name in [file.src_uri for file in files if file.src_uri.endswith(".py")]:
        files.remove(files.src_uris[name])
    pages = dict(made_pages())
    linked = {target for text in [*pages.values(), *map(read, DOCS.glob("**/*.md"))] for target in sources(text)}
    pages |= {source_page(name): HIDDEN + f"# `{name}`\n\n{fenced(read(PROJECT / name), name)}" for name in linked}
    for name, text in pages.items():
        inclusion = InclusionLevel.NOT_IN_NAV if name.startswith("source/") else InclusionLevel.UNDEFINED
        files.append(File.generated(config, name, content=text, inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links to files outside of docs lead to their pages."""
    name = page.file.src_uri
    origin = next((file for file, to in COPIES.items() if to == name), "") if name != "index.md" else ""
    here = posixpath.dirname(origin or f"docs/{name}")
    markdown = markdown.replace("<details>", '<details markdown="1">')
    parts = FENCED.split(markdown)  # code is left alone
    parts[::2] = [LINK.sub(lambda link: moved(link, here, name), part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Mark short and long cells of tables, so that on a phone figures stay on one line and sentences keep a width."""
    return re.sub(r"<(t[dh])>(.*?)</t[dh]>", sized_cell, html, flags=re.DOTALL)


def sized_cell(cell: re.Match[str]) -> str:
    """A cell with the class that says how much text it holds."""
    length = len(re.sub(r"<[^>]+>", "", cell[2]))
    kind = "short" if length <= SHORT_CELL else "long" if length >= LONG_CELL else ""
    return f'<{cell[1]} class="{kind}">{cell[2]}</{cell[1]}>' if kind else cell[0]


def on_post_page(output: str, **_: Any) -> str:
    """Lead links to a line of a source to that line; MkDocs does not know these anchors."""
    return re.sub(r'href="([^"#]+)" data-line="(\d+)"', r'href="\1#__codelineno-0-\2"', output)


def moved(link: re.Match[str], here: str, page: str) -> str:
    """A link of a file in the folder `here`, as it has to be on the page."""
    target, anchor = posixpath.normpath(posixpath.join(here, link[1])), link[2] or ""
    if target in COPIES:
        to = COPIES[target]
    elif target.endswith(".ipynb"):
        to = target.removeprefix("docs/").replace(".ipynb", ".md")
    elif target.startswith("docs/") and not target.endswith(".py"):
        to = target.removeprefix("docs/")
    elif (PROJECT / target).is_file() and target.endswith((".py", ".json", ".cff", "LICENSE")):
        to = source_page(target)
    else:
        return link[0]
    to = posixpath.relpath(to, posixpath.dirname(page) or ".")
    return f"]({to}){{ data-line={anchor[2:]} }}" if re.fullmatch(r"#L\d+", anchor) else f"]({to}{anchor})"


def sources(text: str) -> Iterator[str]:
    """Files outside the site that a text links to: code and records."""
    for target, _ in LINK.findall(text):
        name = posixpath.normpath(posixpath.join("docs", target))
        if name.endswith((".py", ".json")) and (PROJECT / name).is_file():
            yield name


def source_page(name: str) -> str:
    """Where a file is shown."""
    return f"source/{name}.md"


def made_pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that is made from something else than a page."""
    for name, to in COPIES.items():
        if to != "index.md":
            yield to, read(PROJECT / name)
    for name, text in verbs().items():
        yield f"cli/{name}.md", text
    for room in ROOMS:
        module = f"policylearn.{room}".strip(".")
        yield f"reference/{room or 'policylearn'}.md", f"# {module}\n\n::: {module}\n"
    for path in sorted(DOCS.glob("notebooks/*.ipynb")):
        yield f"notebooks/{path.stem}.md", notebook_page(path)


def room_name(room: str) -> str:
    """A package as users import it."""
    return f"policylearn.{room}".strip(".")


def verbs() -> dict[str, str]:
    """A page per verb, made from the parser."""
    from policylearn.cli.main import make_app
    from policylearn.cli.registry import VERBS

    app = make_app("policylearn", "", VERBS)
    pages = {}
    for name in sorted({verb.split()[0] for verb in VERBS}):
        text = app[name].generate_docs(output_format="markdown", usage_name=f"policylearn {name}")
        text = re.sub(r"^## Table of Contents\n.*?(?=^\*\*)", "", text, flags=re.MULTILINE | re.DOTALL)
        pages[name] = text.replace(f"# {name}\n", f"# policylearn {name}\n", 1)
    return pages


def notebook_page(path: Path) -> str:
    """A notebook as Markdown, with what its cells gave."""
    parts = []
    for cell in json.loads(read(path))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else fenced(text, ".sh" if text[0] == "!" else ".py"))
        parts += [shown(output) for output in cell.get("outputs", ())]
        if len(parts) == 1:
            parts.append(f'<a href="{path.name}" download>Download the notebook</a>')
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any]) -> str:
    """An output of a cell as Markdown or HTML."""
    data = {kind: "".join(lines) for kind, lines in output.get("data", {}).items()}
    if "text/html" in data:
        return f'<div class="output">{data["text/html"]}</div>'
    if "image/svg+xml" in data:
        return f'<div class="output">{data["image/svg+xml"]}</div>'
    if "image/png" in data:
        picture = data["image/png"].strip()
        return f'<div class="output"><img alt="What the cell draws" src="data:image/png;base64,{picture}"></div>'
    return fenced("".join(output.get("text", data.get("text/plain", ""))), "")


def fenced(text: str, name: str) -> str:
    """A block of code, highlighted by the ending of its file's name."""
    language = {".py": "python", ".json": "json", ".sh": "sh"}.get(posixpath.splitext(name)[1] or name, "text")
    numbers = ' linenums="1"' if "/" in name else ""
    return f"````{language}{numbers}\n{text.rstrip()}\n````"


def read(path: Path) -> str:
    """The text of a file."""
    return path.read_text(encoding="utf-8")
