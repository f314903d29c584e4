"""Findings on profiles compared function by function: times are CPU times in s."""

from __future__ import annotations

from dataclasses import dataclass

from assay.models.program.sampled.changes import FunctionVerdict
from assay.units import Interval

COMPARED_SCHEMA = 1


@dataclass(frozen=True)
class ComparedProfile:
    """One side of the comparison."""

    #: Its folder, as named.
    name: str
    #: Command line of the program.
    command: list[str]
    #: Start of the program, Unix time (s).
    utc: float
    #: Number of ranks with samples.
    ranks: int
    #: ``samples``: number of samples of all kinds. ``computing``: computing time of all ranks.
    samples: int
    computing: float


@dataclass(frozen=True)
class ChangedFunction:
    """Computing time of one function in two profiles, all ranks."""

    #: ``function``, ``module``: name and executable or library.
    function: str
    module: str
    #: ``before``, ``after``: its computing times.
    before: float
    after: float
    #: After ÷ before; None if there is no sample before.
    ratio: float | None
    #: 95% interval of the ratio; null where it has no limit.
    ci95: Interval
    #: p-value of a difference beyond the margin by chance, corrected for the number of functions.
    p: float
    #: slower, faster, same (the interval lies within the margin) or undecided.
    verdict: FunctionVerdict


@dataclass(frozen=True)
class ChangedProfile:
    """A profile compared with the first one of the same number of ranks."""

    #: ``before``, ``after``: names of the profiles.
    before: str
    after: str
    #: ``seconds_before``, ``seconds_after``: computing times of all ranks.
    seconds_before: float
    seconds_after: float
    #: By the size of the difference, at most 1,000.
    functions: list[ChangedFunction]
    #: Number of functions in either profile.
    found: int


@dataclass(frozen=True)
class GrowingFunction:
    """A function at several numbers of ranks."""

    #: ``function``, ``module``: name and executable or library; "calls of MPI" and "waiting for
    #: threads" stand for these activities.
    function: str
    module: str
    #: ``times``, ``shares``: CPU time per rank, and its share, at each size.
    times: list[float]
    shares: list[float]
    #: The time of all ranks follows ranks^exponent.
    exponent: float
    #: 95% interval of the exponent.
    ci95: Interval
    #: ``next_time``, ``next_share``: per rank at the next size.
    next_time: float
    next_share: float


@dataclass(frozen=True)
class ProfileGrowth:
    """Profiles at several numbers of ranks."""

    #: Numbers of ranks, ascending.
    sizes: list[int]
    #: The number of ranks for which times are predicted: the sizes' last step repeated.
    next_size: int
    #: CPU time per rank at each size; ``next_time``: predicted.
    times: list[float]
    next_time: float
    #: Function whose share grows most at the next size; "" if none surely grows.
    limit: str
    #: By their share at the next size, at most 1,000.
    functions: list[GrowingFunction]


@dataclass(frozen=True)
class ProfileComparison:
    """Profiles compared function by function."""

    #: Version of this layout.
    schema: int
    #: Relative difference within which functions count as the same.
    margin: float
    #: The profiles in the order of the command line.
    sides: list[ComparedProfile]
    #: Profiles of equal numbers of ranks, compared.
    changes: list[ChangedProfile]
    #: None with a single number of ranks.
    growth: ProfileGrowth | None
    #: What the comparison can't say, in sentences.
    unknown: list[str]
