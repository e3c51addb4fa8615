"""Run the service under uvicorn, with a time limit for headers and a limit of connections."""

from __future__ import annotations

import asyncio
from socket import socket
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""A connection whose headers are not complete by then is closed."""
MOST_CONNECTIONS = 1000
"""Beyond, a client is told to come back later."""


class LimitedProtocol(H11Protocol):
    """HTTP over a connection that is closed where headers do not arrive in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first headers."""
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        """Read on; stop the clock where the headers are complete, start it where further ones have begun."""
        super().data_received(data)
        incomplete = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not incomplete and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif incomplete and self._timer is None:
            self._wait_for_headers()

    def _wait_for_headers(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()


def run_server(app: FastAPI, listener: socket) -> None:
    """Answer until the process is told to stop; requests that have begun are finished."""
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        log_level="warning",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=10,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
