"""``policylearn serve``: answer over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from socket import socket


@verb("serve")
def serve(
    run: Path,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    max_rows: int = 1000,
    max_body: int = 1_000_000,
    max_atoms: int = 250,
    timeout: float = 30.0,
    molecule_timeout: float = 5.0,
    allow_host: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
) -> None:
    """Answer over HTTP: POST /predict with SMILES, /healthz, /info, /docs.

    Loads a run once and answers until it is stopped (Ctrl-C or SIGTERM; requests that have begun are finished). It
    needs the extra 'serve'. It listens on this machine only unless --host says otherwise; there is no password.

    Args:
        run: the run folder, or a packed file.
        host: the address to listen on; 0.0.0.0 accepts every network.
        port: the port to listen on.
        max_rows: most molecules per request.
        max_body: most bytes per request.
        max_atoms: most atoms per molecule.
        timeout: seconds after which a request fails.
        molecule_timeout: seconds after which a molecule is given up.
        allow_host: further names under which the service may be addressed, such as the machine's; '*' accepts any.
    """
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ValueError(f"'serve' needs {' and '.join(missing)}: pip install 'policylearn[serve]'")
    from policylearn.explain.run_report import load_quietly
    from policylearn.prediction.server import run_server
    from policylearn.prediction.service import LOOPBACK, Limits, make_app

    limits = Limits(max_rows, max_body, max_atoms, timeout, molecule_seconds=molecule_timeout)
    hosts = (*LOOPBACK, *allow_host, *(() if host in ("0.0.0.0", "::") else (host,)))
    with bound(host, port) as listener:
        predictor = load_quietly(run)
        app = make_app(predictor, limits, hosts)
        predictor.predict(["C"])  # the first answer loads compiled code, for which no client should have to wait
        print(f"serving {run} at http://{host}:{port} (POST /predict, /docs)", flush=True)  # noqa: T201
        run_server(app, listener)


def bound(host: str, port: int) -> socket:
    """A socket at the address, or an error before anything is loaded; connections are refused until it is ready."""
    from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket

    if not 0 <= port <= 65535:
        raise ValueError(f"'port' must be from 0 to 65535 (got {port})")
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
