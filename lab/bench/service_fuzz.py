"""Requests that schemathesis makes from the service's schema: ``python -m lab.bench.service_fuzz RUN --command st``.

schemathesis is a program of its own (``pip install schemathesis`` in another environment). The service must answer
every request without a status of 500 and within the time limit, and be well afterwards.
"""

from __future__ import annotations

import argparse
import subprocess
import urllib.request
from pathlib import Path

from lab.bench.service_load import free_port, start


def main() -> None:
    """Fuzz, and end with the exit code of schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run on molecules")
    parser.add_argument("--command", default="st", help="schemathesis")
    parser.add_argument("--examples", type=int, default=500, help="requests per operation")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    port = free_port()
    process = start(options.run, port)
    home = f"http://127.0.0.1:{port}"
    words = ["--checks", "not_a_server_error", "--max-examples", str(options.examples), "--seed", str(options.seed)]
    try:
        ended = subprocess.run(
            [options.command, "run", f"{home}/openapi.json", *words, "--request-timeout", "35"], check=False
        )
        with urllib.request.urlopen(f"{home}/healthz", timeout=10) as answer:
            well = answer.status == 200
    finally:
        process.terminate()
        process.wait()
    raise SystemExit(ended.returncode if well else "the service is not well")


if __name__ == "__main__":
    main()
