"""Communities of nodes from the times of a random part of all pairs.

A fast pair is a link between two nodes that are probably in one group. Groups are the communities
of the graph of fast pairs:

1. Pairs are fast or slow by the minimum error of two normal distributions of the logarithms
   (Kittler & Illingworth 1986), minus an effect of each node: the median difference of its pairs
   from their kind. Slow nodes then form no community.
2. The number of communities is the number of negative eigenvalues of the graph's Bethe Hessian
   (Saade, Krzakala & Zdeborova 2014). A pivoted QR factorisation of its eigenvectors gives the
   communities (Damle, Minden & Ying 2019).
3. Each node joins the community that explains its own pairs best, fast and slow, by likelihood; a
   node whose pairs don't decide stays alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assay.arrays import Bools, Floats, Ints
from assay.models.network.pair_times import PairTimes, node_quantiles

# Numbers of repetitions: of node effects and cut, and of the assignment of nodes.
_FITS = 3
_ROUNDS = 10
# Minimum likelihood ratio of the best community to the next best one for a node to join it.
_DECIDED = math.log(20)
# Maximum number of communities that are searched for.
_MOST = 256
# Minimum number and minimum share of the pairs of a kind.
_FEWEST, _FEWEST_SHARE = 20, 1e-3
# Times this number of interquartile ranges above the third quartile belong to neither kind.
_FAR_OUT = 3.0
# Minimum variance of a kind, as a share of the variance of all pairs: identical times are not a
# kind.
_FLOOR = 1e-4
# Below this variance, logarithms differ only by rounding.
_EQUAL = 1e-24
# Maximum number of nodes for which all eigenvalues are computed.
_DENSE = 400


@dataclass(frozen=True)
class Kinds:
    """Fast and slow pairs."""

    #: Logarithms without node effects.
    rest: Floats
    #: Whether each pair is fast.
    fast: Bools

    @property
    def share(self) -> float:
        """The share of fast pairs."""
        return float(self.fast.mean())

    @property
    def evidence(self) -> float:
        """Number of standard errors by which pairs are denser around the fast ones than in the
        valley between both kinds; 0 or less if there is only one kind.
        """
        low, high = (float(np.median(self.rest[kind])) for kind in (self.fast, ~self.fast))
        width = (high - low) / 4
        ordered = np.sort(self.rest)
        centres = np.linspace(low, high, 33)
        counts = np.searchsorted(ordered, centres + width / 2, side="right")
        counts -= np.searchsorted(ordered, centres - width / 2)
        valley = int(counts.min())
        return float((counts[0] - valley) / math.sqrt(counts[0] + valley + 1))


def kinds_of(pairs: PairTimes, logs: Floats) -> Kinds | None:
    """Fast and slow pairs by their logarithms; None if all times are alike."""
    if len(logs) <= 2 * _FEWEST or not np.ptp(logs) > 0:
        return None
    effects = np.zeros(pairs.nodes)
    rest = logs
    for fit in range(_FITS + 1):
        fast = rest < _cut(rest)
        if fast.all() or not fast.any():
            return None
        if fit == _FITS:
            break
        kind = np.where(fast, np.median(rest[fast]), np.median(rest[~fast]))
        found = effects + node_quantiles(pairs, rest - kind, 0.5)
        effects = np.where(np.isnan(found), 0.0, found)
        rest = logs - effects[pairs.ones] - effects[pairs.others]
    return Kinds(rest, fast)


def _cut(values: Floats) -> float:
    """The cut into two normal distributions with the fewest errors; -inf for equal values."""
    ordered = np.sort(values)
    quarter, three = np.quantile(ordered, (0.25, 0.75))
    if three > quarter:
        ordered = ordered[ordered <= three + _FAR_OUT * (three - quarter)]
    middle = float(ordered.mean())
    ordered = ordered - middle
    count = np.arange(1, ordered.size)
    share = count / ordered.size
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    floor = _FLOOR * squares[-1] / ordered.size
    if not floor > _EQUAL:
        return -math.inf
    low = squares[:-1] / count - (sums[:-1] / count) ** 2
    rest = ordered.size - count
    high = (squares[-1] - squares[:-1]) / rest - ((sums[-1] - sums[:-1]) / rest) ** 2
    errors = share * (np.log(np.maximum(low, floor)) - 2 * np.log(share))
    errors += (1 - share) * (np.log(np.maximum(high, floor)) - 2 * np.log(1 - share))
    fewest = max(_FEWEST, _FEWEST_SHARE * ordered.size)
    errors[(count < fewest) | (rest < fewest)] = math.inf
    best = int(np.argmin(errors))
    return middle + float(ordered[best] + ordered[best + 1]) / 2


def communities(pairs: PairTimes, kinds: Kinds, seed: int) -> Ints:
    """The community of each node; -1 for a node in none. ``seed``: seed of the eigensolver's
    start."""
    none = np.full(pairs.nodes, -1)
    a, b = pairs.ones[kinds.fast], pairs.others[kinds.fast]
    if not a.size or pairs.nodes < 4:
        return none
    rows = _eigenvectors(pairs.nodes, a, b, seed)
    if rows.shape[1] < 2:
        return none
    return _refined(_by_pivots(rows), pairs, kinds.fast)


def _eigenvectors(nodes: int, a: Ints, b: Ints, seed: int) -> Floats:
    """Eigenvectors of the negative eigenvalues of the Bethe Hessian, as columns."""
    from scipy.sparse import coo_array, diags_array, eye_array
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    ends = np.concatenate([a, b]), np.concatenate([b, a])
    graph = coo_array((np.ones(2 * a.size), ends), shape=(nodes, nodes)).tocsr()
    degree = np.bincount(ends[0], minlength=nodes).astype(np.float64)
    root = math.sqrt(max(float((degree**2).mean() / degree.mean()) - 1, 1.0))
    hessian = (root**2 - 1) * eye_array(nodes) - root * graph + diags_array(degree)
    if nodes <= _DENSE:
        values, vectors = np.linalg.eigh(hessian.toarray())
    else:
        # If groups have equal sizes, their number is 1 / share; unequal groups are fewer.
        share = 2 * a.size / nodes / max(float(degree.max()), 1.0)
        count = min(_MOST, nodes - 2, 32 + math.ceil(1 / share))
        start = np.random.default_rng(seed).random(nodes)
        try:
            values, vectors = eigsh(hessian, k=count, which="SA", v0=start, tol=1e-3)
        except ArpackNoConvergence as found:
            values, vectors = found.eigenvalues, found.eigenvectors
    return np.asarray(vectors[:, values < 0])


def _by_pivots(rows: Floats) -> Ints:
    """A community per column: rows that point the same way (Damle, Minden & Ying 2019)."""
    from scipy.linalg import qr, svd

    length = np.linalg.norm(rows, axis=1)
    known = length > 0.1 * float(np.median(length))
    _, _, pivots = qr(rows[known].T, pivoting=True, mode="economic")
    left, _, right = svd(rows[known][pivots[: rows.shape[1]]].T, full_matrices=False)
    labels = np.full(len(rows), -1)
    labels[known] = np.abs(rows[known] @ (left @ right)).argmax(axis=1)
    return labels


def _refined(labels: Ints, pairs: PairTimes, fast: Bools) -> Ints:
    """The community that explains each node's pairs best; -1 if the pairs don't decide.

    Communities are joined if pairs between them are as fast as pairs within them: eigenvalues of
    noise split some communities.
    """
    a = np.concatenate([pairs.ones, pairs.others])
    b = np.concatenate([pairs.others, pairs.ones])
    every = np.arange(pairs.nodes)
    for _ in range(_ROUNDS):
        gains = _gains(labels, pairs, fast)
        if gains is None:
            return np.full(pairs.nodes, -1)
        labels = _merged(labels, pairs, gains)
        count = int(labels.max()) + 1
        known = labels[b] >= 0
        scores = np.bincount(
            a[known] * count + labels[b[known]],
            np.concatenate([gains, gains])[known],
            pairs.nodes * count,
        ).reshape(pairs.nodes, count)
        best = scores.argmax(axis=1)
        top = scores[every, best]
        scores[every, best] = -np.inf if count > 1 else 0.0
        new = np.where(top - scores.max(axis=1) >= _DECIDED, best, -1)
        if np.array_equal(new, labels):
            break
        labels = new
    return _numbered(labels)


def _gains(labels: Ints, pairs: PairTimes, fast: Bools) -> Floats | None:
    """For each pair, the logarithm of the likelihood ratio of being within a community to being
    between two.

    None if pairs within communities are not the faster ones.
    """
    same = pairs.within(labels)
    apart = (labels[pairs.ones] >= 0) & (labels[pairs.others] >= 0) & ~same
    inside = (fast[same].sum() + 1) / (same.sum() + 2)
    outside = (fast[apart].sum() + 1) / (apart.sum() + 2)
    if inside <= outside:
        return None
    return np.where(fast, math.log(inside / outside), math.log((1 - inside) / (1 - outside)))


def _merged(labels: Ints, pairs: PairTimes, gains: Floats) -> Ints:
    """The labels after joining communities that are one, according to the pairs between them."""
    from scipy.sparse.csgraph import connected_components

    count = int(labels.max()) + 1
    one, other = labels[pairs.ones], labels[pairs.others]
    known = (one >= 0) & (other >= 0) & (one != other)
    between = np.bincount(one[known] * count + other[known], gains[known], count**2)
    between = between.reshape(count, count)
    _, joined = connected_components(between + between.T >= _DECIDED, directed=False)
    return _numbered(np.where(labels >= 0, joined[labels], -1))


def _numbered(labels: Ints) -> Ints:
    """The same labels, numbered from 0 without gaps; -1 stays."""
    _, named = np.unique(labels, return_inverse=True)
    return np.asarray(named - int((labels < 0).any()))
