"""The times that users must request, derived from the variation of run times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError, nearest
from assay.stats.repeats.walltime import asked_walltime, fewest_runs

# Share of runs that must finish within the request, and the confidence in it; as in the answer to
# "How steady is it?".
SHARE, CONFIDENCE = 0.99, 0.95
# Number of runs that a user is assumed to have observed if only the CoV is stated. It is above 299,
# so that no tail model is needed.
_RUNS = 1000


@dataclass(frozen=True)
class VariedProgram:
    """A program of a stored run: its ``name``, the ``times`` (s) of its runs and their ``cov``."""

    name: str
    times: Floats
    cov: float
    #: The program's name, such as npb.ft.
    kernel: str = ""

    @property
    def enough(self) -> bool:
        """Whether the times show their distribution up to the requested quantile.

        With fewer times a model of the tail has to extrapolate. For about ten runs with one late
        run, its bound is many times the slowest run: a safe limit for the next job, but an absurd
        estimate of what users request.
        """
        return self.times.size >= fewest_runs(SHARE, CONFIDENCE)


@dataclass(frozen=True)
class RunSteadiness:
    """What a stored run says of its machine: ``programs``, the least steady first; ``noise``, the
    share of run time that a coordinated heartbeat would save (None: not measured).
    """

    programs: tuple[VariedProgram, ...] = ()
    noise: float | None = None
    #: Whether a run was named.
    named: bool = False

    def program(self, name: str, where: str) -> VariedProgram:
        """The least steady cell whose label or kernel has this name; "run" is the least steady of
        all. Raises AssayError if there is none.
        """
        for each in self.programs:
            if name in ("run", each.name, each.kernel):
                return each
        names = [known for each in self.programs for known in (each.kernel, each.name) if known]
        if names:
            raise AssayError(
                f"The run has no program '{name}' with enough results for a CoV.",
                where=where,
                fix=nearest(name, names),
            )
        if not self.named:
            raise AssayError(
                "There is no run to take the CoV from.",
                where=where,
                fix="Name one with --run, or write a percentage.",
            )
        raise AssayError(
            "No program of the run has enough results for the CoV of its run times.",
            where=where,
            fix="Measure more launches (`assay run --launches 30`), or write a percentage.",
        )


def times_with(cov: float) -> Floats:
    """Run times with mean 1 and this coefficient of variation: quantiles of the lognormal
    distribution in random order, shape (1000,).
    """
    from scipy.special import ndtri

    order = np.random.default_rng(0).permutation(_RUNS)
    normal = np.asarray(ndtri((order + 0.5) / _RUNS))
    sigma = np.sqrt(np.log1p(cov * cov))
    times: Floats = np.exp(sigma * normal - sigma * sigma / 2.0)
    return times


def asked(times: Floats) -> float:
    """The time that users must request so that 99% of their runs finish, over the mean run time."""
    mean = float(times.mean())
    if float(np.ptp(times)) <= 1e-12 * mean:
        return 1.0
    return asked_walltime(times, SHARE, CONFIDENCE).seconds / mean


def request_change(before: Floats | float, after: float) -> float:
    """The factor by which requests change when the CoV of run times changes.

    ``before``: its present value, or the times of real runs, whose distribution keeps its shape.
    ``after``: its new value.
    """
    if isinstance(before, float):
        return asked(times_with(after)) / asked(times_with(before))
    mean = float(before.mean())
    cov = float(before.std(ddof=1)) / mean
    scaled = mean + (before - mean) * (after / cov if cov > 0 else 0.0)
    return asked(np.maximum(scaled, 1e-3 * mean)) / asked(before)


def variation(before: float, after: float, number: int, random: np.random.Generator) -> Floats:
    """Factors of run times, mean 1, that raise their CoV from ``before`` to ``after``.

    Lognormal: (1 + after²) = (1 + before²)(1 + cov²). All factors are 1 if the CoV falls: the log
    doesn't say which runs were late by chance.
    """
    more = (1.0 + after * after) / (1.0 + before * before) - 1.0
    if more <= 0.0:
        return np.ones(number)
    sigma = np.sqrt(np.log1p(more))
    factors: Floats = np.exp(sigma * random.standard_normal(number) - sigma * sigma / 2.0)
    return factors
