"""Pack a run into one file that predicts anywhere, with all that answers beside the network and a model card."""

from __future__ import annotations

import warnings
from pathlib import Path

from policylearn.data.atomic import replacing
from policylearn.data.convert import is_table
from policylearn.prediction.applicability import DOMAIN
from policylearn.prediction.blend import BLEND_FILES
from policylearn.prediction.calibration import CALIBRATION
from policylearn.prediction.model_card import CARD, NOTES, model_card
from policylearn.prediction.predictor import BatchWarning, load
from policylearn.settings.run_config import RunConfig, to_yaml
from policylearn.settings.run_files import CONFIG, ENSEMBLE, FACTS, METRICS, WEIGHTS, RunError
from policylearn.training.packed_run import write_pack
from policylearn.training.runs import load_members

MEMBER_FILES = (FACTS, METRICS, WEIGHTS)
WHOLE_FILES = (METRICS, ENSEMBLE, CALIBRATION, *BLEND_FILES, DOMAIN, NOTES)


def pack_run(folder: str | Path, output: str | Path) -> tuple[str, ...]:
    """Write a finished run or ensemble as one file; the names of the files in it.

    What a prediction does not need stays behind: checkpoints, held-out rows, the report, and where the data lies. The
    file, by custom ``.plm``, is loaded once before it is kept.
    """
    folder, output = Path(folder), Path(output)
    if folder.is_file():
        raise RunError(f"{folder}: is a file, and a run folder is packed")
    if output.is_dir():
        raise RunError(f"{output}: is a folder; name a file for the output")
    files: dict[str, bytes] = {}
    for run in load_members(folder):
        inner = run.folder.relative_to(folder)
        files[(inner / CONFIG).as_posix()] = to_yaml(without_place(run.config)).encode()
        files |= {(inner / name).as_posix(): (run.folder / name).read_bytes() for name in MEMBER_FILES}
    files |= {name: (folder / name).read_bytes() for name in WHOLE_FILES if (folder / name).is_file()}
    files[CARD] = model_card(folder).encode()
    with replacing(output) as part, warnings.catch_warnings(action="ignore", category=BatchWarning):
        write_pack(part, files)
        load(part)
    return tuple(files)


def without_place(config: RunConfig) -> RunConfig:
    """The configuration with the name of its data alone, where that is a file of this machine."""
    name = config.data.name
    if not (is_table(name) or name.endswith(".npz")):
        return config
    return config.replace(data=config.data.replace(name=Path(name).name))
