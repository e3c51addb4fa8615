"""How many weights the published settings come to, as the pages of the systems count them."""

from __future__ import annotations

from typing import Any

import pytest

from policylearn.models import Inputs, build_model
from policylearn.nn import Features

ZINC = Inputs(
    Features((28,)),
    Features((4,)),
    learned={
        "cycle_codes": {"vocabularies": [range(size) for size in (2, 3, 4, 6, 3, 4)]},
        "mean_log_degree": {"mean": 1.12058504},
    },
)
REDDIT = Inputs(outputs=2)
ALCHEMY = Inputs(Features((6,)), Features((4,)), outputs=12)


@pytest.mark.parametrize(
    ("name", "inputs", "changes", "weights"),
    [
        ("cin", ZINC, {}, 1_700_865),
        ("cin", ZINC, {"channels": 68}, 487_425),
        ("cin", ZINC, {"layers": 3, "channels": 64}, 331_265),
        ("cin-small", ZINC, {}, 130_945),
        ("sin", REDDIT, {}, 373_122),
        ("gsn", ZINC, {}, 523_201),
        ("gsn", ZINC, {"channels": 64}, 102_145),
        ("pna", ZINC, {}, 369_235),
        ("pna", ZINC, {"layers": 4, "last_channels": 60, "edge_channels": 50}, 95_111),
        ("gin-pe", ALCHEMY, {}, 120_526),
        ("hymn", ZINC, {}, 497_283),
    ],
)
def test_number_of_weights(name: str, inputs: Inputs, changes: dict[str, Any], weights: int) -> None:
    assert sum(weight.numel() for weight in build_model(name, changes, inputs).parameters()) == weights
