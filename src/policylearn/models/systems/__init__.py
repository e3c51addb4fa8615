"""The systems, one file each; every file here is found by itself and registers what it holds."""
