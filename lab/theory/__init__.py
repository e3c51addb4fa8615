"""The paper's theorems as running code: the WL test with marks, what random marks achieve, weights written by hand."""
