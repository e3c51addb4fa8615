"""Molecules drawn by RDKit, with each atom shaded by how likely the policy was to pick it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdkit import rdBase
from rdkit.Chem.Draw import rdMolDraw2D

from policylearn.data.molecules import parse

PICKED, SHADE = (0.89, 0.34, 0.18), (0.11, 0.42, 0.66)
"""The ring of a picked atom, and the full shade of a probability of one."""
MOST_ATOMS = 150
"""Larger molecules are listed and not drawn: nobody could read the drawing."""


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
