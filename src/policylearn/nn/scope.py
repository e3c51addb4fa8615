"""What a row's state may depend on. Everything that cuts, merges or keeps copies asks here first."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from torch import nn

from policylearn.nn.norms import RowBatchNorm

Scope = Literal["row", "copy", "bag", "batch"]
"""The row alone, its copy, all copies of its graph, or the whole batch; each holds the ones before it."""

TORCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


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
    mixes_rows = any(norm.training or not keeps_statistics(norm) for norm in batch_norms(encoder))
    return copies_are_independent(encoder) and not mixes_rows


def depends_on_batch(network: object) -> bool:
    """Whether an output for a graph may depend on what else is in its batch, in evaluation."""
    return scope_of(network) == "batch" or parts_depend_on_batch(network)


def parts_depend_on_batch(network: object) -> bool:
    """Whether a module within says so, has the scope ``batch``, or is a norm with the statistics of its batch."""
    modules = network.modules() if isinstance(network, nn.Module) else ()
    declared = any(getattr(one, "scope", "") == "batch" or getattr(one, "depends_on_batch", False) for one in modules)
    return declared or not all(keeps_statistics(norm) for norm in batch_norms(network))


def batch_norms(network: object) -> list[Any]:
    """The batch norms of a network, ours and torch's."""
    modules = network.modules() if isinstance(network, nn.Module) else ()
    return [module for module in modules if isinstance(module, (RowBatchNorm, *TORCH_NORMS))]


def keeps_statistics(norm: Any) -> bool:
    """Whether a batch norm has running statistics, which it uses in evaluation."""
    return bool(norm.track if isinstance(norm, RowBatchNorm) else norm.track_running_stats)
