"""What a row's state may depend on. Everything that cuts, merges or keeps copies asks here first."""

from __future__ import annotations

from typing import Literal, cast, get_args

from torch import nn

from policylearn.nn.norms import RowBatchNorm, RowNorm

Scope = Literal["row", "copy", "bag", "batch"]
"""The row alone, its copy, all copies of its graph, or the whole batch; each holds the ones before it."""


def scope_of(encoder: object) -> Scope:
    """What an encoder declares by its attribute ``scope``; one that declares nothing is taken at the widest."""
    scope = getattr(encoder, "scope", "batch")
    if scope not in get_args(Scope):
        raise ValueError(f"an encoder's 'scope' must be one of {', '.join(get_args(Scope))} (got {scope!r})")
    return cast(Scope, scope)


def copies_are_independent(encoder: object) -> bool:
    """Whether copies do not see each other, so that those of several bags may lie side by side in one.

    Norms that take statistics of the rows they are given see all of them nevertheless, as batch norms do in training.
    """
    return scope_of(encoder) in ("row", "copy")


def can_be_cut(encoder: object) -> bool:
    """Whether a bag may now be run in pieces that are put together afterwards."""
    return copies_are_independent(encoder) and not mixes_rows(encoder)


def depends_on_batch(network: object) -> bool:
    """Whether an output for a graph may depend on what else is in its batch, in evaluation."""
    norms = network.modules() if isinstance(network, nn.Module) else ()
    return scope_of(network) == "batch" or any(_keeps_no_statistics(norm) for norm in norms)


def mixes_rows(network: object) -> bool:
    """Whether a norm of the network takes statistics of the rows at hand, so that pieces of a bag give other states."""
    if not isinstance(network, nn.Module):
        return False
    return any(_takes_statistics(module) for module in network.modules())


def _takes_statistics(module: nn.Module) -> bool:
    if isinstance(module, RowNorm):
        return module.mixes
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and (module.training or _keeps_no_statistics(module))


def _keeps_no_statistics(module: nn.Module) -> bool:
    if isinstance(module, RowBatchNorm):
        return not module.track
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and not module.track_running_stats
