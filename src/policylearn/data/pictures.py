"""Write pictures atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from policylearn.data.arrays import DataError
from policylearn.data.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def new_picture(path: Path, width: float, height: float, *, dpi: int = 120) -> Iterator[Figure]:
    """A figure of so many inches to draw into, written as a PNG once the block has ended well; needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure
    try:
        with replacing(path) as part:
            figure.savefig(part, format="png", dpi=dpi)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error}); choose another file") from error
