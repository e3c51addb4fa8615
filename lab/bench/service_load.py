"""32 clients against ``policylearn serve`` on loopback: ``python -m lab.bench.service_load RUN``.

Every answer is checked; throughput, latencies and memory are printed and kept.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from rdkit import Chem

import policylearn
from lab.bench.commands import ours
from lab.bench.machine import keep

GOOD = ["CCO", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "CCN(CC)CC", "C1CCCCC1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "O", "CCCl"]
BAD = ["C1CC", "xyz", "", "C" * 400]
BROKEN = [b"{", b'{"smiles": []}', b'{"smiles": ["C"], "path": "x"}']
HEADERS = {"Content-Type": "application/json"}
PATIENCE = 900
"""Seconds after which a request that nobody answers counts as lost."""


class Load:
    """What all clients share: the server's port, the right answers, and what came of the requests so far."""

    def __init__(self, port: int, expected: dict[str, float], target: str) -> None:
        self.port, self.expected, self.target = port, expected, target
        self.lock, self.counts, self.seconds = threading.Lock(), Counter[str](), list[float]()
        self.stop = threading.Event()

    def client(self, seed: int) -> None:
        """Ask until told to stop."""
        draw = random.Random(seed)
        while not self.stop.is_set():
            broken = draw.random() < 0.05
            rows = [draw.choice(GOOD if draw.random() < 0.8 else BAD) for _ in range(draw.randint(1, 20))]
            body = draw.choice(BROKEN) if broken else json.dumps({"smiles": rows}).encode()
            self.note("asked")
            answer = self.ask(body)
            if answer is None:
                self.note("LOST")
                continue
            status, content, seconds = answer
            right = "refused as it should be" if status == 422 else "WRONG"
            self.note(right if broken else self.judge(rows, status, content), seconds, len(rows))

    def attacker(self, molecules: int, seconds: float) -> None:
        """Send molecules that take RDKit long, one after the other, without waiting for their answers."""

        def send(body: bytes) -> None:
            answer = self.ask(body)
            self.note("attack LOST" if answer is None else f"attack answered with {answer[0]}")

        threads = []
        for number in range(molecules):
            body = json.dumps({"smiles": [metal_cage(11 + number % 20)]}).encode()
            threads.append(threading.Thread(target=send, args=(body,)))
            threads[-1].start()
            self.stop.wait(seconds / molecules)
        for thread in threads:
            thread.join()

    def ask(self, body: bytes) -> tuple[int, Any, float] | None:
        """Ask until there is an answer, as the server may be restarted; gives status, content and seconds."""
        until = time.perf_counter() + PATIENCE
        while (begin := time.perf_counter()) < until:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request("POST", "/predict", body, HEADERS)
                response = connection.getresponse()
                return response.status, json.loads(response.read()), time.perf_counter() - begin
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                self.note("asked again after a lost connection")
                time.sleep(0.2)
            finally:
                connection.close()
        return None

    def judge(self, rows: list[str], status: int, content: Any) -> str:
        """Whether an answer is right."""
        if status == 503:
            return "told to come back"
        if status != 200 or len(content["rows"]) != len(rows):
            return "WRONG"
        for text, row in zip(rows, content["rows"], strict=True):
            known = self.expected.get(text)
            said = None if row["error"] else row["predicted"][self.target]
            if row["smiles"] != text or (known is None) != (said is None):
                return "WRONG"
            if known is not None and said is not None and abs(known - said) > 1e-4:
                return "WRONG"
        return "right"

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
    for number in range(atoms):
        cage.AddAtom(Chem.Atom("U"))
        for other in range(number):
            cage.AddBond(other, number, Chem.BondType.SINGLE)
    return Chem.MolToSmiles(cage)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
    port = free_port()
    process = start(options.run, port)
    load = Load(port, expected, predictor.task.targets[0])
    clients = [threading.Thread(target=load.client, args=(seed,)) for seed in range(options.clients)]
    if options.attack:
        clients.append(threading.Thread(target=load.attacker, args=(options.attack, options.seconds)))
    for client in clients:
        client.start()
    begin, resident, restarts = time.perf_counter(), list[float](), 0
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
    finally:
        load.stop.set()
        for client in clients:
            client.join()
        process.terminate()
        process.wait()
    show(load, options.seconds, resident, restarts, options.clients, options.attack)


def show(load: Load, seconds: float, resident: list[float], restarts: int, clients: int, attack: int) -> None:
    """Print what was measured and keep it; end with an error where an answer was wrong or lost."""
    times, rows = sorted(load.seconds), load.counts.pop("rows")
    p50, p99 = (times[min(len(times) - 1, int(share * len(times)))] * 1000 for share in (0.5, 0.99))
    quarter = max(1, len(resident) // 4)
    first, last = (statistics.median(part) for part in (resident[:quarter], resident[-quarter:]))
    found = {
        "clients": clients,
        "attack_molecules": attack,
        "seconds": seconds,
        "restarts": restarts,
        "requests_per_second": round(len(times) / seconds, 1),
        "rows_per_second": round(rows / seconds, 1),
        "p50_ms": round(p50),
        "p99_ms": round(p99),
        "memory_mb": {"first_quarter": round(first), "last_quarter": round(last)},
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
