"""Start the processes that prepare molecules.

A server without threads is forked where there is one: a process with torch's threads cannot be forked safely. Nothing
is imported here that takes time, so that the server can be started first of all.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import BaseContext

PREPARES = "policylearn.data.preparation"
"""What the server imports, once for all processes."""


def process_context() -> BaseContext:
    """The start method of worker processes on this system."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PREPARES])
    return context


def start_server() -> None:
    """Start the server now, so that it is ready when the first process is wanted; nothing where there is none."""
    if process_context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        forkserver.ensure_running()
