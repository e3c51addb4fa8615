"""The verbs of ``python -m lab``, one file each."""
