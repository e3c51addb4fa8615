"""32 clients against ``policylearn serve`` on loopback: ``python -m lab.bench.service_load RUN``.

Every answer is checked; throughput, latencies and memory are printed and kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from rdkit import Chem

import policylearn
from lab.bench.commands import ours
from lab.provenance import keep

GOOD = ["CCO", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "CCN(CC)CC", "C1CCCCC1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "O", "CCCl"]
BAD = ["C1CC", "xyz", "", "C" * 400]
BROKEN = ["{", '{"smiles": []}', '{"smiles": ["C"], "path": "x"}']
PATIENCE = 900
"""Seconds after which a request that nobody answers counts as lost."""


class Load:
    """What all clients share: the server's port, the right answers, and what came of the requests so far."""

    def __init__(self, port: int, expected: dict[str, float], target: str) -> None:
        self.expected, self.target = expected, target
        headers = {"Content-Type": "application/json", "Connection": "close"}
        limits = httpx.Limits(max_connections=None)
        self.server = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60, limits=limits)
        self.lock, self.counts, self.seconds = threading.Lock(), Counter[str](), list[float]()
        self.stop = threading.Event()

    def client(self, seed: int) -> None:
        """Ask until told to stop."""
        draw = random.Random(seed)
        while not self.stop.is_set():
            broken = draw.random() < 0.05
            rows = [draw.choice(GOOD if draw.random() < 0.8 else BAD) for _ in range(draw.randint(1, 20))]
            self.note("asked")
            answer = self.ask(draw.choice(BROKEN) if broken else json.dumps({"smiles": rows}))
            if answer is None:
                self.note("LOST")
                continue
            right = "refused as it should be" if answer.status_code == 422 else "WRONG"
            self.note(right if broken else self.judge(rows, answer), answer.elapsed.total_seconds(), len(rows))

    def attack(self, atoms: int) -> None:
        """Send a molecule that takes RDKit long."""
        answer = self.ask(json.dumps({"smiles": [metal_cage(atoms)]}))
        self.note("attack LOST" if answer is None else f"attack answered with {answer.status_code}")

    def ask(self, body: str) -> httpx.Response | None:
        """Ask until there is an answer, as the server may be restarted."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                return self.server.post("/predict", content=body)
            except httpx.TransportError:
                self.note("asked again after a lost connection")
                time.sleep(0.2)
        return None

    def judge(self, rows: list[str], answer: httpx.Response) -> str:
        """Whether an answer is right."""
        if answer.status_code == 503:
            return "told to come back"
        found = answer.json()["rows"] if answer.status_code == 200 else []
        return "right" if len(found) == len(rows) and all(map(self.is_right, rows, found)) else "WRONG"

    def is_right(self, smiles: str, row: dict[str, Any]) -> bool:
        """Whether the answer to one molecule is its prediction, or an error where it cannot be read."""
        known = self.expected.get(smiles)
        if row["smiles"] != smiles or known is None or row["error"]:
            return row["smiles"] == smiles and known is None and bool(row["error"])
        return abs(known - float(row["predicted"][self.target])) <= 1e-4

    def note(self, kind: str, seconds: float | None = None, rows: int = 0) -> None:
        """Count a request."""
        with self.lock:
            self.counts[kind] += 1
            self.counts["rows"] += rows
            if seconds is not None:
                self.seconds.append(seconds)


def metal_cage(atoms: int) -> str:
    """The SMILES of uranium atoms, each bonded to all others."""
    cage = Chem.RWMol()
    for _ in range(atoms):
        cage.AddAtom(Chem.Atom("U"))
    for first, second in combinations(range(atoms), 2):
        cage.AddBond(first, second, Chem.BondType.SINGLE)
    return Chem.MolToSmiles(cage)


def start(run: Path, port: int) -> psutil.Popen:
    """The server, once it answers."""
    process = psutil.Popen([*ours(), "serve", str(run), "--port", str(port)])
    until = time.monotonic() + 600
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise SystemExit("the server did not start")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run on molecules with one number to predict")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--restart", action="store_true", help="kill and restart the server half-way")
    parser.add_argument("--attack", type=int, default=0, help="molecules that take RDKit long, over the whole time")
    options = parser.parse_args()
    predictor = policylearn.load(options.run)
    expected = dict(zip(GOOD, predictor.predict(GOOD)[:, 0].tolist(), strict=True))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    process = start(options.run, port)
    load = Load(port, expected, predictor.task.targets[0])
    resident, restarts, attacks = list[float](), 0, 0
    with ThreadPoolExecutor(options.clients + options.attack) as threads:
        answers = [threads.submit(load.client, seed) for seed in range(options.clients)]
        begin = time.perf_counter()
        try:
            while (passed := time.perf_counter() - begin) < options.seconds:
                time.sleep(min(1.0, options.seconds / 10))
                if options.restart and not restarts and passed > options.seconds / 2:
                    killed = time.perf_counter()
                    process.kill()
                    process.wait()
                    process, resident, restarts = start(options.run, port), [], 1
                    begin += time.perf_counter() - killed  # figures are per second in which there was a server
                resident.append(process.memory_info().rss / 2**20)
                while attacks < options.attack * passed / options.seconds:
                    answers.append(threads.submit(load.attack, 11 + attacks % 20))
                    attacks += 1
        finally:
            load.stop.set()
            wait(answers)
            process.terminate()
            process.wait()
    for answer in answers:
        answer.result()  # raises what a client raised
    show(load, options.seconds, resident, restarts, options.clients, options.attack)


def show(load: Load, seconds: float, resident: list[float], restarts: int, clients: int, attack: int) -> None:
    """Print what was measured and keep it; end with an error where an answer was wrong or lost."""
    rows, quarter = load.counts.pop("rows"), max(1, len(resident) // 4)
    p50, p99 = np.percentile(load.seconds, [50, 99])
    found = {
        "clients": clients,
        "attack_molecules": attack,
        "seconds": seconds,
        "restarts": restarts,
        "requests_per_second": round(len(load.seconds) / seconds, 1),
        "rows_per_second": round(rows / seconds, 1),
        "p50_ms": round(1000 * p50),
        "p99_ms": round(1000 * p99),
        "memory_mb": {
            "first_quarter": round(float(np.median(resident[:quarter]))),
            "last_quarter": round(float(np.median(resident[-quarter:]))),
        },
        "counts": dict(load.counts),
        "load_average": os.getloadavg(),
        "cores": os.cpu_count(),
    }
    print(json.dumps(found, indent=2))
    keep("service_load" + "_restart" * bool(restarts) + "_attack" * bool(attack), found)
    if load.counts["WRONG"] or load.counts["LOST"]:
        raise SystemExit("some answers were wrong or lost")


if __name__ == "__main__":
    main()
