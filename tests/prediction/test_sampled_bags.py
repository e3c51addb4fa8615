from __future__ import annotations

import pytest
import torch

from policylearn.nn import Graphs
from policylearn.prediction.sampled_bags import sampled_outputs
from tests.graphs import batch_of, molecules, small_model


@pytest.mark.parametrize("settings", [{}, {"track_running_stats": False}, {"mode": "paper"}])
def test_samples_do_not_touch_each_other(settings: dict) -> None:
    """Neither how many are asked for nor how many fit side by side changes what one comes out as."""
    model = small_model("learned", dtype=torch.float64, **settings).eval()
    graphs = Graphs.of(batch_of(*molecules(5)))
    with torch.no_grad():
        four = sampled_outputs(model, graphs, 4, seed=1)
        assert torch.allclose(sampled_outputs(model, graphs, 2, seed=1), four[:2], atol=1e-12)
        model.max_rows = 1
        assert torch.allclose(sampled_outputs(model, graphs, 4, seed=1), four, atol=1e-12)
    assert not torch.equal(four[0], four[1])
