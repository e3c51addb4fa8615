"""Products called from compiled loops are those of numpy, whichever library they come from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from policylearn.fast import gemm
from policylearn.fast.gemm import product_address, product_source
from policylearn.fast.mlp_loops import product


@pytest.mark.parametrize("source", ["here", "scipy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_forms_of_a_product(source: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if source == "scipy":
        monkeypatch.setattr(gemm, "_of_torch", lambda _symbol: None)
        assert product_source.__wrapped__() == "scipy"
    address = product_address.__wrapped__(np.dtype(dtype))
    generator = np.random.default_rng(0)
    a, b, before = (generator.normal(size=size).astype(dtype) for size in ((5, 7), (7, 3), (5, 3)))
    for a_turned, b_turned, add in itertools.product([False, True], repeat=3):
        out = before.copy()
        left = np.ascontiguousarray(a.T) if a_turned else a
        right = np.ascontiguousarray(b.T) if b_turned else b
        product(address, left, a_turned, right, b_turned, out, add)
        assert np.allclose(out, a @ b + (before if add else 0), atol=1e-5 if dtype == "float32" else 1e-12)


def test_a_part_of_the_rows_is_a_factor_too() -> None:
    generator = np.random.default_rng(0)
    x, weight, out = generator.normal(size=(9, 4)), generator.normal(size=(2, 4)), np.zeros((9, 2))
    product(product_address(x.dtype), x[3:7], False, weight, True, out[3:7], False)
    assert np.allclose(out[3:7], x[3:7] @ weight.T)
    assert not out[:3].any()
    assert not out[7:].any()
