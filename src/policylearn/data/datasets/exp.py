"""EXP: pairs of planar graphs that 1-WL cannot tell apart."""

from policylearn.data.datasets.entry import Entry, Home, classes
from policylearn.data.datasets.registry import register

register(
    Entry(
        name="exp",
        file="exp.npz",
        title="pairs that 1-WL cannot tell apart",
        graphs=1_200,
        nodes=53_336,
        edges=132_260,
        task=classes(2),
        protocol="stratified 10-fold",
        split="10 folds",
        home=Home(archive="https://github.com/ralphabb/GNN-RNI", credit="Abboud et al."),
    )
)
