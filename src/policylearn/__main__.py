"""``python -m policylearn`` is the command."""

import sys

from policylearn.cli import main

sys.exit(main())
