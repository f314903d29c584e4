"""Analysis of variance: main effects and interactions of several factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.stats.compare.effect_sizes import share_intervals, spans, variance_shares
from assay.stats.compare.group_tests import EQUAL_SPREAD, Check, checks_text, normality, spread_test
from assay.stats.compare.linear_terms import REDUNDANT, Bases, Term, combinations_of, f_of
from assay.stats.core.intervals import checked
from assay.stats.core.multiple import corrected
from assay.stats.core.rounding import RELATIVE
from assay.units import Interval

# Level of the test of equal spread. It is high because a small difference, which few values don't
# refute, misleads F where the wider level has fewer values, and allowing for it costs little.
DOUBTFUL = 0.25
# Permutations of residuals, and their number per batch.
PERMUTATIONS = 1999
# If at most _FEW of them reach the statistic, _MORE show how small p is.
_FEW, _MORE = 9, 9999
_BATCH = 250
# A level's effect can't be estimated if it differs between solutions of the fit by more than this
# value.
_UNDETERMINED = 1e-6


@dataclass(frozen=True)
class Effect:
    """The effect of a factor, or the interaction of two."""

    #: The factor, or the two factors of an interaction.
    factors: tuple[str, ...]
    #: Type II sum of squares; of logarithms if ``Anova.log`` is true.
    squares: float
    #: Degrees of freedom.
    freedom: int
    #: F statistic.
    f: float
    #: p of the test that ``Anova.test`` names.
    p: float
    #: p corrected for all effects (Holm).
    p_corrected: float
    #: Partial omega squared, at least 0: of the variance due to the effect and to chance, the share
    #: that the effect explains.
    omega2: float
    #: For a factor, the value of each level divided by the value of the first level, with the other
    #: factors held constant (without logarithms: the difference); empty for interactions.
    levels: dict[str, float]
    #: Share of the variance of all values that the effect explains; None unless requested.
    share: float | None = None
    #: 95% interval of ``share``.
    share_ci95: Interval | None = None


@dataclass(frozen=True)
class Anova:
    """All effects; ``missing`` has sentences on effects that couldn't be estimated."""

    #: The effects of factors and interactions.
    effects: list[Effect]
    #: Test that p comes from. ``why``: results of the checks of the assumptions.
    test: str
    why: str
    #: Checks of the assumptions.
    checks: list[Check]
    #: Residual sum of squares, with ``freedom`` degrees of freedom.
    residual: float
    #: Degrees of freedom of the residuals.
    freedom: int
    #: Share of variance that all effects explain together.
    r2: float
    #: Whether logarithms were analysed.
    log: bool
    #: Number of values.
    n: int
    #: Sentences on effects that couldn't be estimated, with the reasons.
    missing: list[str]


def anova(
    values: Sequence[float] | Floats,
    factors: Mapping[str, Sequence[str]],
    *,
    interactions: bool = True,
    log: bool | None = None,
    seed: int = 2003,
    sizes: bool = False,
) -> Anova:
    """The effects of several factors, each with one level per value.

    Least squares with type II sums of squares: each effect against all others that don't contain
    it, so that the design may be unbalanced. ``log``: analyse logarithms, so that effects are
    ratios; by default where all values are positive. If residuals may be normal (Shapiro & Wilk)
    with equal spread (Brown & Forsythe), p comes from F. If only normality fails, p comes from F
    among 1,999 permutations of the reduced model's residuals (Freedman & Lane 1983). If spreads may
    differ, p comes from a heteroscedasticity-consistent Wald statistic among 1,999 sets of
    residuals with random signs (Davidson & Flachaire 2008). Where p is at most 0.005, these are
    9,999. ``seed``: seed of the random numbers.
    ``sizes``: with each effect's share of all variance (``stats.compare.effect_sizes``). Factors of
    one level are left out, and interactions that lack combinations or values; ``missing`` reports
    both. Raises AssayError without values, if a factor doesn't have one level per value, and for
    logarithms of values that aren't positive.
    """
    given = checked(values)
    if any(len(levels) != given.size for levels in factors.values()):
        raise AssayError("Each factor needs one level per value.")
    log = bool(given.min() > 0.0) if log is None else log
    if log and given.min() <= 0.0:
        raise AssayError("Logarithms need positive values.")
    y = np.log(given) if log else given
    y = y - y.mean()
    missing: list[str] = []
    codes = _coded(factors, missing)
    bases = Bases(codes)
    terms = _terms(codes, bases, interactions, given.size, missing)
    everything = bases.of(terms)
    freedom = given.size - everything.shape[1]
    if not terms or freedom < 1:
        missing.append("There are too few values, or too few levels, to estimate any effect.")
        return Anova(
            effects=[],
            test="none",
            why="",
            checks=[],
            residual=float(y @ y),
            freedom=max(freedom, 0),
            r2=0.0,
            log=log,
            n=y.size,
            missing=missing,
        )
    left = y - everything @ (everything.T @ y)
    residual = float(left @ left)
    checks = _checks(left, codes)
    way = _way(checks)
    tested = [
        _tested(
            y=y,
            term=term,
            terms=terms,
            bases=bases,
            everything=everything,
            way=way,
            seed=seed + place,
        )
        for place, term in enumerate(terms)
    ]
    adjusted = corrected([p for _, _, _, p in tested])
    own = (
        _sizes(y=y, terms=terms, bases=bases, everything=everything, codes=codes, seed=seed)
        if sizes
        else [_NO_SIZES] * len(terms)
    )
    main = bases.of([(name,) for name in codes])
    levels = _level_effects(main @ (main.T @ y), codes, factors, log)
    return Anova(
        effects=[
            Effect(
                factors=term,
                squares=squares,
                freedom=extra,
                f=f,
                p=p,
                p_corrected=float(p_corrected),
                omega2=max(extra * (f - 1.0) / (extra * (f - 1.0) + y.size), 0.0),
                levels=levels[term[0]] if len(term) == 1 else {},
                share=share,
                share_ci95=interval,
            )
            for term, (squares, extra, f, p), p_corrected, (share, interval) in zip(
                terms, tested, adjusted, own, strict=True
            )
        ],
        test=way,
        why=checks_text(checks),
        checks=checks,
        residual=residual,
        freedom=freedom,
        r2=1.0 - residual / float(y @ y) if y.any() else 0.0,
        log=log,
        n=int(y.size),
        missing=missing,
    )


_Sizes = tuple[float | None, Interval | None]
_NO_SIZES: _Sizes = (None, None)


def _sizes(
    y: Floats,
    terms: Sequence[Term],
    bases: Bases,
    everything: Floats,
    codes: Mapping[str, Ints],
    seed: int,
) -> list[_Sizes]:
    """Each effect's share of all variance, and its interval."""
    shares = variance_shares(y[:, None], terms, bases, everything)[:, 0]
    groups = combinations_of(codes)
    intervals = share_intervals(
        values=y, groups=groups, terms=terms, bases=bases, everything=everything, seed=seed
    )
    return list(zip(map(float, shares), intervals, strict=True))


Way = Literal["F", "permutation of residuals", "random signs of residuals"]
_BY_F: Way = "F"
_BY_SIGNS: Way = "random signs of residuals"


def _way(checks: Sequence[Check]) -> Way:
    refuted = {check.assumption for check in checks if not check.holds}
    if not refuted:
        return _BY_F
    return _BY_SIGNS if EQUAL_SPREAD in refuted else "permutation of residuals"


def _coded(factors: Mapping[str, Sequence[str]], missing: list[str]) -> dict[str, Ints]:
    codes = {}
    for name, levels in factors.items():
        found = _in_order(levels)
        if len(found) < 2:
            missing.append(f"{name} has one level: its effect can't be estimated.")
        else:
            codes[name] = np.array([found[level] for level in levels], dtype=np.int64)
    return codes


def _in_order(levels: Sequence[str]) -> dict[str, int]:
    """The codes of levels, in the order of their first occurrence."""
    return {level: number for number, level in enumerate(dict.fromkeys(levels))}


def _terms(
    codes: Mapping[str, Ints], bases: Bases, interactions: bool, size: int, missing: list[str]
) -> list[Term]:
    """The effects that can be estimated: factors not confounded with others, and their pairs."""
    terms: list[Term] = []
    for name in codes:
        others = [(other,) for other in codes if other != name]
        if bases.of([*others, (name,)]).shape[1] > bases.of(others).shape[1]:
            terms.append((name,))
        else:
            missing.append(
                f"{name} is confounded with the other factors: its effect can't be separated."
            )
    for pair in combinations([term[0] for term in terms], 2) if interactions else ():
        label = " and ".join(pair)
        possible = int(np.prod([int(codes[name].max()) + 1 for name in pair]))
        together = int(combinations_of({name: codes[name] for name in pair}).max()) + 1
        if together < possible:
            lacking = possible - together
            missing.append(
                f"{lacking} of {possible} combinations of {label} "
                f"{'was' if lacking == 1 else 'were'} not measured."
            )
        before, after = bases.of(terms).shape[1], bases.of([*terms, pair]).shape[1]
        if after == before:
            missing.append(
                f"The interaction of {label} can't be separated from their main effects."
            )
        elif size - after < 1:
            missing.append(f"Too few values to estimate the interaction of {label}.")
        else:
            terms.append(pair)
    return terms


def _tested(
    y: Floats,
    term: Term,
    terms: Sequence[Term],
    bases: Bases,
    everything: Floats,
    way: Way,
    seed: int,
) -> tuple[float, int, float, float]:
    """Sum of squares, degrees of freedom, F and p of one effect."""
    from scipy.special import fdtrc

    reduced, extended = spans(term, terms, bases)
    extra = extended.shape[1] - reduced.shape[1]
    freedom = y.size - everything.shape[1]
    squares, f = f_of(y[:, None], reduced, extended, everything)
    if way == _BY_F:
        return float(squares[0]), extra, float(f[0]), float(fdtrc(extra, freedom, f[0]))
    found = _wald(y[:, None], reduced, extended, everything) if way == _BY_SIGNS else f
    rng = np.random.default_rng(seed)
    residuals = y - reduced @ (reduced.T @ y)
    reached = done = 0
    while done < (total := PERMUTATIONS if done < PERMUTATIONS or reached > _FEW else _MORE):
        count = min(_BATCH, total - done)
        if way == _BY_SIGNS:
            signs = rng.choice((-1.0, 1.0), size=(y.size, count))
            chance = _wald(signs * residuals[:, None], reduced, extended, everything)
        else:
            drawn = rng.permuted(np.broadcast_to(residuals[:, None], (y.size, count)), axis=0)
            _, chance = f_of(drawn, reduced, extended, everything)
        reached += int(np.count_nonzero(chance >= found[0] * (1.0 - RELATIVE)))
        done += count
    return float(squares[0]), extra, float(f[0]), (reached + 1) / (done + 1)


def _wald(columns: Floats, reduced: Floats, extended: Floats, everything: Floats) -> Floats:
    """Wald statistic of an effect, for each column, if each value has its own variance.

    The variances are the squares of residuals over one minus their leverage (HC3: MacKinnon & White
    1985).
    """
    added = extended - reduced @ (reduced.T @ extended)
    u, singular, _ = np.linalg.svd(added, full_matrices=False)
    own = u[:, singular > 0.5]  # for a projection they are 0 or 1, except for rounding
    effect = own.T @ columns
    left = columns - everything @ (everything.T @ columns)
    free = np.maximum(1.0 - np.einsum("ij,ij->i", everything, everything), REDUNDANT)
    variances = (left / free[:, None]) ** 2
    between = np.einsum("ia,ib,ic->cab", own, own, variances, optimize=True)
    scale = np.einsum("caa->c", between)
    between += (RELATIVE * scale + np.finfo(float).tiny)[:, None, None] * np.eye(own.shape[1])
    solved = np.linalg.solve(between, effect.T[:, :, None])[:, :, 0]
    return np.asarray(np.einsum("ac,ca->c", effect, solved) / own.shape[1])


def _checks(left: Floats, codes: Mapping[str, Ints]) -> list[Check]:
    """Normality of the residuals, and their spread between factor levels and between combinations.

    Combinations have only a few values each and rarely show that one level of a factor is wider.
    """
    p: list[float] = []
    for groups in [*codes.values(), *([combinations_of(codes)] if len(codes) > 1 else [])]:
        several = [left[groups == each] for each in np.flatnonzero(np.bincount(groups) > 1)]
        if len(several) > 1:
            p.append(spread_test(several, by_f=False)[2])
    checks = [normality(left)]
    if p:
        least = float(corrected(p).min())
        checks.append(Check(EQUAL_SPREAD, "Brown–Forsythe", least, least > DOUBTFUL))
    return checks


def _level_effects(
    fitted: Floats, codes: Mapping[str, Ints], factors: Mapping[str, Sequence[str]], log: bool
) -> dict[str, dict[str, float]]:
    """Each factor's levels relative to its first, by the model without interactions.

    Nan where no chain of measurements links a level to the first.
    """
    names = list(codes)
    counts = [int(codes[name].max()) + 1 for name in names]
    design = np.hstack(
        [
            np.ones((fitted.size, 1)),
            *(np.eye(k)[codes[n]] for n, k in zip(names, counts, strict=True)),
        ]
    )
    solution, _, _, _ = np.linalg.lstsq(design, fitted, rcond=None)
    # An effect that differs between solutions of the same fit is undetermined.
    _, singular, rows = np.linalg.svd(design, full_matrices=True)
    redundant = rows[int(np.count_nonzero(singular > REDUNDANT * singular[0])) :]
    first = 1
    found: dict[str, dict[str, float]] = {}
    for name, count in zip(names, counts, strict=True):
        own = solution[first : first + count] - solution[first]
        unsure = np.abs(redundant[:, first : first + count] - redundant[:, [first]]).max(
            axis=0, initial=0.0
        )
        own = np.where(unsure > _UNDETERMINED, np.nan, np.exp(own) if log else own)
        levels = _in_order(factors[name])
        found[name] = {level: float(own[number]) for level, number in levels.items()}
        first += count
    return found
