"""Lightning without its remarks on hardware, loaders and tips: what matters, the package says itself."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("lightning.pytorch", "lightning.fabric")


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Leave out Lightning's own lines; its warnings on faults stay."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"lightning\..*")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
