"""Molecules drawn by RDKit, with each atom shaded by how likely the policy was to pick it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rdkit import Chem, rdBase
from rdkit.Chem.Draw import rdMolDraw2D

from policylearn.data.molecules import parse
from policylearn.explain.traces import Trace, trace_selection
from policylearn.prediction.predictor import Predictor

PICKED, SHADE = (0.89, 0.34, 0.18), (0.11, 0.42, 0.66)
"""The ring of a picked atom, and the full shade of a probability of one."""
MOST_ATOMS = 150
"""Larger molecules are listed and not drawn: nobody could read the drawing."""


@dataclass(frozen=True)
class PickStep:
    """One pick."""

    number: int  # from 1
    atom: int
    chance: float | None  # of this atom; None where the policy has no probabilities
    svg: str  # the molecule, shaded by the probabilities before the pick; empty where it is too large


@dataclass(frozen=True)
class PickedMolecule:
    """A molecule with its picks, ready for a page."""

    smiles: str
    svg: str
    steps: tuple[PickStep, ...] = ()  # empty where the policy picks nothing in particular
    atoms: tuple[tuple[int, str, tuple[float, ...]], ...] = ()  # number, symbol and probability at each pick


def molecule_svg(
    smiles: str, *, chances: Sequence[float] = (), picked: Sequence[int] = (), size: tuple[int, int] = (280, 210)
) -> str:
    """The drawing of a molecule; empty for one that RDKit cannot draw or nobody could read.

    Atoms are shaded by their ``chances``; those that are ``picked`` are ringed, with the number of the pick.
    """
    with rdBase.BlockLogs():
        molecule = parse(smiles)
        if molecule is None or not 0 < molecule.GetNumAtoms() <= MOST_ATOMS:
            return ""
        for order, atom in enumerate(picked):
            before = molecule.GetAtomWithIdx(atom)
            note = before.GetProp("atomNote") + "," if before.HasProp("atomNote") else ""
            before.SetProp("atomNote", f"{note}{order + 1}")
        top = max(chances, default=0.0)
        colours = {
            atom: tuple(1 - (1 - part) * 0.75 * value / top for part in SHADE)
            for atom, value in enumerate(chances)
            if top > 0 and value / top > 0.02
        }
        colours |= dict.fromkeys(picked[-1:], PICKED) | dict.fromkeys(picked[:-1], (0.96, 0.75, 0.66))
        drawing = rdMolDraw2D.MolDraw2DSVG(*size)
        options: Any = drawing.drawOptions()  # its type stubs call every option a MolDrawOptions
        options.clearBackground = False
        options.annotationFontScale = 1.0
        options.padding = 0.08
        options.fixedBondLength = 30  # without it, methanol fills the card
        options.highlightRadius = 0.4
        rdMolDraw2D.PrepareAndDrawMolecule(
            drawing, molecule, highlightAtoms=list(colours), highlightAtomColors=colours, highlightBonds=[]
        )
        drawing.FinishDrawing()
    text = drawing.GetDrawingText()
    body = text[text.index("<svg") :].replace(f"width='{size[0]}px' height='{size[1]}px'", "")
    return body.replace("<svg", "<svg role='img' aria-label='molecule'", 1)


@torch.no_grad()
def picked_molecules(predictor: Predictor, smiles: Sequence[str]) -> list[PickedMolecule]:
    """What the policy looks at in each molecule that can be read; of an ensemble, that of the first member."""
    select = getattr(predictor.model, "select", None)
    traces: list[Trace | None] = []
    prepared = predictor.prepare(list(smiles))
    for graphs in [] if prepared is None else predictor.prepared_batches(prepared, predictor.batch_size(None)):
        selection = None if select is None else select(graphs)
        everyone = range(graphs.num_graphs)
        traces += [None if selection is None else trace_selection(selection, graphs, graph) for graph in everyone]
    return [
        PickedMolecule(text, molecule_svg(text), *steps_of(text, trace))
        for text, trace in zip(smiles, traces, strict=True)
    ]


def steps_of(
    smiles: str, trace: Trace | None
) -> tuple[tuple[PickStep, ...], tuple[tuple[int, str, tuple[float, ...]], ...]]:
    """The picks with a drawing each, and the atoms with their probabilities; see `PickedMolecule`."""
    if trace is None or len(trace.picks) == trace.num_nodes:  # a full bag picks nothing in particular
        return (), ()
    steps = []
    for number, atom in enumerate(trace.picks):
        row = () if trace.probabilities is None else trace.probabilities[number]
        drawing = molecule_svg(smiles, chances=row, picked=trace.picks[: number + 1])
        steps.append(PickStep(number + 1, atom, row[atom] if row else None, drawing))
    if trace.probabilities is None or not steps:
        return tuple(steps), ()
    with rdBase.BlockLogs():
        molecule: Chem.Mol | None = parse(smiles)
    symbols = [] if molecule is None else [atom.GetSymbol() for atom in molecule.GetAtoms()]
    columns = list(zip(*trace.probabilities[: len(steps)], strict=True))
    return tuple(steps), tuple(zip(range(len(symbols)), symbols, columns, strict=True))
