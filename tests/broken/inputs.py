"""Seeded makers of broken inputs: tables, SMILES, settings, packed files and requests."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from policylearn.cli.verbs.settings import setting_rows

MOLECULES = (
    "CCO", "c1ccccc1", "CC(=O)O", "CCCCCC", "CCN(CC)CC", "C1CCCCC1", "Oc1ccccc1", "CC(C)=O", "ClCCl", "CCOC(=O)C",
    "N#CC", "c1ccncc1", "CCCCO", "OCC(O)CO", "C1CCOC1", "CS(C)=O", "Cc1ccccc1", "CC(N)=O", "BrCCBr", "C#CCO",
    "[Na+].[Cl-]", "O=C=O", "C[N+](C)(C)C", "F/C=C/F",
)  # fmt: skip
"""What broken inputs are made from, and what a small run is trained on."""


def good_table(rows: int = 16) -> str:
    """A table as it should be."""
    lines = [f"{text},{at},{0.5 * at - 3:.2f}" for at, text in enumerate(MOLECULES[:rows])]
    return "\n".join(["smiles,id,value", *lines]) + "\n"


# SMILES

ODD_TEXTS = (
    "", " ", "\t", "\n", "\x00", "C\x00C", "nan", "None", "-", "*", "**", ">>", "C>>O", "C|$;;$|",
    "CC |(0,0,;1,1,)|", "R1CC", "%", "%%%",
    "C%", "C%99", "C%999", "[", "]", "[]", "[C", "C]", "[Xx]", "[C+99]", "[999999C]", "[CH99]", "[-1]", "[C@@@@@H]",
    "((((", "))))", "C(",
    "C)", "()", "C()C", "C==C", "C=#C", "C.", ".C", "..", "C1", "C12C", "C1CC1C1", "c1cccc1", "cccc", "[2H][2H]",
    "[H]", "[He]", "[Og]",
    "[U]" + "(C)" * 40 + "C", "[W].[U].[Pu]", "[Fe]1" + "[Fe]1" * 30, "C[N+](C)(C)C.[Cl-]",
    "[Na+].[Na+].[O-]S([O-])(=O)=O",
    "\u00e9thanol", "CC\u041e", "\U0001d49e\U0001d49e", "\u202eCC", "\ufeffCCO", "CC\u200bO",
    "InChI=1S/CH4/h1H4", "CCO ethanol", "CCO;CCN",
    "C,C", '"CCO', "'", "=1+1",
    "../../etc/passwd", "{{7*7}}", "<script>", "%00", "C\\", "C/C\\", "F(F)(F)(F)(F)(F)F", "C(C)(C)(C)(C)C", "[NH5]",
    "O=O=O",
)  # fmt: skip


def metal_cage(atoms: int) -> str:
    """Metal atoms, each bonded to all others: closures of rings are numbered as they come."""
    closures: list[list[int]] = [[] for _ in range(atoms)]
    number = 10
    for one in range(atoms):
        for other in range(one + 2, atoms):
            closures[one].append(number)
            closures[other].append(number)
            number += 1
    return "".join("[U]" + "".join(f"%{n}" for n in own) for own in closures)


def broken_smiles(draw: random.Random) -> str:
    """A text that is no molecule, or hardly one."""
    if draw.random() < 0.005:
        return metal_cage(draw.randrange(7, 14))
    kind = draw.randrange(6)
    if kind == 0:
        return draw.choice(ODD_TEXTS)
    if kind == 1:
        return "".join(draw.choice("CNOSPFclnos()[]=#.-+123%@/\\H ") for _ in range(draw.randrange(1, 40)))
    if kind == 2:
        return "".join(chr(draw.randrange(1, 0x3000)) for _ in range(draw.randrange(1, 12)))
    if kind == 3:
        unit, times = (
            draw.choice(("C", "(", "C(", "[", "C1", "=", "C.", "c", "[Na+].", "%10")),
            draw.choice((50, 400, 3000)),
        )
        return unit * times
    text = list(draw.choice(MOLECULES) + (draw.choice(MOLECULES) if kind == 4 else ""))
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        if draw.random() < 0.5 and at < len(text):
            del text[at]
        else:
            text.insert(at, draw.choice("()[]=#%123456789@.+-HcXqé\t,;\"'"))
    return "".join(text)


# tables


def cells(text: str, change: Callable[[list[list[str]]], None]) -> str:
    rows = [line.split(",") for line in text.splitlines()]
    change(rows)
    return "\n".join(",".join(row) for row in rows) + "\n"


def with_odd_cells(text: str, draw: random.Random) -> str:
    odd = (
        "",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "1,5",
        "1.2.3",
        "yes",
        "NULL",
        "#DIV/0!",
        "\uff11\uff12",
        "1e",
        "0x1F",
        "--",
        "\x1a",
    )

    def change(rows: list[list[str]]) -> None:
        for _ in range(draw.randrange(1, 6)):
            row = rows[draw.randrange(1, len(rows))]
            row[draw.choice((0, 2))] = draw.choice(odd)

    return cells(text, change)


def with_broken_smiles(text: str, draw: random.Random) -> str:
    def change(rows: list[list[str]]) -> None:
        for row in rows[1:]:
            if draw.random() < 0.4:
                row[0] = broken_smiles(draw)

    return cells(text, change)


def with_ragged_rows(text: str, draw: random.Random) -> str:
    def change(rows: list[list[str]]) -> None:
        for row in rows[1:]:
            if draw.random() < 0.3:
                row.extend(["x"] * draw.randrange(1, 5)) if draw.random() < 0.5 else row.pop()

    return cells(text, change)


def with_odd_header(text: str, draw: random.Random) -> str:
    head = draw.choice(
        ("", "smiles", "smiles,smiles,smiles", "a,b,c", ",,", "Smiles,ID,Value", "smiles,id,value,",
        "\ufeffsmiles,id,value",
         "smiles;id;value", "value,id,smiles", '"smiles,id,value', "SMILES,canonical_smiles,value",
         "smiles,id,predicted_value",
         "smiles,id,error", "\x00,id,value", "smiles,id,VALUE")
    )  # fmt: skip
    return head + "\n" + text.split("\n", 1)[1]


def with_odd_layout(text: str, draw: random.Random) -> str:
    kind = draw.randrange(8)
    if kind == 0:
        return text.replace(",", draw.choice((";", "\t", "|", " ", ", ")))
    if kind == 1:
        return text.replace("\n", draw.choice(("\r", "\r\n", "\n\n", "\n\r", "\u2028")))
    if kind == 2:
        at = draw.randrange(len(text))
        return text[:at] + '"' + text[at:]
    if kind == 3:
        return text.split("\n", 1)[draw.randrange(2)]
    if kind == 4:
        return text.replace("3", "C" * draw.choice((1000, 140_000)), 1)
    if kind == 5:
        return "".join(draw.sample(text.splitlines(keepends=True), k=8))
    if kind == 6:
        return "# a comment\n\n\n" + text
    return text[: draw.randrange(len(text))]


def with_odd_bytes(data: bytes, draw: random.Random) -> bytes:
    kind = draw.randrange(6)
    if kind == 0:
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 12)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        return bytes(damaged)
    if kind == 1:
        return data.decode().encode(draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")))
    if kind == 2:
        return data[: draw.randrange(len(data))]
    if kind == 3:
        return draw.randbytes(draw.randrange(400))
    if kind == 4:
        return data.replace(b",", b"\xe9,", draw.randrange(1, 5))
    return data[:40] + b"\x00" * draw.randrange(1, 40) + data[40:]


ENDINGS = (
    ".csv",
    ".csv",
    ".csv",
    ".CSV",
    ".tsv",
    ".txt",
    ".smi",
    ".sdf",
    ".parquet",
    ".csv.gz",
    ".smi.gz",
    ".xlsx",
    "",
    ".npz",
)


@dataclass(frozen=True)
class BrokenFile:
    """A file to be read: how its name ends, what is in it, the target to name and further words of ``train``."""

    ending: str
    content: bytes
    target: str = "value"
    words: tuple[str, ...] = ()


def broken_table(draw: random.Random) -> BrokenFile:
    """A table with one to three faults, under a name that may lie."""
    text = good_table(draw.choice((1, 3, 16, 16)))
    for change in draw.choices(
        (with_odd_cells, with_broken_smiles, with_ragged_rows, with_odd_header, with_odd_layout), k=draw.randrange(1, 3)
    ):
        try:
            text = change(text, draw)
        except (IndexError, ValueError):
            break  # what an earlier fault left cannot be broken in this way
    data = text.encode("utf-8", "surrogatepass")
    if data and draw.random() < 0.3:
        try:
            data = with_odd_bytes(data, draw)
        except (ValueError, UnicodeError):
            data = data[::-1]
    ending = draw.choice(ENDINGS)
    if ending.endswith(".gz") and draw.random() < 0.8:
        data = gzip.compress(data)
        data = data[: draw.randrange(len(data))] if draw.random() < 0.5 else data
    return BrokenFile(ending, data)


# packed files


def broken_packed(good: dict[str, Any], draw: random.Random) -> BrokenFile:
    """A packed file with arrays missing, of other shapes, types and values, or with other bytes."""
    arrays = {name: np.array(value) for name, value in good.items()}
    for _ in range(draw.randrange(1, 3)):
        name = draw.choice(sorted(arrays)) if arrays else "x"
        value = arrays.get(name, np.zeros(3))
        if value.ndim == 0 or value.dtype.kind not in "iufb":
            continue  # broken enough by an earlier change
        kind = draw.randrange(9)
        if kind == 0:
            arrays.pop(name, None)
        elif kind == 1:
            arrays[name] = value[: draw.randrange(len(value) + 1)]
        elif kind == 2:
            kinds = (np.float16, np.int8, np.uint64, np.complex64, bool)
            with np.errstate(invalid="ignore"):
                arrays[name] = value.astype(draw.choice(kinds), casting="unsafe")
        elif kind == 3:
            arrays[name] = value.reshape(-1)
        elif kind == 4:
            arrays[name] = value[::-1]
        elif kind == 5 and value.size:
            changed = value.copy().reshape(-1)
            changed[draw.randrange(changed.size)] = draw.choice((100, 127, -1 if changed.dtype.kind != "u" else 255))
            arrays[name] = changed.reshape(value.shape)
        elif kind == 6:
            arrays[name] = np.stack([value, value])
        elif kind == 7:
            arrays[draw.choice(("extra", "y_names", "smiles", "structure:x_real"))] = value
        else:
            arrays[name] = np.array(draw.choice(("text", 3.5, True)))
    buffer = io.BytesIO()
    with np.errstate(all="ignore"):
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
    data = buffer.getvalue()
    return BrokenFile(".npz", damaged(data, draw))


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Other bytes in a third of the cases."""
    kind = draw.randrange(9)
    if kind == 0:
        return data[: draw.randrange(len(data))]
    if kind == 1:
        changed = bytearray(data)
        for _ in range(20):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        return bytes(changed)
    return draw.randbytes(200) if kind == 2 else data


# settings

ODD_VALUES = (
    "", " ", "abc", "nan", "inf", "-inf", "-1", "-0.5", "1e999", "1e-999", "0x10", "1.5", "None", "null", "true",
    "[]", "{}", "[1,2",
    "{a: 1}", "99999999999999999999", "é", "\x00", "--help", "-", "1;2", "!!python/object:os.system", "&a [*a]",
    "learned,random",
)  # fmt: skip


@functools.cache
def setting_names() -> list[str]:
    """Every setting of a run of Policy-learn, by its dotted name."""
    return sorted({name for name, _, _ in setting_rows("policy-learn")})


SKIPPED = ("data.name", "data.target", "fit.devices", "fit.logger", "data.workers")
"""Paths, and what starts processes or asks for other packages."""


def broken_settings(draw: random.Random) -> list[str]:
    """Words of a command that names settings wrongly, or gives them wrong values."""
    known = [name for name in setting_names() if name not in SKIPPED]
    words: list[str] = []
    for _ in range(draw.randrange(1, 3)):
        name = draw.choice(known)
        if draw.random() < 0.25:
            at = draw.randrange(len(name))
            name = name[:at] + draw.choice("xyz._-") + name[at + 1 :]
        words.append(f"--{name}={draw.choice(ODD_VALUES)}" if draw.random() < 0.8 else f"--{name}")
    return words


# requests


def broken_request(draw: random.Random) -> tuple[str, str, dict[str, Any]]:
    """A method, a path, and what is sent."""
    headers = {
        "Content-Type": draw.choice(("application/json", "application/json", "text/plain", "application/xml", ""))
    }
    path = draw.choice(
        ("/predict",) * 8
        + ("/", "/predict/", "/../etc/passwd", "/healthz", "/info", "/docs", "/nothing", "/predict?x=1")
    )
    method = draw.choice(("POST",) * 8 + ("GET", "PUT", "DELETE", "PATCH"))
    odd: tuple[Any, ...] = (
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "CCO",
        [],
        {},
        [None],
        [[]],
        [1],
        ["CCO", None],
        {"a": 1},
        ["C"] * 40,
        "x" * 3000,
    )
    question: Any = {"smiles": [broken_smiles(draw) for _ in range(draw.randrange(1, 6))]}
    kind = draw.randrange(7)
    if kind == 0:
        question["smiles"] = draw.choice(odd)
    elif kind == 1:
        question["interval"] = draw.choice((*odd, 0.42, 1.0, 2.0, -0.9, 1e308))
    elif kind == 2:
        question[draw.choice(("run", "path", "file", "model", "SMILES", "__class__"))] = draw.choice(odd)
    elif kind == 3:
        question = draw.choice(odd)
    content = json.dumps(question, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    if kind == 4:
        content = content[: draw.randrange(len(content))]
    elif kind == 5:
        content = draw.choice(
            (
                draw.randbytes(60),
                b"[" * 5000,
                b'{"smiles": ' * 300,
                b"NaN",
                b"\x00" * 20,
                b'{"smiles": ["\\ud800"]}',
                b"",
            )
        )
    return method, path, {"content": content, "headers": headers}
