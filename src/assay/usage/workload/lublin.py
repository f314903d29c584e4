"""Synthetic loads by the model of Lublin and Feitelson.

U. Lublin, D. G. Feitelson: The workload on parallel supercomputers: modeling the characteristics of
rigid jobs, Journal of Parallel and Distributed Computing 63(11), 2003, 1105-1122. The paper and the
authors' program publish the parameters, for logs of 128-node machines. Sizes scale with the machine
as the program's comments prescribe.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload.estimates import LEAST_REQUEST

LublinKinds = Literal["batch and interactive", "one kind"]

_DAY = 86400.0
# A day has 48 buckets of half an hour; the daily cycle begins in the 11th of them.
_BUCKETS, _CYCLE_FROM = 48, 11
# Greatest logarithms of a run time and of a time between arrivals (s): two days and five days.
_MOST_RUN, _MOST_GAP = 12.0, 13.0
_LEAST_PROCESSORS = 4


@dataclass(frozen=True)
class LublinParameters:
    """The parameters of one kind of jobs, with the names of the paper.

    Sizes: ``serial`` and ``power_of_two`` are shares of the jobs; the logarithm of size is
    uniform between ``low`` and a medium with probability ``first``, else between the medium and a
    high. The high is log2(processors) − ``below``; the medium is ``between`` less than the high.
    Run times: the logarithm is gamma(``a1``, ``b1``) with probability ``pa`` × size + ``pb``, else
    gamma(``a2``, ``b2``). Arrivals: the logarithm of the time between two is gamma(``aarr`` ×
    ``arar``, ``barr``) on average over the day, and the number per half hour follows
    gamma(``anum``, ``bnum``).
    """

    serial: float
    power_of_two: float
    low: float
    between: float
    below: float
    first: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


BATCH = LublinParameters(
    serial=0.2927,
    power_of_two=0.6686,
    low=1.2,
    between=2.0,
    below=0.0,
    first=0.875,
    a1=6.57,
    b1=0.823,
    a2=639.1,
    b2=0.0156,
    pa=-0.003,
    pb=0.6986,
    aarr=6.0415,
    barr=0.8531,
    anum=6.1271,
    bnum=5.2740,
    arar=1.0519,
)
INTERACTIVE = LublinParameters(
    serial=0.1541,
    power_of_two=0.625,
    low=1.0,
    between=2.5,
    below=1.5,
    first=0.705,
    a1=3.8351,
    b1=0.6605,
    a2=7.073,
    b2=0.6856,
    pa=-0.0118,
    pb=0.9156,
    aarr=6.5510,
    barr=0.6621,
    anum=8.9186,
    bnum=3.6680,
    arar=0.9797,
)
ONE_KIND = LublinParameters(
    serial=0.244,
    power_of_two=0.576,
    low=0.8,
    between=2.5,
    below=0.0,
    first=0.86,
    a1=4.2,
    b1=0.94,
    a2=312.0,
    b2=0.03,
    pa=-0.0054,
    pb=0.78,
    aarr=10.2303,
    barr=0.4871,
    anum=8.1737,
    bnum=3.9631,
    arar=1.0225,
)


def lublin(
    jobs: int, processors: int, seed: int, kinds: LublinKinds = "batch and interactive"
) -> Workload:
    """A load of this many jobs for a machine of this many processors.

    Times are whole seconds from the midnight before the first job. Requests equal run times:
    the model has none (``estimates`` adds them). ``qos`` distinguishes batch from interactive jobs.
    Raises AssayError for fewer than 1 job or 4 processors.
    """
    if jobs < 1 or processors < _LEAST_PROCESSORS:
        raise AssayError(
            "The model of Lublin and Feitelson needs at least one job and four processors.",
            where=f"{jobs} jobs on {processors} processors",
            fix="Request more jobs or more processors.",
        )
    random = np.random.default_rng(seed)
    types = (ONE_KIND,) if kinds == "one kind" else (BATCH, INTERACTIVE)
    # The first ``jobs`` arrivals of all kinds are among the first ``jobs`` of each.
    arrivals = [_arrivals(each, jobs, random) for each in types]
    when = np.concatenate(arrivals)
    kind = np.repeat(np.arange(len(types)), jobs)
    order = np.argsort(when, kind="stable")[:jobs]
    when, kind = when[order], kind[order]
    size = np.zeros(jobs, dtype=np.int64)
    run = np.zeros(jobs)
    for number, parameters in enumerate(types):
        mine = np.flatnonzero(kind == number)
        size[mine] = _sizes(parameters, mine.size, processors, random)
        run[mine] = _run_times(parameters, size[mine], random)
    zeros = np.zeros(jobs, dtype=np.int64)
    return Workload(
        submit=np.floor(when),
        run=run,
        limit=np.maximum(run, LEAST_REQUEST),
        nodes=zeros,
        processors=size,
        memory=np.zeros(jobs),
        gpus=zeros,
        user=zeros,
        account=zeros,
        partition=zeros,
        qos=kind.astype(np.int64),
        after=np.full(jobs, -1, dtype=np.int64),
        think=np.zeros(jobs),
        users=[""],
        accounts=[""],
        qualities=[""] if len(types) == 1 else ["batch", "interactive"],
    )


def lublin_machine(processors: int) -> Machine:
    """The model's machine: nodes with one processor each."""
    return Machine(nodes=(EqualNodes(count=processors),))


def _sizes(p: LublinParameters, number: int, processors: int, random: np.random.Generator) -> Ints:
    """Numbers of processors: serial, powers of two and others, from the two-stage uniform."""
    high = math.log2(processors) - p.below
    medium = max(high - p.between, p.low)
    which = random.random(number)
    below = random.random(number) <= p.first
    within = random.random(number)
    power = np.where(below, p.low + within * (medium - p.low), medium + within * (high - medium))
    power = np.where(which <= p.serial + p.power_of_two, np.floor(power + 0.5), power)
    sizes = np.floor(2.0**power + 0.5)
    sizes = np.where(which <= p.serial, 1.0, sizes)
    return np.clip(sizes, 1, processors).astype(np.int64)


def _run_times(p: LublinParameters, sizes: Ints, random: np.random.Generator) -> Floats:
    """Run times in whole s: exp of a hyper-gamma whose mixture depends on the size."""
    share = np.clip(p.pa * sizes + p.pb, 0.0, 1.0)
    logs = np.full(sizes.size, np.inf)
    while (open_ := np.flatnonzero(logs > _MOST_RUN)).size:
        first = random.random(open_.size) <= share[open_]
        logs[open_] = np.where(
            first,
            random.gamma(p.a1, p.b1, open_.size),
            random.gamma(p.a2, p.b2, open_.size),
        )
    run: Floats = np.floor(np.exp(logs))
    return run


def _arrivals(p: LublinParameters, number: int, random: np.random.Generator) -> Floats:
    """Times of arrival, in s since midnight.

    Half hours have weights of mean 1, in proportion to the jobs that arrive in them. A gap, in
    units of half hours, is the integral of the weights over the time between two arrivals, so that
    gaps are longer at night.
    """
    logs = np.full(number, np.inf)
    while (open_ := np.flatnonzero(logs > _MOST_GAP)).size:
        logs[open_] = random.gamma(p.aarr * p.arar, p.barr, open_.size)
    bucket = _DAY / _BUCKETS
    points = np.cumsum(np.exp(logs)) / bucket
    clock = np.concatenate(([0.0], np.cumsum(daily_weights(p))))
    days = np.floor(points / clock[-1])
    hours = np.interp(points - days * clock[-1], clock, np.arange(_BUCKETS + 1))
    times: Floats = days * _DAY + hours * bucket
    return times


def daily_weights(p: LublinParameters) -> Floats:
    """The rate of arrivals in each half hour of the day, from midnight, relative to the mean."""
    weights = np.zeros(_BUCKETS)
    for number in range(_CYCLE_FROM, _BUCKETS + _CYCLE_FROM):
        share = gamma_cdf(number + 0.5, p.anum, p.bnum) - gamma_cdf(number - 0.5, p.anum, p.bnum)
        weights[(number - 1) % _BUCKETS] = share
    relative: Floats = weights / weights.mean()
    return relative


def gamma_cdf(x: float, shape: float, scale: float) -> float:
    """The gamma distribution's cumulative distribution: the series of the incomplete gamma function
    (Abramowitz and Stegun, 6.5.29), which converges quickly for x of a few times the mean.
    """
    z = x / scale
    term = total = 1.0 / shape
    n = shape
    while term > total * 1e-16:
        n += 1.0
        term *= z / n
        total += term
    return total * math.exp(-z + shape * math.log(z) - math.lgamma(shape))
