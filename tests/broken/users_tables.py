"""Seeded tables with what users have in theirs: odd names and numbers, salts, metals, splits without a part."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.broken.inputs import MOLECULES, BrokenFile, metal_cage

NUMBERS: tuple[Callable[[int], str], ...] = (
    lambda at: "",
    lambda at: "" if at < 12 else f"{at}.5",
    lambda at: f"{1e8 + at / 4:.2f}",
    lambda at: f"{-1e15 + at}",
    lambda at: str(9007199254740993 + at),
    lambda at: f"id-{10**20 + at}",
    lambda at: f"\u2212{at}.5",
    lambda at: f'"{12_010 + at:,}"',
    lambda at: f'"{1_234_567 + at:,}.5"',
    lambda at: f'"{at},5"',
    lambda at: f"{1.7e308 - at * 1e306}",
    lambda at: f"{at * 1e-320}",
    lambda at: f"{3e38 + at * 1e35}",
    lambda at: f"{at * 1e-30}",
    lambda at: f"{at}\u00a0000",
    lambda at: f"> {at}",
    lambda at: "same",
)
"""Cells of a target: empty, far from zero, ids, other signs of minus and of thousands, near the ends of precision."""
NAMES = (
    "value",
    "a[/red]",
    "[bold]x",
    "[link=https://example.org]x[/link]",
    "{x}",
    "%s",
    "a b",
    "\u202ex",
    "=1+1",
    "x" * 300,
)
SALTS = (
    "[Na+].CC(=O)[O-]",
    "Cl.CCN",
    "CCO.CCO",
    "[Na+].[Cl-]",
    "C[N+](C)(C)C.[I-]",
    "[NH4+].[NH4+].[O-]C([O-])=O",
    "O.O.O",
)


def users_table(draw: random.Random) -> BrokenFile:
    """A table with what users have in theirs: names, numbers, salts, metals, splits."""
    name, number = draw.choice(NAMES), draw.choice(NUMBERS)
    parts = draw.choice(
        (("train", "test"), ("train",), ("test",), ("train", "valid"), ("Train", "TEST", "dev"), ("", "1"))
    )
    split = draw.random() < 0.4
    lines = [f"smiles,{name},split"]
    for at, text in enumerate(MOLECULES):
        kind = draw.random()
        smiles = draw.choice(SALTS) if kind < 0.2 else metal_cage(draw.randrange(7, 12)) if kind > 0.997 else text
        lines.append(f"{smiles},{number(at)},{parts[at % len(parts)]}")
    words = ("--data.split_column=split", "--data.split=column") if split else ()
    ending = draw.choice((".csv", ".csv", "[red].csv", "[/].csv".replace("/", "\\"), " a b.csv"))
    return BrokenFile(ending, ("\n".join(lines) + "\n").encode(), name, words)
