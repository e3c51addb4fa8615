"""A Ray cluster for the length of a block: the one that is there, or one of this machine's cores."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from policylearn.settings.run_files import RunError


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """Give Ray, connected to the cluster that ``RAY_ADDRESS`` names; without one it is started here and ended again."""
    try:
        import ray
    except ImportError as error:
        raise RunError("'--ray' needs Ray; install policylearn[ray], or leave --ray out") from error
    if ray.is_initialized():  # whoever connected goes on with it
        yield ray
        return
    ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, configure_logging=True)
    try:
        yield ray
    finally:
        ray.shutdown()


def ray_cores(ray: Any) -> int:
    """How many processes a cluster has room for."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
