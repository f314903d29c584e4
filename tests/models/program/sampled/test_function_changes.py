"""Functions between two profiles, and against the number of ranks."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.program.sampled.changes import changes
from assay.models.program.sampled.counts import CodePlace, SampleCounts, count_samples
from assay.models.program.sampled.growth import IN_MPI, growth
from assay.trace.samples.model import Activity, ProgramSamples
from known_samples import PERIOD, SHARES, drawn, place, program, thread


def poisson(generator: np.random.Generator, means: dict[str, float]) -> SampleCounts:
    own = generator.poisson(list(means.values()))[None, :]
    return SampleCounts(
        ranks=(0,),
        places=tuple(CodePlace(name, "app") for name in means),
        own=own,
        inclusive=own,
        activities=np.array([[own.sum(), 0, 0]]),
        seconds=np.array([PERIOD]),
    )


def test_a_slower_function_is_found_with_its_ratio() -> None:
    before = program([{"solve": 5000, "assemble": 3000}])
    after = program([{"solve": 5000, "assemble": 3600, "log": 60}])
    found = changes(count_samples(before), count_samples(after))
    verdicts = {one.place.name: one.verdict for one in found.functions}
    assert verdicts == {"assemble": "slower", "log": "slower", "solve": "undecided"}
    first = found.functions[0]
    assert first.ratio == pytest.approx(1.2)
    assert first.interval[0] < 1.2 < first.interval[1]
    assert first.difference == pytest.approx(6.0)
    assert next(one for one in found.functions if one.place.name == "log").ratio is None
    assert (found.before, found.after) == pytest.approx((80.0, 86.6))


def test_periods_may_differ() -> None:
    before = count_samples(program([{"a": 40_000}]))
    after = count_samples(program([{"a": 80_000}], period=PERIOD / 2))
    (one,) = changes(before, after, 0.05).functions
    assert one.ratio == pytest.approx(1.0)
    assert one.verdict == "same"


def test_equal_profiles_differ_in_at_most_five_of_a_hundred_comparisons() -> None:
    generator = np.random.default_rng(3)
    means = {f"f{number}": float(10 + 15 * number) for number in range(40)}
    alarms = covered = 0
    for _ in range(150):
        found = changes(poisson(generator, means), poisson(generator, means), 0.0001)
        alarms += any(one.verdict in ("slower", "faster") for one in found.functions)
        covered += sum(one.interval[0] <= 1.0 <= one.interval[1] for one in found.functions)
    assert alarms <= 11  # more with a probability of 8% at exactly 5%
    assert covered >= 0.95 * 150 * 40 - 40


def test_profiles_without_samples() -> None:
    empty = count_samples(ProgramSamples(PERIOD, "cpu-clock", (), (), (thread(0, []),)))
    assert changes(empty, empty).functions == []
    found = changes(empty, count_samples(program([{"a": 100}])))
    assert [(one.place.name, one.verdict) for one in found.functions] == [("a", "slower")]


def test_a_function_that_every_rank_repeats_limits_the_next_size() -> None:
    """ "solve" is divided among the ranks, "setup" repeated by each."""
    generator = np.random.default_rng(9)
    profiles = []
    for ranks in (2, 4, 8):
        means = {"solve": 8000 / ranks, "setup": 300.0}
        profiles.append(program([{name: int(generator.poisson(mean)) for name, mean in
                                  means.items()} for _ in range(ranks)]))  # fmt: skip
    found = growth([count_samples(one) for one in profiles])
    assert found is not None
    assert (found.sizes, found.next_size) == ([2, 4, 8], 16)
    assert found.limits is not None
    assert found.limits.place.name == "setup"
    by_name = {one.place.name: one for one in found.functions}
    assert by_name["setup"].interval[0] < 1.0 < by_name["setup"].interval[1]
    assert by_name["solve"].exponent == pytest.approx(0.0, abs=0.05)
    assert by_name["setup"].next_share == pytest.approx(300 / (300 + 500), abs=0.03)
    assert found.next_time == pytest.approx(8.0, rel=0.05)


def test_nothing_limits_a_program_that_divides_all_its_work() -> None:
    generator = np.random.default_rng(2)
    limits = 0
    for _ in range(40):
        profiles = [count_samples(drawn(generator, n, 4000 // n)) for n in (2, 4)]
        found = growth(profiles)
        assert found is not None
        limits += found.limits is not None
    # Each of four functions with 2.5%.
    assert limits <= 8


def test_calls_of_mpi_grow_too() -> None:
    def profile(ranks: int) -> SampleCounts:
        threads = tuple(
            thread(rank, [0] * (800 // ranks) + [1] * 50 * ranks,
                   [Activity.COMPUTING] * (800 // ranks) + [Activity.MPI] * 50 * ranks)
            for rank in range(ranks)
        )  # fmt: skip
        places = (place("solve"), place("MPI_Allreduce"))
        return count_samples(ProgramSamples(PERIOD, "cpu-clock", places, ((0,), (1,)), threads))

    found = growth([profile(2), profile(4)])
    assert found is not None
    assert found.limits is not None
    assert found.limits.place == IN_MPI
    assert found.limits.exponent == pytest.approx(2.0)


def test_one_size_has_no_growth() -> None:
    one = count_samples(program([dict.fromkeys(SHARES, 100)]))
    assert growth([one, one]) is None
