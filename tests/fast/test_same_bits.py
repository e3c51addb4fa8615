"""What a loop computes does not depend on where its arrays happen to lie in memory, nor on how they are laid out."""

from __future__ import annotations

import ast
import ctypes
import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from policylearn.fast import loops, row_loops

Array = NDArray[Any]
ROWS = 3
TRIALS = 100


class Heap:
    """Memory in which nothing small lies free, so that what is asked for next lies behind what was asked for last."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.library.malloc.restype, self.library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.library.free.argtypes = [ctypes.c_void_p]
        self.held: list[int] = []
        for _ in range(300):
            self.take_free()

    def take_free(self) -> None:
        """Take what was given back in the meantime."""
        self.held += [self.library.malloc(size) for size in range(16, 1024, 16)]

    def copy(self, array: Array) -> Array:
        """The same numbers in memory that ends where the next begins."""
        self.take_free()
        place = self.library.malloc(array.nbytes)
        self.held.append(place)
        found: Array = np.frombuffer((ctypes.c_char * array.nbytes).from_address(place), array.dtype)
        found = found.reshape(array.shape)
        found[...] = array
        return found

    def give_back(self) -> None:
        """Free all of it."""
        for place in self.held:
            self.library.free(place)


@pytest.fixture
def heap() -> Iterator[Heap]:
    heap = Heap()
    yield heap
    heap.give_back()


def draw(rng: np.random.Generator, width: int, dtype: Any) -> dict[str, Array]:
    """What goes into a norm and its gradient."""
    shapes = {"x": (ROWS, width), "gradient": (ROWS, width), "before": (width,), "scale": (width,), "shift": (width,)}
    return {name: rng.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def norm_and_gradient(
    given: dict[str, Array], move: Callable[[], dict[str, Array]] = dict, kept: Array | None = None
) -> bytes:
    """The bits of a layer norm, of its statistics and of its gradients.

    Args:
        given: what `draw` gives.
        move: arrays to take instead, made right before the loops run.
        kept: where the rows' means and inverse deviations go.
    """
    x, dtype = given["x"], given["x"].dtype
    out, to_x, sums = np.zeros_like(x), np.zeros_like(x), np.zeros((3, x.shape[1]))
    kept = np.zeros((ROWS, 2), dtype) if kept is None else kept
    given = given | move()
    x, own = given["x"], (given["before"], given["scale"], given["shift"])
    loops.norm_relu(x, *own, dtype.type(1e-5), kept, False, x[:0], np.empty(0, np.int64), out)
    loops.layer_gradient(given["gradient"], x, *own, kept, to_x, sums)
    return b"".join(one.tobytes() for one in (out, kept, to_x, sums))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the order of memory is that of glibc")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["x", "gradient", "before", "scale"])
@pytest.mark.parametrize("width", [4, 8, 12])
def test_a_neighbour_in_memory_changes_no_bit(heap: Heap, width: int, name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(TRIALS):
        given = draw(rng, width, dtype)
        moved = norm_and_gradient(given, lambda array=given[name]: {name: heap.copy(array)})  # type: ignore[misc]
        assert moved == norm_and_gradient(given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [7, 8, 33, 64])
def test_a_layout_changes_no_bit(width: int, dtype: Any) -> None:
    def spread(array: Array) -> Array:
        """The same numbers with gaps between them."""
        wide = np.zeros((*array.shape, 2), dtype)
        wide[..., 0] = array
        return wide[..., 0]

    rng = np.random.default_rng(0)
    for _ in range(20):
        given = draw(rng, width, dtype)
        general = {name: spread(array) for name, array in given.items()}
        assert not any(array.flags.c_contiguous for array in general.values())
        kept = spread(np.zeros((ROWS, 2), dtype))
        assert norm_and_gradient(general, kept=kept) == norm_and_gradient(given, kept=kept) == norm_and_gradient(given)


@pytest.mark.parametrize("module", [loops, row_loops])
def test_additions_are_reordered_only_where_nothing_is_written(module: ModuleType) -> None:
    for loop in (value for value in vars(module).values() if isinstance(value, Dispatcher)):
        if "reassoc" not in (loop.targetoptions.get("fastmath") or ()):
            continue
        (tree,) = ast.parse(inspect.getsource(loop.py_func)).body
        stores = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript | ast.Attribute)]
        assert not [node for node in stores if isinstance(node.ctx, ast.Store)], loop.py_func.__name__
