"""Times of pairs of nodes, one value per launch and pair, for all pairs or a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class PairTimes:
    """Seconds one way of the measured pairs of ``nodes`` nodes.

    ``ones`` < ``others``: the nodes of each pair.
    """

    nodes: int
    ones: Ints
    others: Ints
    #: A row per launch, in the order of pairs; NaN if the launch did not measure the pair. Only
    #: measured pairs are held: for 4,096 nodes a matrix would take 134 MB per launch.
    launches: Floats

    @property
    def in_all(self) -> int:
        """The number of pairs of these nodes."""
        return self.nodes * (self.nodes - 1) // 2

    @property
    def complete(self) -> bool:
        """Whether every pair was measured."""
        return len(self.ones) == self.in_all

    @cached_property
    def seconds(self) -> Floats:
        """The medians over the launches that measured the pair."""
        return median_of_known(self.launches)

    def matrix(self, seconds: Floats) -> Floats:
        """One value per pair as a symmetric matrix; NaN if a pair was not measured."""
        times = np.full((self.nodes, self.nodes), np.nan)
        times[self.ones, self.others] = times[self.others, self.ones] = seconds
        return times

    def within(self, labels: Ints) -> Bools:
        """The pairs whose nodes have the same label. A node labelled -1 shares its label with no
        other."""
        same = (labels[self.ones] == labels[self.others]) & (labels[self.ones] >= 0)
        return np.asarray(same)

    @cached_property
    def logs(self) -> Floats:
        """Medians of logarithms over launches, after shifting each launch to a common median.

        Each launch measures a different random part of the pairs, so that shifts between launches
        would look like differences between pairs. A launch with few pairs per node isn't shifted.
        """
        logs = np.log(self.launches)
        enough = (~np.isnan(logs)).sum(axis=1) >= self.nodes
        if enough.sum() > 1:
            medians = np.nanmedian(logs[enough], axis=1)
            logs[enough] -= (medians - np.median(medians))[:, None]
        return median_of_known(logs)

    def of_launches(self, which: Bools) -> PairTimes:
        """The times of some launches, with the pairs that they measured."""
        rows = self.launches[which]
        known = ~np.isnan(rows).all(axis=0)
        return PairTimes(self.nodes, self.ones[known], self.others[known], rows[:, known])

    def of_nodes(self, nodes: Sequence[int]) -> PairTimes:
        """The times of some nodes, which are numbered from 0 in this order."""
        place = labels_of(self.nodes, [[node] for node in nodes])
        known = (place[self.ones] >= 0) & (place[self.others] >= 0)
        one, other = place[self.ones[known]], place[self.others[known]]
        return PairTimes(
            len(nodes), np.minimum(one, other), np.maximum(one, other), self.launches[:, known]
        )

    def with_node(self, node: int) -> Bools:
        """The pairs of a node."""
        return np.asarray((self.ones == node) | (self.others == node))


def pair_times(nodes: int, launches: Sequence[Sequence[tuple[int, int, float]]]) -> PairTimes:
    """The times of (one, other, seconds) of each launch, in any order of the two nodes."""
    found = [np.array(list(times), dtype=np.float64).reshape(-1, 3) for times in launches]
    ends = [np.sort(times[:, :2].astype(np.int64), axis=1) for times in found]
    keys = [pairs[:, 0] * nodes + pairs[:, 1] for pairs in ends]
    every = np.unique(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
    rows = np.full((len(found), every.size), np.nan)
    for row, key, times in zip(rows, keys, found, strict=True):
        row[np.searchsorted(every, key)] = times[:, 2]
    return PairTimes(nodes, every // nodes, every % nodes, rows)


def labels_of(nodes: int, groups: Sequence[Sequence[int]]) -> Ints:
    """Number of each node's group; -1 for a node in none."""
    labels = np.full(nodes, -1)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    return labels


def depths(pairs: PairTimes, levels: Sequence[Sequence[Sequence[int]]]) -> Ints:
    """For each pair the number of levels at which its nodes are in a common group."""
    found = np.zeros(len(pairs.ones), dtype=np.int64)
    for groups in levels:
        found += pairs.within(labels_of(pairs.nodes, groups))
    return found


def median_of_known(rows: Floats) -> Floats:
    """The median of each column without its NaNs; NaN if it has nothing else."""
    ordered = np.sort(rows, axis=0)  # NaN last
    known = (~np.isnan(rows)).sum(axis=0)
    columns = np.arange(rows.shape[1])
    low = ordered[np.maximum((known - 1) // 2, 0), columns]
    return np.asarray((low + ordered[np.maximum(known // 2, 0), columns]) / 2)


def node_quantiles(pairs: PairTimes, values: Floats, share: float) -> Floats:
    """For each node the quantile ``share`` of the values of its pairs; NaN without pairs."""
    both = np.concatenate([pairs.ones, pairs.others])
    doubled = np.concatenate([values, values])
    order = np.lexsort((doubled, both))
    bounds = np.searchsorted(both[order], np.arange(pairs.nodes + 1))
    count = np.diff(bounds)
    found = np.full(pairs.nodes, np.nan)
    some = count > 0
    place = np.maximum(np.round(share * count[some]).astype(int), 1) - 1
    found[some] = doubled[order][bounds[:-1][some] + place]
    return found
