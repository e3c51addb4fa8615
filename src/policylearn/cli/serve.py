"""``policylearn serve``: answer over HTTP."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.cli.command import Command, Parser

if TYPE_CHECKING:
    from socket import socket

HELP = "answer over HTTP: POST /predict with SMILES, /healthz, /info, /docs"
ABOUT = (
    "Load a run once and answer over HTTP until it is stopped (Ctrl-C or SIGTERM; requests that have begun are"
    " finished). It needs the extra 'serve'. It listens on this machine only unless --host says otherwise; there is no"
    " password."
)

MOST_PORT = 65535


def add_options(parser: Parser) -> None:
    """Options of the verb."""
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument(
        "--host", type=str, default="127.0.0.1", help="the address to listen on; 0.0.0.0 accepts every network"
    )
    parser.add_argument("--port", type=int, default=8000, help="the port to listen on")
    parser.add_argument("--max-rows", type=int, default=1000, help="most molecules per request")
    parser.add_argument("--max-body", type=int, default=1_000_000, help="most bytes per request")
    parser.add_argument("--max-atoms", type=int, default=250, help="most atoms per molecule")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds after which a request fails")


def run(options: Namespace) -> int:
    """Serve until stopped."""
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(f"'serve' needs {' and '.join(missing)}: pip install 'policylearn[serve]'")
    import uvicorn

    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.service import Limits, make_app

    limits = Limits(options.max_rows, options.max_body, options.max_atoms, options.timeout)
    with bound(options.host, options.port) as listener:
        predictor = load_quietly(options.run)
        app = make_app(predictor, limits)
        predictor.predict(["C"])  # the first answer loads compiled code, for which no client should have to wait
        print(f"serving {options.run} at http://{options.host}:{options.port} (POST /predict, /docs)", flush=True)  # noqa: T201
        config = uvicorn.Config(
            app, log_level="warning", timeout_keep_alive=10, timeout_graceful_shutdown=10, server_header=False
        )
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def bound(host: str, port: int) -> socket:
    """A socket at the address, or an error before anything is loaded; connections are refused until it is ready."""
    from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket

    if not 0 <= port <= MOST_PORT:
        raise ValueError(f"'port' must be from 0 to {MOST_PORT} (got {port})")
    listener = socket(AF_INET6 if ":" in host else AF_INET)
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)  # so that a killed service can be started again at once
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ValueError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another port with --port, or another"
            " address of this machine with --host"
        ) from error
    return listener


COMMAND = Command("serve", HELP, add_options, run, about=ABOUT)
