"""Where processes that prepare molecules come from.

A server without threads is forked where there is one: a process with torch's threads cannot be forked safely. Nothing
is imported here that takes time, so that the server can be started first of all.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.synchronize import RLock

PREPARES = "policylearn.data.preparation"
"""What the server imports, once for all processes."""


class KeepingLocks:
    """A way to start processes whose locks live as long as it does.

    A pool drops its locks before it ends its processes, and one that still starts would not find them.
    """

    def __init__(self, context: BaseContext) -> None:
        self._context = context
        self._locks: list[RLock] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def RLock(self) -> RLock:  # noqa: N802 - the name that pools call
        """A lock that is kept."""
        self._locks.append(self._context.RLock())
        return self._locks[-1]


def process_context() -> Any:
    """How processes are started on this system."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return KeepingLocks(multiprocessing.get_context("spawn"))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PREPARES])
    return KeepingLocks(context)


def start_server() -> None:
    """Start the server now, so that it is ready when the first process is wanted; nothing where there is none."""
    if process_context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.ensure_running()
