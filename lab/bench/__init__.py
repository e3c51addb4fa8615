"""Benchmarks: our model against plain PyTorch and against the authors' way of writing it, turn by turn."""
