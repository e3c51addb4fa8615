"""Hand broken inputs to the command and to the service: no traceback, no hang, nothing lost.

``python -m tests.broken.trials`` runs all 10,000; the tests run some hundreds of them. A failure names its seed, and
``python -m tests.broken.trials --kind tables --seed 17`` runs that one again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import hashlib
import io
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import policylearn
from policylearn.cli import main as command
from policylearn.data import PackedGraphs, pack_molecules
from policylearn.data.molecules import featurise
from tests.broken.inputs import (
    MOLECULES,
    broken_packed,
    broken_request,
    broken_settings,
    broken_smiles,
    broken_table,
    good_table,
)
from tests.broken.users_tables import users_table

PATIENCE = 60
"""Seconds of the processor after which an input counts as a hang; the clock on the wall says more of the machine."""
TOGETHER = 20
"""SMILES of one file, and requests that are sent at once."""
KEPT = "what was there before\n"
SMALL = ["--epochs=1", "--prediction.channels=4", "--prediction.layers=1", "--network-only"]
PLAIN = ["--data.split=random", "--data.transforms.walk_encoding=null", "--data.transforms.descriptors=null"]


class HangError(Exception):
    """An input took longer than anyone would wait."""


@dataclass(frozen=True)
class Bench:
    """What trials need.

    Args:
        run: a small run on molecules.
        packed: arrays of a packed file that it can predict on.
        folder: where trials write.
    """

    run: Path
    packed: dict[str, Any]
    folder: Path


def make_bench(folder: Path) -> Bench:
    """Train the run that all trials use."""
    table = folder / "good.csv"
    table.write_text(good_table(len(MOLECULES)))
    words = ["train", str(table), "--target", "value", "-o", str(folder / "run"), *SMALL, *PLAIN]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = command(words)  # without a limit: in a new checkout it compiles for a minute
    assert code == 0, said.getvalue()
    good = folder / "good.npz"
    pack_molecules([featurise(text) for text in MOLECULES[:6]], smiles=list(MOLECULES[:6])).save(good)
    assert len(PackedGraphs.load(good)) == 6
    with np.load(good) as arrays:
        return Bench(folder / "run", dict(arrays), folder)


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Raise a `HangError` in what takes too long."""

    def give_up(number: int, frame: object) -> None:
        raise HangError(f"no answer within {PATIENCE} s of the processor, or {20 * PATIENCE} s")

    kinds = {signal.SIGPROF: (signal.ITIMER_PROF, PATIENCE), signal.SIGALRM: (signal.ITIMER_REAL, 20 * PATIENCE)}
    before = {number: signal.signal(number, give_up) for number in kinds}
    for timer, seconds in kinds.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in kinds.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def call(words: list[str]) -> tuple[int, str]:
    """The command's exit code and what it said; anything else that it raises is a traceback for a user."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patience(), warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)  # not only the first of each place
        try:
            code = command(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, out.getvalue() + err.getvalue()


def check_said(code: int, said: str, *, refused: bool = True) -> str:
    """What became of the input; a refusal needs a reason in words."""
    assert code in (0, 1, 2), f"exit code {code}: {said}"
    assert "Traceback" not in said, said
    assert "RuntimeWarning" not in said, said
    if code == 2 and refused:
        assert "error:" in said, f"no reason was given: {said!r}"
    return {0: "taken", 1: "taken in part", 2: "refused"}[code]


def try_table(bench: Bench, draw: random.Random) -> Counter[str]:
    """Train on a broken table, score one, or predict on one."""
    broken = users_table(draw) if draw.random() < 0.25 else broken_table(draw)
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        folder = Path(name)
        path, output = folder / f"table{broken.ending}", folder / "out.csv"
        path.write_bytes(broken.content)
        output.write_text(KEPT)
        verb = draw.choice(("predict", "predict", "predict", "train", "evaluate"))
        if verb == "train":
            run = folder / "run"
            more = ["--on_error=skip"] if draw.random() < 0.5 else []
            named = {word.split("=")[0] for word in broken.words}
            usual = [word for word in (*SMALL, *PLAIN) if word.split("=")[0] not in named]
            code, said = call(
                ["train", str(path), "--target", broken.target, "-o", str(run), *usual, *broken.words, *more]
            )
            assert code != 2 or not run.exists(), f"a refused table left the folder {sorted(run.iterdir())}: {said}"
        elif verb == "evaluate":
            code, said = call(["evaluate", str(bench.run), str(path)])
        else:
            code, said = call(["predict", str(bench.run), str(path), "-o", str(output)])
            assert (output.read_text() == KEPT) == (code == 2), f"exit code {code}, but the output says otherwise"
        assert path.read_bytes() == broken.content, "the input was changed"
        left = {found.name for found in folder.iterdir()} - {path.name, output.name, "run"}
        assert not left, f"left behind: {left}"
    return Counter({f"{verb} {check_said(code, said)}": 1})


def try_smiles(bench: Bench, draw: random.Random) -> Counter[str]:
    """Predict on a file of broken SMILES: a row for each, in its order, with a number or a reason."""
    texts = [broken_smiles(draw) for _ in range(TOGETHER)]
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        path, output = Path(name) / "in.csv", Path(name) / "out.csv"
        with path.open("w", newline="", encoding="utf-8", errors="surrogatepass") as file:
            csv.writer(file).writerows([["smiles", "id"], *([text, at] for at, text in enumerate(texts))])
        code, said = call(["predict", str(bench.run), str(path), "-o", str(output)])
        check_said(code, said)
        if code == 2:
            return Counter({"file refused": TOGETHER})
        with output.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [str(at) for at in range(TOGETHER)], f"rows were lost or moved: {texts}"
    found: Counter[str] = Counter()
    for text, row in zip(texts, rows, strict=True):
        assert bool(row["predicted_value"]) != bool(row["error"]), f"{text!r} has {row}"
        found["row predicted" if row["predicted_value"] else "row with a reason"] += 1
    return found


def try_settings(bench: Bench, draw: random.Random) -> Counter[str]:
    """Train with settings that are misspelt or senseless."""
    words = broken_settings(draw)
    named = {word.split("=")[0] for word in words}
    usual = [word for word in (*SMALL, *PLAIN) if word.split("=")[0] not in named]
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        run = Path(name) / "run"
        whole = ["train", str(bench.folder / "good.csv"), "--target", "value", "-o", str(run), *usual, *words]
        code, said = call(whole)
        assert code != 2 or not run.exists(), f"refused, but the folder {sorted(run.iterdir())} was left: {said}"
    return Counter({f"settings {check_said(code, said)}": 1})


def try_packed(bench: Bench, draw: random.Random) -> Counter[str]:
    """Predict on a broken packed file."""
    broken = broken_packed(bench.packed, draw)
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        path, output = Path(name) / "graphs.npz", Path(name) / "out.csv"
        path.write_bytes(broken.content)
        output.write_text(KEPT)
        code, said = call(["predict", str(bench.run), str(path), "-o", str(output)])
        assert (output.read_text() == KEPT) == (code == 2), f"exit code {code}, but the output says otherwise"
    return Counter({f"packed {check_said(code, said)}": 1})


def try_requests(bench: Bench, draw: random.Random) -> Counter[str]:
    """Send broken requests at once, and a good one among them, whose answer is right."""
    import httpx

    from policylearn.prediction.service import Limits, make_app

    predictor = policylearn.load(bench.run)
    app = make_app(predictor, Limits(rows=30, body=20_000))
    good = {"json": {"smiles": list(MOLECULES[:3])}}
    requests = [broken_request(draw) for _ in range(TOGETHER)]

    async def send() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            every = [*requests, ("POST", "/predict", good)]
            return await asyncio.gather(*(client.request(how, path, **more) for how, path, more in every))

    with patience():
        *answers, last = asyncio.run(send())
    said = [row["predicted"]["value"] for row in last.json()["rows"]]
    np.testing.assert_allclose(said, predictor.predict(list(MOLECULES[:3]))[:, 0], atol=1e-5)
    found: Counter[str] = Counter()
    for request, answer in zip(requests, answers, strict=True):
        assert answer.status_code < 500, f"{answer.status_code} {answer.text} to {request}"
        if answer.status_code == 200 and request[:2] == ("POST", "/predict"):
            asked, rows = json.loads(request[2]["content"])["smiles"], answer.json()["rows"]
            assert len(rows) == len(asked), request
            assert all((row["error"] is None) != (row["predicted"] is None) for row in rows), request
        found[f"request answered {answer.status_code}"] += 1
    return found


KINDS: dict[str, tuple[Callable[[Bench, random.Random], Counter[str]], int, int]] = {
    "tables": (try_table, 2000, 1),
    "smiles": (try_smiles, 4000, TOGETHER),
    "settings": (try_settings, 1000, 1),
    "packed": (try_packed, 1000, 1),
    "requests": (try_requests, 2000, TOGETHER),
}
"""How each kind is tried, how many inputs there are in all, and how many of them one trial takes."""


def fingerprint(folder: Path) -> str:
    """Of all files below a folder."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            whole.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return whole.hexdigest()


def run_trials(bench: Bench, kind: str, seeds: range) -> Iterator[tuple[int, Counter[str] | str]]:
    """The outcomes of some trials, or the traceback of one that failed; the run that they use stays as it is."""
    before = fingerprint(bench.run)
    trial = KINDS[kind][0]
    for seed in seeds:
        try:
            yield seed, trial(bench, random.Random(f"{kind} {seed}"))
        except Exception:
            yield seed, traceback.format_exc()
    assert fingerprint(bench.run) == before, "the run was changed"


def main() -> None:
    """Run all trials, or one kind of them, and count what became of the inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument("--share", type=float, default=1.0, help="of the 10,000 inputs")
    parser.add_argument("--seed", type=int, help="one trial alone")
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        bench = make_bench(Path(name))
        for kind in options.kind:
            _, inputs, each = KINDS[kind]
            trials = int(inputs * options.share) // each
            seeds = range(trials) if options.seed is None else range(options.seed, options.seed + 1)
            counts: Counter[str] = Counter()
            for done, (seed, outcome) in enumerate(run_trials(bench, kind, seeds), start=1):
                if done % 100 == 0:
                    sys.stderr.write(
                        f"{kind}: {done} of {len(seeds)} trials, {time.process_time():.0f} s of the processor\n"
                    )
                if isinstance(outcome, str):
                    faults += 1
                    sys.stdout.write(f"FAULT: {kind}, seed {seed}\n{outcome}\n")
                else:
                    counts.update(outcome)
            tail = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
            sys.stdout.write(f"{kind}: {len(seeds) * each} inputs: {tail}\n")
            sys.stdout.flush()
    sys.stdout.write(f"faults: {faults}\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
