"""Studies made with the package: the paper's tables, its statements, and measurements of speed."""
