"""Search for the best of many placements from few noisy measurements, with its probability.

A search is a function of the measurements and a seed, without other state, so that an interrupted
search resumes as if it had not been interrupted.

The costs' logarithms are a Gaussian process over the placements (Rasmussen & Williams 2006, 2.2 and
2.7): a trend in the logarithms of the counts, a smooth surface over them, an effect and a separate
surface for each word (binding, order, adapter), and an effect of each single placement, because
caches cause steps. An effect of the measurement's block is added, and noise with Student's t of
four degrees of freedom (Lange, Little & Taylor 1989), because some launches are much too slow. This
is stochastic kriging (Ankenman, Nelson & Staum 2010). The variance of each part is estimated by
marginal likelihood (Rasmussen & Williams, 5.4.1), so that words without effect drop out.

The first block covers the placements; each further placement is chosen where the process is least
certain (MacKay 1992). The second block repeats it: one disturbed launch must not exclude a whole
region, and the noise is estimated from repeated measurements. Later blocks hold the best candidate
so far and possibly better ones, drawn from the posterior: top-two Thompson sampling (Russo 2020) in
batches. A search ends when the chosen placement costs at most ``within`` more than the best with
the required probability.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Indexes
from assay.stats.core.one_thread import one_thread

# Degrees of freedom of the noise; heavy tails allow for disturbed launches.
TAILS = 4.0
# Length scales of the surface, in doublings of a count; the likelihood selects one.
_LENGTH_SCALES = (1.0, 2.0, 4.0)
# Standard deviations of the trend: of its level, and per doubling of a count. Perfect scaling is
# log 2 = 0.69 per doubling.
_LEVEL, _SLOPE = 2.0, 0.7
# Priors of the parts of the process: standard deviations of the logarithm, and their uncertainty
# (of the variance's logarithm): a factor of e either way. The effect of a single candidate has a
# narrower prior: few measurements determine it, and too small an estimate would exclude placements
# that were never measured.
_SMOOTH, _WORD, _WORD_SURFACE, _OWN, _BLOCK, _NOISE = 0.3, 0.1, 0.05, 0.03, 0.01, 0.02
_PRIOR_WIDTH, _OWN_PRIOR_WIDTH = 2.0, 0.7
# Number of rounds that weight measurements by their residuals.
_WEIGHTINGS = 3
_DRAWS = 2000
_JITTER = 1e-9


@dataclass(frozen=True)
class PlacementCandidate:
    """The features of a placement in the process."""

    #: Numbers, such as ranks per node and threads per rank.
    counts: tuple[int, ...]
    #: Words, such as its binding and order. All candidates of a search have the same number of
    #: words.
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlacementTrial:
    """One measurement: its candidate, its block, and its cost (s, above 0)."""

    candidate: int
    block: int
    cost: float


@dataclass(frozen=True)
class SearchRule:
    """The rule by which a search ends."""

    #: Maximum relative cost of the chosen candidate above the best candidate's, held with
    #: ``probability``.
    within: float = 0.02
    #: Probability that the rule requires.
    probability: float = 0.95
    #: Minimum number of measurements of the chosen candidate, for its interval.
    fewest: int = 6
    #: Maximum number of measurements of any candidate.
    most: int = 30


@dataclass(frozen=True)
class SearchStatus:
    """The status of a search."""

    #: The best measured candidate; None before the first measurement.
    chosen: int | None
    #: Probability that it costs at most ``within`` more than the best.
    probability: float
    #: Whether the probability is as high as required, and the chosen candidate has enough
    #: measurements.
    settled: bool
    #: Candidates of the next block; empty if settled or if none is left.
    ask: tuple[int, ...]
    #: ``median``, ``low``, ``high``: cost of each candidate in s by the process, with the ends of
    #: the 95% interval; nan for refused candidates and before the first measurement.
    median: Floats
    low: Floats
    high: Floats


@one_thread
def search(
    candidates: Sequence[PlacementCandidate],
    trials: Sequence[PlacementTrial],
    rule: SearchRule,
    seed: int,
    refused: Collection[int] = (),
    likely: Sequence[int] = (),
) -> SearchStatus:
    """The status after these trials, with the candidates to measure next.

    ``refused``: candidates that failed or were not verified; they are never chosen or measured
    again. ``likely``: candidates that are expected to be fast, the fastest first. They fill up to
    half of the first block, so that a wrong expectation costs no more than half a block. The same
    arguments always give the same status. Raises ValueError for costs of 0 or less.
    """
    if any(not trial.cost > 0 for trial in trials):
        raise ValueError("costs must be above 0")
    alive = np.array([i for i in range(len(candidates)) if i not in refused], dtype=np.intp)
    known = [trial for trial in trials if trial.candidate not in refused]
    nothing = np.full(len(candidates), np.nan)
    ask: tuple[int, ...] = ()
    if not known:
        if len(alive):
            surface = _Surface([candidates[i] for i in alive], _LENGTH_SCALES[1])
            size = _first_block(candidates)
            places = {int(candidate): place for place, candidate in enumerate(alive)}
            given = [places[one] for one in likely if one in places][: size // 2]
            first = surface.spread(size, _random(seed, 0), given)
            ask = tuple(int(alive[i]) for i in first)
        return SearchStatus(
            chosen=None,
            probability=0.0,
            settled=False,
            ask=ask,
            median=nothing,
            low=nothing,
            high=nothing,
        )
    process = _Process([candidates[i] for i in alive], _placed(known, alive))
    draws = process.draws(_random(seed, len(trials)))
    counts = np.bincount(process.where, minlength=len(alive))
    mean = np.where(counts > 0, process.mean, np.inf)
    chosen = int(np.argmin(mean))
    beaten = draws[:, chosen] > draws.min(axis=1) + np.log1p(rule.within)
    probability = 1.0 - float(beaten.mean())
    if len(alive) > 1:  # this many draws show neither certainty nor its opposite
        probability = min(max(probability, 1.0 / _DRAWS), 1.0 - 1.0 / _DRAWS)
    sure = probability >= rule.probability
    begun = len({trial.block for trial in trials}) == 1
    settled = sure and not begun and bool(counts[chosen] >= min(rule.fewest, rule.most))
    if begun:
        ask = tuple(int(alive[place]) for place in np.flatnonzero(counts))
    elif not settled:
        # The candidates that are better in draws, the most frequent first; among equal ones, the
        # first one.
        rivals = np.bincount(draws[beaten].argmin(axis=1), minlength=len(alive))
        order = np.argsort(-rivals, kind="stable")
        size = 1 if sure else _block(len(alive)) - 1
        picked = [int(i) for i in order if rivals[i] and counts[i] < rule.most][:size]
        own = [chosen] if counts[chosen] < rule.most else []
        ask = tuple(int(alive[i]) for i in dict.fromkeys([*own, *picked]))
    spread = 1.96 * np.sqrt(process.variance)
    estimates = [nothing.copy() for _ in range(3)]
    for values, logs in zip(
        estimates, (process.mean, process.mean - spread, process.mean + spread), strict=True
    ):
        values[alive] = np.exp(logs)
    return SearchStatus(int(alive[chosen]), probability, settled, ask, *estimates)


def _first_block(candidates: Sequence[PlacementCandidate]) -> int:
    """Number of candidates of the first block: one per level of each factor, and a few more."""
    factors = [*zip(*(c.counts for c in candidates), strict=True)]
    factors += [*zip(*(c.words for c in candidates), strict=True)]
    levels = sum(len(set(factor)) - 1 for factor in factors)
    return min(len(candidates), max(4, levels + 2))


def _block(candidates: int) -> int:
    """Number of candidates of a later block: 4 to 16, about a 24th of all."""
    return min(max(4, -(-candidates // 24)), 16)


def _placed(trials: Sequence[PlacementTrial], alive: Indexes) -> list[PlacementTrial]:
    places = {int(candidate): place for place, candidate in enumerate(alive)}
    return [PlacementTrial(places[t.candidate], t.block, t.cost) for t in trials]


def _random(seed: int, salt: int) -> np.random.Generator:
    """A generator seeded by the seed and the number of measurements, the same on any machine."""
    digest = hashlib.sha256(f"{seed}/placement search/{salt}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


class _Surface:
    """Covariances between candidates: a trend, and parts with their priors."""

    def __init__(self, candidates: Sequence[PlacementCandidate], length_scale: float) -> None:
        counts = np.log2(np.array([c.counts for c in candidates], dtype=np.float64))
        counts = counts.reshape(len(candidates), -1)
        centred = counts - counts.mean(axis=0)
        self.trend = _LEVEL**2 + _SLOPE**2 * centred @ centred.T
        apart = ((counts[:, None, :] - counts[None, :, :]) ** 2).sum(axis=2)
        near = np.exp(-apart / (2.0 * length_scale**2))
        self.parts: list[Floats] = [near, np.eye(len(candidates))]
        self.expected = [_SMOOTH, _OWN]
        self.prior_widths = [_PRIOR_WIDTH, _OWN_PRIOR_WIDTH]
        for words in zip(*(c.words for c in candidates), strict=True):
            if len(set(words)) > 1:
                same = np.equal.outer(words, words).astype(np.float64)
                self.parts += [same, same * near]
                self.expected += [_WORD, _WORD_SURFACE]
                self.prior_widths += [_PRIOR_WIDTH, _PRIOR_WIDTH]

    def prior(self) -> Floats:
        """The covariance with the expected variance of each part."""
        weighed = zip(self.expected, self.parts, strict=True)
        return np.asarray(self.trend + sum(sd**2 * part for sd, part in weighed))

    def spread(
        self, size: int, random: np.random.Generator, given: Sequence[int] = ()
    ) -> list[int]:
        """``size`` candidates: the ``given`` ones, then one by one the candidate with the greatest
        variance given the previous ones; among equal ones, a random one.
        """
        covariance = self.prior()
        noise = _NOISE**2
        order = random.permutation(len(covariance))
        taken: list[int] = []
        for _ in range(min(size, len(covariance))):
            left = [i for i in order if i not in taken]
            variances = covariance[left, left]
            pick = left[int(np.argmax(np.round(variances, 9)))]
            if len(taken) < len(given):
                pick = given[len(taken)]
            taken.append(int(pick))
            column = covariance[:, pick]
            covariance = covariance - np.outer(column, column) / (column[pick] + noise)
        return taken


def _negative_log_posterior(
    scales: Floats,
    values: Floats,
    trend: Floats,
    parts: Floats,
    expected: Floats,
    prior_widths: Floats,
) -> tuple[float, Floats]:
    """The negative log posterior of the parts' log variances (``scales``), and its gradient.

    Rasmussen & Williams (2006), equations 2.30 and 5.9, with a normal prior on each logarithm.
    """
    from scipy.linalg import cho_factor, cho_solve

    variances = np.exp(scales)
    factor = cho_factor(trend + np.tensordot(variances, parts, 1), lower=True)
    weighted = cho_solve(factor, values)
    slack = cho_solve(factor, np.eye(len(values))) - np.outer(weighted, weighted)
    offset = (scales - expected) / prior_widths
    value = 0.5 * values @ weighted + np.log(np.diag(factor[0])).sum() + 0.5 * offset @ offset
    slope = 0.5 * variances * np.einsum("kij,ij->k", parts, slack) + offset / prior_widths
    return float(value), slope


class _Process:
    """The posterior over all candidates. ``mean``, ``variance``: of the logarithm of the cost."""

    def __init__(
        self, candidates: Sequence[PlacementCandidate], trials: Sequence[PlacementTrial]
    ) -> None:
        self.where: Indexes = np.array([t.candidate for t in trials], dtype=np.intp)
        logs = np.log(np.array([t.cost for t in trials]))
        self._level = float(np.median(logs))
        self._values: Floats = logs - self._level
        blocks = np.array([t.block for t in trials])
        self._blocks = np.equal.outer(blocks, blocks).astype(np.float64)
        self._weights: Floats = np.ones(len(trials))
        fits = [self._fit(_Surface(candidates, scale)) for scale in _LENGTH_SCALES]
        self._surface, self._scales, _ = min(fits, key=lambda fit: fit[2])
        for _ in range(_WEIGHTINGS):
            self._reweight()
            self._surface, self._scales, _ = self._fit(self._surface, self._scales)
        self.mean, self.covariance = self._posterior()
        self.variance: Floats = np.maximum(np.diag(self.covariance), 0.0)

    def draws(self, random: np.random.Generator) -> Floats:
        """Draws from the posterior: draw × candidate."""
        size = len(self.mean)
        root = np.linalg.cholesky(self.covariance + _JITTER * np.eye(size))
        normal = random.standard_normal((_DRAWS, size)) @ root.T
        # The noise was estimated from repeatedly measured candidates.
        freedom = max(len(self.where) - len(set(self.where.tolist())), 2)
        scale = np.sqrt(freedom / random.chisquare(freedom, (_DRAWS, 1)))
        return np.asarray(self.mean + scale * normal)

    def _fit(
        self, surface: _Surface, start: Floats | None = None
    ) -> tuple[_Surface, Floats, float]:
        """The most likely logarithms of the parts' variances, with their priors."""
        from scipy.optimize import minimize

        seen = np.ix_(self.where, self.where)
        noise = np.diag(1.0 / self._weights)
        parts = np.stack([*(part[seen] for part in surface.parts), self._blocks, noise])
        expected = 2.0 * np.log(np.array([*surface.expected, _BLOCK, _NOISE]))
        prior_widths = np.array([*surface.prior_widths, _PRIOR_WIDTH, _PRIOR_WIDTH])
        trend = surface.trend[seen] + _JITTER * np.eye(len(self._values))

        found = minimize(
            _negative_log_posterior,
            expected if start is None else start,
            args=(self._values, trend, parts, expected, prior_widths),
            jac=True,
            method="L-BFGS-B",
            bounds=[(centre - 8.0, centre + 6.0) for centre in expected],
            options={"maxiter": 40},
        )
        return surface, np.asarray(found.x), float(found.fun)

    def _matrices(self) -> tuple[Floats, Floats, Floats]:
        """Covariances of all candidates, of candidates with measurements, and of the
        measurements."""
        *scales, block, noise = np.exp(self._scales)
        weighed = zip(scales, self._surface.parts, strict=True)
        whole = self._surface.trend + sum(scale * part for scale, part in weighed)
        seen = whole[np.ix_(self.where, self.where)] + block * self._blocks
        seen = seen + np.diag(noise / self._weights + _JITTER)
        return np.asarray(whole), whole[:, self.where], seen

    def _posterior(self) -> tuple[Floats, Floats]:
        from scipy.linalg import cho_factor, cho_solve

        whole, across, seen = self._matrices()
        factor = cho_factor(seen, lower=True)
        mean = self._level + across @ cho_solve(factor, self._values)
        return mean, whole - across @ cho_solve(factor, across.T)

    def _reweight(self) -> None:
        """Give less weight to outliers: the expectation step of Lange, Little & Taylor."""
        from scipy.linalg import cho_factor, cho_solve

        _, _, seen = self._matrices()
        noise = float(np.exp(self._scales[-1])) / self._weights
        factor = cho_factor(seen, lower=True)
        inverse = cho_solve(factor, np.eye(len(seen)))
        # The residual of each measurement without the process and the block, and its variance.
        left = noise * (inverse @ self._values)
        variance = noise - noise**2 * np.diag(inverse)
        scale = float(np.exp(self._scales[-1]))
        self._weights = (TAILS + 1.0) / (TAILS + (left**2 + variance) / scale)
