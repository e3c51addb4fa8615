"""``policylearn serve``: answer over HTTP."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from policylearn.cli.command import Command, Parser

HELP = "answer over HTTP: POST /predict with SMILES, /healthz, /info, /docs"
ABOUT = (
    "Load a run once and answer over HTTP until it is stopped (Ctrl-C or SIGTERM; requests that have begun are"
    " finished). It needs the extra 'serve'. It listens on this machine only unless --host says otherwise; there is no"
    " password."
)


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
    predictor = load_quietly(options.run)
    app = make_app(predictor, limits)
    predictor.predict(["C"])  # the first answer loads compiled code, for which no client should have to wait
    print(f"serving {options.run} at http://{options.host}:{options.port} (POST /predict, /docs)", flush=True)  # noqa: T201
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level="warning",
        timeout_keep_alive=10,
        timeout_graceful_shutdown=10,
        server_header=False,
    )
    return 0


COMMAND = Command("serve", HELP, add_options, run, about=ABOUT)
