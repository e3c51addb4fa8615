"""Which graphs gain: differences between variants, paired over graphs, by properties of the graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lab.errors import PairedDifference, Rows, has_errors, paired_difference
from lab.marks import edges_of, smallest_rings
from lab.run_record import RunRecord
from lab.settings import kept_source, look_up, read_settings
from policylearn.data import DataError, Dataset
from policylearn.data.packed import Array
from policylearn.data.scaffolds import scaffold
from policylearn.data.synthetic import num_components
from policylearn.settings import ConfigError, DataConfig, RunConfig, changed
from policylearn.wording import hint, markdown_table

PARTS = ("valid", "test")
MOST_VALUES = 20
"""Of a property without cuts."""


def nodes(dataset: Dataset) -> Array:
    """Nodes of each graph."""
    return dataset.graphs.num_nodes


def degree(dataset: Dataset) -> Array:
    """Largest number of edges that leave a node."""
    graphs = dataset.graphs
    source = graphs.edge_index[0] + np.repeat(graphs.node_ptr[:-1].astype(np.int64), graphs.num_edges)
    degrees = np.bincount(source, minlength=len(graphs.x))
    return np.maximum.reduceat(degrees, graphs.node_ptr[:-1])


def rings(dataset: Dataset) -> Array:
    """Independent cycles of each graph, for graphs that hold both directions of each edge."""
    graphs = dataset.graphs
    return graphs.num_edges // 2 - graphs.num_nodes + num_components(graphs)


def largest_ring(dataset: Dataset) -> Array:
    """Nodes of the largest ring of a smallest set of rings (a minimum cycle basis); 0 without rings."""
    graphs = dataset.graphs
    found = np.zeros(len(graphs), dtype=np.int64)
    wanted = np.concatenate([part for split in dataset.splits for part in (split.valid, split.test)])
    for row in np.unique(wanted).tolist():  # those of the training part are never asked for
        found[row] = max(map(len, smallest_rings(edges_of(graphs, row))), default=0)
    return found


def scaffold_seen(dataset: Dataset) -> Array:
    """1 where a molecule's scaffold occurs in the training part, else 0."""
    smiles = dataset.graphs.smiles
    if smiles is None:
        raise DataError(f"{dataset.name}: 'scaffold_seen' needs SMILES; choose one of {', '.join(PROPERTIES)}")
    scaffolds = np.array([scaffold(one) for one in smiles])
    return np.isin(scaffolds, scaffolds[dataset.splits[0].train]).astype(np.int64)


def target(dataset: Dataset) -> Array:
    """The first target."""
    return dataset.graphs.y.reshape(len(dataset.graphs), -1)[:, 0]


def group(dataset: Dataset) -> Array:
    """The column of the table that ``data.group_column`` names."""
    if "group" not in dataset.graphs.extras:
        raise DataError(f"{dataset.name}: 'group' needs a column of the table; name it in data.group_column and train")
    return np.asarray(dataset.graphs.extras["group"])


PROPERTIES: dict[str, Callable[[Dataset], Array]] = {
    one.__name__: one for one in (nodes, degree, rings, largest_ring, scaffold_seen, target, group)
}


@dataclass(frozen=True)
class StrataPlan:
    """A property of graphs, and where it is cut; without cuts, each value is a stratum."""

    name: str
    cuts: tuple[float, ...]

    @staticmethod
    def read(text: str) -> StrataPlan:
        """Read ``largest_ring:6``, ``nodes:20,30`` or ``group``; a value that equals a cut belongs below it."""
        name, colon, cuts = text.partition(":")
        look_up("property", name, PROPERTIES)
        try:
            found = tuple(sorted(float(cut) for cut in cuts.split(","))) if colon else ()
        except ValueError:
            raise ConfigError(f"'{text}' must name where '{name}' is cut, such as {name}:6 or {name}:6,8") from None
        return StrataPlan(name, found)

    def strata(self, values: Array, known: Array) -> Iterator[tuple[str, Array]]:
        """Each stratum's name and which values are in it; ``known`` are the values that have a stratum without cuts."""
        if not self.cuts:
            distinct = np.unique(known)
            if len(distinct) > MOST_VALUES:
                raise ConfigError(
                    f"'{self.name}' has {len(distinct)} values, more than {MOST_VALUES}; say where to cut numbers,"
                    f" such as {self.name}:6,8"
                )
            yield from ((f"{self.name} = {one}", values == one) for one in distinct)
            return
        try:
            values = values.astype(np.float64)
        except ValueError:
            raise ConfigError(f"'{self.name}' holds text, which cannot be cut; leave out the cuts") from None
        edges = (-np.inf, *self.cuts, np.inf)
        for low, high in pairwise(edges):
            said = f"{self.name} <= {high:g}" if low == -np.inf else f"{low:g} < {self.name}"
            yield said + (f" <= {high:g}" if -np.inf < low and high < np.inf else ""), (values > low) & (values <= high)


@dataclass(frozen=True)
class PairedRun:
    """A training of a variant on a dataset."""

    data: str
    variant: str
    seed: int
    record: RunRecord


def stratified(records: Sequence[PairedRun], reference: str, plans: Sequence[StrataPlan]) -> str:
    """A table of all variants against the reference, by part and stratum."""
    variants = list(dict.fromkeys(record.variant for record in records))
    if variants and reference not in variants:
        raise ConfigError(f"no run is of '{reference}'; {hint(reference, variants, 'give ' + ', '.join(variants))}")
    rows = []
    records = [one for one in records if has_errors(one.record.file)]  # the first runs kept none
    for data in dict.fromkeys(record.data for record in records):
        base = {record.seed: record for record in records if record.data == data and record.variant == reference}
        for variant in variants:
            own = [one for one in records if (one.data, one.variant) == (data, variant) and one.seed in base]
            if variant == reference or not own:
                continue
            pairs = [(one.record.file, base[one.seed].record.file) for one in own]
            for part in PARTS:
                for name, chosen in _strata(own, part, plans):
                    found = paired_difference(own[0].record.metric, pairs, part, chosen)
                    if found is not None:
                        rows.append((data, variant, part, name, *_cells(found)))
    if not rows:
        raise DataError(
            f"no run can be paired with one of '{reference}': either none kept the errors of the same graphs, or the"
            " metric is no mean over graphs (ROC-AUC)"
        )
    headings = ("data", "variant", "part", "graphs with", "graphs", "seeds", "own", reference, "better by")
    return markdown_table((*headings, "over graphs", "over seeds", "share of the five worst"), rows)


def _strata(own: Sequence[PairedRun], part: str, plans: Sequence[StrataPlan]) -> Iterator[tuple[str, list[Rows]]]:
    """Each stratum, with the graphs of it in the data of each seed; all graphs first."""
    configs = [_data_of(one) for one in own]
    ids = [getattr(kept_source(config).dataset.splits[config.fold or 0], part) for config in configs]
    yield "all", [(one, np.full(len(one), True)) for one in ids]
    for plan in plans:
        values = [_values(config, plan.name)[one] for config, one in zip(configs, ids, strict=True)]
        by_seed = [list(plan.strata(one, np.concatenate(values))) for one in values]
        for place, (name, _) in enumerate(by_seed[0]):
            yield name, [(one, found[place][1]) for one, found in zip(ids, by_seed, strict=True)]


_COMPUTED: dict[tuple[str, str], Array] = {}


def _values(config: DataConfig, name: str) -> Array:
    key = repr(config), name
    if key not in _COMPUTED:
        _COMPUTED[key] = PROPERTIES[name](kept_source(config).dataset)
    return _COMPUTED[key]


def _data_of(run: PairedRun) -> DataConfig:
    return changed(RunConfig(), {"data": read_settings(run.record.config)["data"]}).data


def _cells(found: PairedDifference) -> tuple[str, ...]:
    values = (str(found.graphs), str(found.pairs), f"{found.ours:.4f}", f"{found.theirs:.4f}", f"{found.gain:+.4f}")
    errors = ("" if np.isnan(error) else f"± {error:.4f}" for error in (found.graph_error, found.seed_error))
    return (*values, *errors, " and ".join(f"{share:.0%}" for share in found.worst))
