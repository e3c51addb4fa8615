"""The verbs, one file each; every file here is found by itself."""
