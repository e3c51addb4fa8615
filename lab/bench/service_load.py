"""Clients against ``policylearn serve`` on loopback: ``python -m lab.bench.service_load RUN``.

Every answer is checked; throughput, latencies and memory are printed and kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import time
from pathlib import Path
from typing import Any

import cyclopts
import httpx
import numpy as np
import pandas as pd
import psutil

import policylearn
from lab.bench.commands import ours
from lab.provenance import keep

GOOD = ["CCO", "c1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "CCN(CC)CC", "C1CCCCC1", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "O", "CCCl"]
BAD = ["C1CC", "xyz", "", "C" * 400]
BROKEN = ["{", '{"smiles": []}', '{"smiles": ["C"], "path": "x"}']


async def client(server: httpx.AsyncClient, expected: dict[str, float], seed: int, until: float) -> pd.DataFrame:
    """Ask until the time is over; what came of each request, its seconds, and its molecules."""
    draw, found = random.Random(seed), []
    while time.monotonic() < until:
        rows = [draw.choice(GOOD if draw.random() < 0.8 else BAD) for _ in range(draw.randint(1, 20))]
        broken = draw.random() < 0.05
        body, start = draw.choice(BROKEN) if broken else json.dumps({"smiles": rows}), time.perf_counter()
        answer = await server.post("/predict", content=body)
        refused = "refused as it should be" if answer.status_code == 422 else "WRONG"
        found.append((refused if broken else judge(rows, answer, expected), time.perf_counter() - start, len(rows)))
    return pd.DataFrame(found, columns=["outcome", "seconds", "rows"])


def judge(rows: list[str], answer: httpx.Response, expected: dict[str, float]) -> str:
    """Whether an answer is right."""
    if answer.status_code == 503:
        return "told to come back"
    found = answer.json()["rows"] if answer.status_code == 200 else []
    same = [row["smiles"] for row in found] == rows
    return "right" if same and all(is_right(row, expected.get(row["smiles"])) for row in found) else "WRONG"


def is_right(row: dict[str, Any], expected: float | None) -> bool:
    """Whether the answer to one molecule is its prediction, or an error where it cannot be read."""
    if expected is None or row["error"]:
        return expected is None and bool(row["error"])
    (predicted,) = row["predicted"].values()
    return abs(expected - float(predicted)) <= 1e-4


async def watch(process: psutil.Popen, until: float) -> list[float]:
    """The memory of the server in MB, second by second."""
    found = []
    while time.monotonic() < until:
        found.append(process.memory_info().rss / 2**20)
        await asyncio.sleep(1)
    return found


async def put_under_load(
    process: psutil.Popen, port: int, expected: dict[str, float], clients: int, seconds: float
) -> tuple[pd.DataFrame, list[float]]:
    """Let all clients ask for so many seconds; all of their requests, and the memory of the server."""
    address, headers = f"http://127.0.0.1:{port}", {"Content-Type": "application/json", "Connection": "close"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as server:
        while process.poll() is None:
            try:
                await server.get("/healthz")
                break
            except httpx.TransportError:
                await asyncio.sleep(0.1)
        else:
            raise SystemExit("the server did not start")
        until = time.monotonic() + seconds
        asking = [client(server, expected, seed, until) for seed in range(clients)]
        memory, *found = await asyncio.gather(watch(process, until), *asking)
    return pd.concat(found), memory


def main(run: Path, *, seconds: float = 60.0, clients: int = 32) -> None:
    """Measure; end with an error where an answer was wrong.

    Args:
        run: on molecules with one number to predict.
        seconds: of load.
        clients: that ask at once.
    """
    expected = dict(zip(GOOD, policylearn.load(run).predict(GOOD)[:, 0].tolist(), strict=True))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    with psutil.Popen([*ours(), "serve", str(run), "--port", str(port)]) as process:
        try:
            found, memory = asyncio.run(put_under_load(process, port, expected, clients, seconds))
        finally:
            process.terminate()
    quarter, outcomes = max(1, len(memory) // 4), found["outcome"].value_counts().to_dict()
    result = {
        "clients": clients,
        "seconds": seconds,
        "requests_per_second": round(len(found) / seconds, 1),
        "rows_per_second": round(float(found["rows"].sum()) / seconds, 1),
        "p50_ms": round(1000 * found["seconds"].quantile(0.5)),
        "p99_ms": round(1000 * found["seconds"].quantile(0.99)),
        "memory_mb": {
            "first_quarter": round(float(np.median(memory[:quarter]))),
            "last_quarter": round(float(np.median(memory[-quarter:]))),
        },
        "counts": {"asked": len(found), **outcomes},
        "load_average": os.getloadavg(),
        "cores": os.cpu_count(),
    }
    print(json.dumps(result, indent=2))
    print(keep("service_load", result))
    if "WRONG" in outcomes:
        raise SystemExit("some answers were wrong")


if __name__ == "__main__":
    cyclopts.run(main)
