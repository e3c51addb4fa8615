"""SR25: the 15 strongly regular graphs with parameters (25, 12, 5, 6)."""

from policylearn.data.datasets.entry import Entry, Home, classes
from policylearn.data.datasets.registry import register

register(
    Entry(
        name="sr25",
        file="sr25.npz",
        title="strongly regular (25, 12, 5, 6)",
        graphs=15,
        nodes=375,
        edges=4_500,
        task=classes(15),
        protocol="none",
        split="none",
        home=Home(archive="https://users.cecs.anu.edu.au/~bdm/data/graphs.html", credit="Brendan McKay"),
    )
)
