"""Lublin–Feitelson loads: distributions as of the authors' own program, days, sizes, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import AssayError
from assay.usage.workload.change import offered_load, rescaled
from assay.usage.workload.lublin import BATCH, INTERACTIVE, ONE_KIND, daily_weights, gamma_cdf
from assay.usage.workload.lublin import lublin as made

# Of a sample of 10,000 jobs for 256 processors that the authors' program made ("one kind"), from
# the Parallel Workloads Archive (lublin_256.swf): quantiles of run times and of times between
# submissions (s), cumulative sizes, shares of serial and power-of-two jobs, submissions by three
# hours of the day, and the median run time by size.
LEVELS = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
RUN = (21.0, 137.0, 8270.5, 15578.3, 20658.75, 36138.4)
GAPS = (41.0, 116.0, 366.0, 1266.8, 2624.2)
SIZES = {1: 0.2493, 2: 0.3411, 4: 0.4755, 8: 0.6139, 16: 0.7476, 32: 0.8794, 64: 0.9318,
         128: 0.9727}  # fmt: skip
POWERS = 0.612
DAY = (0.0409, 0.0321, 0.0993, 0.1863, 0.2333, 0.1983, 0.1314, 0.0784)
MEDIANS = {(1, 1): 80.0, (2, 8): 82.5, (9, 64): 222.0, (65, 256): 11469.0}


@pytest.mark.parametrize("seed", [1, 2])
def test_distributions_are_those_of_the_authors_program(seed: int) -> None:
    """Tolerances: about three standard deviations of the difference between two such samples."""
    load = made(10_000, 256, seed, "one kind")
    size = load.processors
    assert np.quantile(load.run, LEVELS) == pytest.approx(RUN, rel=0.15)
    assert np.quantile(np.diff(load.submit), LEVELS[:5]) == pytest.approx(GAPS, rel=0.2)
    for most, share in SIZES.items():
        assert np.mean(size <= most) == pytest.approx(share, abs=0.02)
    parallel = size[size > 1]
    assert np.mean((size > 1) & (np.log2(size) % 1 == 0)) == pytest.approx(POWERS, abs=0.02)
    assert parallel.max() == 256
    hours = np.floor(load.submit % 86400 / 10800).astype(int)
    assert np.bincount(hours) / 10_000 == pytest.approx(DAY, abs=0.04)
    for (low, high), median in MEDIANS.items():
        of_size = load.run[(size >= low) & (size <= high)]
        assert np.median(of_size) == pytest.approx(median, rel=0.25)


def test_batch_and_interactive_jobs() -> None:
    load = made(20_000, 128, 3)
    batch, active = (load.qos == kind for kind in (0, 1))
    assert load.qualities == ["batch", "interactive"]
    for kind, parameters in ((batch, BATCH), (active, INTERACTIVE)):
        # A parallel size is also 1 where 2^low is rounded to it, which happens to none of these.
        assert np.mean(load.processors[kind] == 1) == pytest.approx(parameters.serial, abs=0.02)
    # The largest interactive job of a machine of 128 has 2^5.5 processors (45).
    assert load.processors[batch].max() == 128
    assert load.processors[active].max() == 45
    assert np.median(load.run[batch]) > np.median(load.run[active])
    assert np.all(np.diff(load.submit) >= 0)


def test_a_seed_is_a_load() -> None:
    first, again, other = made(500, 64, 1), made(500, 64, 1), made(500, 64, 2)
    assert np.array_equal(first.submit, again.submit) and np.array_equal(first.run, again.run)
    assert not np.array_equal(first.run, other.run)


def test_gamma_cdf_is_that_of_scipy() -> None:
    from scipy.special import gammainc

    for shape, scale in ((ONE_KIND.anum, ONE_KIND.bnum), (BATCH.anum, BATCH.bnum), (0.5, 2.0)):
        for x in (0.01, 1.0, 10.5, 58.5):
            assert gamma_cdf(x, shape, scale) == pytest.approx(gammainc(shape, x / scale))


def test_the_day_has_a_mean_rate_of_one_and_a_night() -> None:
    weights = daily_weights(ONE_KIND)
    assert weights.mean() == pytest.approx(1.0)
    assert 4 <= np.argmin(weights) / 2 <= 6 and 12 <= np.argmax(weights) / 2 <= 15


def test_the_load_is_stretched_to_what_is_stated() -> None:
    load = made(2000, 64, 4)
    for wanted in (0.3, 0.95):
        stretched = rescaled(load, 64, wanted)
        span = stretched.submit[-1] - stretched.submit[0]
        work = sum(p * r for p, r in zip(load.processors, load.run, strict=True))
        assert work / (64 * span) == pytest.approx(wanted)
        assert offered_load(stretched, 64) == pytest.approx(wanted)
        gaps = np.diff(load.submit) > 0
        ratio = np.diff(stretched.submit)[gaps] / np.diff(load.submit)[gaps]
        assert ratio == pytest.approx(ratio[0])


def test_what_can_not_be() -> None:
    for jobs, processors in ((0, 64), (10, 2)):
        with pytest.raises(AssayError, match="four processors"):
            made(jobs, processors, 1)
    with pytest.raises(AssayError, match="rescaled"):
        rescaled(made(10, 64, 1), 64, 0.0)
