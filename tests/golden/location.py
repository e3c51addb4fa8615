"""Where the golden cases are: beside these tests, or in a folder of the same layout (``*.npz``, ``systems/*.npz``)."""

import os
from pathlib import Path

GOLDEN = Path(os.environ.get("POLICYLEARN_GOLDEN") or Path(__file__).parent / "cases")
