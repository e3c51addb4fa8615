"""Outputs over bags that are drawn anew: how much a prediction hangs on which nodes were marked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from policylearn.models import SubgraphGNN
from policylearn.nn import Graphs, mixes_rows
from policylearn.policies import LearnedPolicy, RandomPolicy
from policylearn.policies.random import hashed_uniform, structure_hash

SEED_STRIDE = 1_000_003
"""Keeps the steps of one bag apart from those of the next."""


def sampled_outputs(model: SubgraphGNN, graphs: Graphs, samples: int, seed: int) -> Tensor:
    """Raw outputs over bags that the policy draws, ``(K, R, outputs)``.

    What is drawn for a graph is a function of the seed and of the graph's structure, not of the batch that it is in.

    Args:
        model: in evaluation mode, with a policy that can draw.
        graphs: the batch.
        samples: K, bags a graph.
        seed: of the draws.
    """
    policy = model.policy
    words = [int(np.random.SeedSequence([seed, sample]).generate_state(1)[0]) for sample in range(samples)]
    if isinstance(policy, RandomPolicy):
        again = (RandomPolicy(policy.picks, replacement=policy.replacement, seed=word).eval() for word in words)
        return torch.stack([model.predict(graphs, drawn(graphs)) for drawn in again])
    if isinstance(policy, LearnedPolicy):
        return torch.cat(list(_learned(model, policy, graphs, words)))
    raise ValueError("this policy draws nothing at random, so there is no spread; it takes a learned or random policy")


def _learned(model: SubgraphGNN, policy: LearnedPolicy, graphs: Graphs, words: list[int]) -> Iterator[Tensor]:
    """As many samples side by side as the model may hold rows; one where norms would mix the samples."""
    at_once = 1 if mixes_rows(model) else max(1, model.max_rows // (graphs.num_nodes * max(policy.picks, 1)))
    fingerprint = structure_hash(graphs)
    for start in range(0, len(words), at_once):
        piece = words[start : start + at_once]
        noise = torch.stack(
            [
                torch.cat([_gumbel(fingerprint + word * SEED_STRIDE + step, graphs) for word in piece])
                for step in range(policy.picks)
            ]
        )  # (T, K * N)
        selection = policy(graphs, noise=noise, sample=True, samples=len(piece))
        output = model.predict(graphs, selection, samples=len(piece))
        yield output.view(len(piece), -1, output.shape[1])


def _gumbel(seeds: Tensor, graphs: Graphs) -> Tensor:
    """Gumbel noise a node from its graph's seed, ``(G,) -> (N,)``."""
    uniform = hashed_uniform(seeds, graphs).clamp(min=2.0**-54)
    return -torch.log(-torch.log(uniform))
