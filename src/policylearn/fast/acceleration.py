"""Swap the layers of a model for compiled twins, once and explicitly."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from torch import nn

from policylearn.bags import MarkNodes
from policylearn.fast.encoders import CompiledSingleStreamEncoder, CompiledTwoStreamEncoder
from policylearn.fast.layers import has_hooks, twin_of, why_not
from policylearn.fast.twins import CompiledLearnedPolicy, CompiledSubgraphGNN
from policylearn.models import SubgraphGNN
from policylearn.nn import (
    CopiesThenNodes,
    CopyPool,
    SingleStreamEncoder,
    SingleStreamLayer,
    TwoStreamEncoder,
    TwoStreamLayer,
)
from policylearn.policies import LearnedPolicy

Kernels = Literal["auto", "torch"]
VARIABLE = "POLICYLEARN_KERNELS"
ENCODERS: dict[type, Any] = {
    TwoStreamEncoder: CompiledTwoStreamEncoder,
    SingleStreamEncoder: CompiledSingleStreamEncoder,
}
Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Acceleration:
    """What `accelerate` made of a model.

    Args:
        compiled: names of the layers that were swapped for compiled twins.
        cones: names of the modules that compute cones of marks at inference; the model itself is "model".
        left: names of modules of which something was not swapped, and why.
    """

    compiled: tuple[str, ...] = ()
    cones: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        places = Counter(name.rpartition(".")[0] or "model" for name in self.compiled)
        where = ", ".join(f"{count} of {place}" for place, count in places.items())
        lines = [f"compiled layers: {where or 'none'}"]
        lines += [f"cones at inference: {', '.join(self.cones)}"] if self.cones else []
        return "\n".join([*lines, *(f"{name}: {reason}" for name, reason in self.left.items())])


def accelerate(model: Model, *, cones: bool = True) -> Model:
    """A twin of a model that shares all its weights, in which the layers that are known are compiled ones for the CPU.

    The twin has the same parameters and buffers under the same names, and gives the same outputs and gradients up to
    rounding. Its ``acceleration`` says what was swapped, what was not and why. From now on use the twin. Layers that
    have hooks are left as they are; a hook that is put on a part of a compiled layer later is not called, and a part
    that is exchanged later is not checked again. With ``POLICYLEARN_KERNELS=torch`` nothing is swapped.

    Args:
        model: any model; one that is accelerated already is given back.
        cones: compute only cones of marks at inference, where the model allows for it.
    """
    if hasattr(model, "acceleration"):
        return model
    if wanted_kernels() == "torch":
        off = {"model": f"nothing is compiled, as {VARIABLE} is 'torch'"}
        return _with_report(copy.copy(model), Acceleration(left=off))
    left: dict[str, str] = {}
    twins: dict[int, nn.Module] = {}
    compiled, with_cones = [], []
    for name, module in model.named_modules():
        if isinstance(module, TwoStreamLayer | SingleStreamLayer):
            why = why_not(module)
            if why is None:
                twins[id(module)] = twin_of(module)
                compiled.append(name)
            else:
                left[name or "model"] = f"not compiled, as {why}"
    for name, module in model.named_modules():
        if cones and isinstance(module, SubgraphGNN | LearnedPolicy):
            why = _why_no_cones(module, twins)
            if why is None:
                with_cones.append(name or "model")
            else:
                left[name or "model"] = f"no cones, as {why}"
    twin = _rebuild(model, twins, set(with_cones))
    if not compiled and not left:
        left["model"] = "nothing is compiled, as no layer is known here"
    return _with_report(twin, Acceleration(tuple(compiled), tuple(with_cones), left))


def _with_report(twin: Model, report: Acceleration) -> Model:
    twin.acceleration = report  # type: ignore[assignment]
    return twin


def _all_compiled(encoder: object, twins: Mapping[int, nn.Module]) -> bool:
    layers = getattr(encoder, "layers", None)
    return isinstance(layers, nn.ModuleList) and len(layers) > 0 and all(id(layer) in twins for layer in layers)


def _why_no_cones(module: SubgraphGNN | LearnedPolicy, twins: Mapping[int, nn.Module]) -> str | None:
    """Why a model or a policy cannot compute cones alone; None if it can."""
    if type(module) not in (SubgraphGNN, LearnedPolicy):
        return f"{type(module).__name__} may compute something else"
    encoder = module.encoder
    if type(encoder) is not TwoStreamEncoder or not _all_compiled(encoder, twins):
        return "its encoder is not all compiled layers of two streams"
    if type(module.rule) is not MarkNodes:
        return f"copies are made by {type(module.rule).__name__}"
    if isinstance(module, LearnedPolicy):
        passed_by = [encoder, module.pool]
        if module.mode != "incremental" or type(module.pool) is not CopyPool:
            return "it looks at whole bags"
    else:
        passed_by = [encoder, module.readout]  # type: ignore[list-item]
        if type(module.readout) is not CopiesThenNodes:
            return f"its readout is {type(module.readout).__name__}"
    if any(has_hooks(part) for whole in passed_by for part in whole.modules()):
        return "they would pass by hooks"
    return None


def _rebuild(model: Model, twins: dict[int, nn.Module], cones: set[str]) -> Model:
    """A model of the same weights in which every part that has a twin is that twin, encoders and models too."""
    parts = [(name or "model", module) for name, module in model.named_modules()]
    for name, module in reversed(parts):  # the parts of a module come after it
        if type(module) in ENCODERS:
            if _all_compiled(module, twins) and not has_hooks(module):
                layers = [twins[id(layer)] for layer in module.layers]
                twin = twins[id(module)] = ENCODERS[type(module)](module.node_encoder, layers)
                twin.training = module.training
        elif name in cones and isinstance(module, LearnedPolicy):
            twins[id(module)] = CompiledLearnedPolicy.of(module, twins[id(module.encoder)])
        elif name in cones and isinstance(module, SubgraphGNN):
            policy = _copied(module.policy, twins) if isinstance(module.policy, nn.Module) else module.policy
            twins[id(module)] = CompiledSubgraphGNN.of(module, policy, twins[id(module.encoder)])
    return copy.copy(model) if not twins else _copied(model, twins)


def _copied(module: Model, twins: Mapping[int, nn.Module]) -> Model:
    """The module with twins in place of its parts; of these, what holds no twin is not copied, nor is any weight."""
    known: dict[int, object] = dict(twins)
    for part in module.modules():
        if not any(id(inner) in twins for inner in part.modules()):
            known[id(part)] = part
        known |= {id(one): one for one in (*part.parameters(recurse=False), *part.buffers(recurse=False))}
    return copy.deepcopy(module, known)


def wanted_kernels() -> Kernels:
    """What the environment variable asks for, else `auto`."""
    name = os.environ.get(VARIABLE, "auto")
    if name not in get_args(Kernels):
        raise ValueError(f"{VARIABLE} must be one of {', '.join(get_args(Kernels))} (got '{name}')")
    return name  # type: ignore[return-value]
