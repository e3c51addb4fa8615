"""Run the notebooks of the documentation and write what they give: ``python -m lab.notebooks [NAME...]``.

Cells run in this process, without a Jupyter kernel: a test runs all notebooks in the time of a few imports.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
LONGEST = 2000
"""Characters of a value that is shown as text."""


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with new outputs; its cells run in an empty folder."""
    import matplotlib

    matplotlib.use("agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        cells = [run_cell(cell, namespace) if cell["cell_type"] == "code" else cell for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def run_cell(cell: dict[str, Any], namespace: dict[str, Any]) -> dict[str, Any]:
    """A cell with what it prints, draws and has as its last value."""
    source, printed = "".join(cell["source"]), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        value = run_command(source[1:]) if source.startswith("!") else run_code(source, namespace)
    outputs = [{"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())}] if printed.tell() else []
    outputs += [display(data) for data in (*drawn_figures(), *shown(value))]
    return {**cell, "execution_count": None, "outputs": outputs}


def run_command(words: str) -> Any:
    """A line such as ``!policylearn train ...``; it has no value."""
    from policylearn.cli import main

    _, *argv = shlex.split(words)
    if code := main(argv):
        raise RuntimeError(f"{words} ended with exit code {code}")
    return None


def run_code(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell; gives the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)


def drawn_figures() -> list[dict[str, Any]]:
    """The open figures of matplotlib as PNG; closes them."""
    from matplotlib import pyplot

    pictures = []
    for number in pyplot.get_fignums():
        file = io.BytesIO()
        pyplot.figure(number).savefig(file, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        pictures.append({"image/png": base64.b64encode(file.getvalue()).decode("ascii")})
    pyplot.close("all")
    return pictures


def shown(value: Any) -> list[dict[str, Any]]:
    """A value as Jupyter shows it."""
    if value is None:
        return []
    text = {"text/plain": lines(ADDRESS.sub("", repr(value))[:LONGEST])}
    return [{"text/html": lines(value._repr_html_()), **text} if hasattr(value, "_repr_html_") else text]


def display(data: dict[str, Any]) -> dict[str, Any]:
    """An output of a cell."""
    return {"output_type": "display_data", "metadata": {}, "data": data}


def lines(text: str) -> list[str]:
    """A text as notebooks store it."""
    return text.splitlines(keepends=True)


def printed_text(notebook: dict[str, Any]) -> list[str]:
    """What the cells print, without numbers, which differ from machine to machine, and without rules of tables."""
    outputs = [part for cell in notebook["cells"] for part in cell.get("outputs", ())]
    text = re.sub(r"[━─┃│┏┓┡┩╇┳└┘┴]+", " ", "".join("".join(part.get("text", ())) for part in outputs))
    return [re.sub(r"-?\d[\d.,]*(e-?\d+)?", "#", " ".join(line.split())) for line in text.splitlines() if line.strip()]


def main(names: Sequence[str]) -> None:
    """Run notebooks by name, all without one, and write them back."""
    os.environ.setdefault("COLUMNS", "110")
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            done = run_notebook(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
