"""Functions over ranks: shares, callers, recursion, imbalance, threads."""

from __future__ import annotations

import numpy as np
import pytest

from assay.models.program.sampled.counts import CodePlace, count_samples, function_of, line_of
from assay.models.program.sampled.functions import function_times, rank_excess
from assay.models.program.sampled.threads import thread_times
from assay.models.program.sampled.tree import call_tree
from assay.trace.samples.model import Activity, Place, ProgramSamples
from known_samples import PERIOD, SHARES, drawn, place, program, solver, thread


def shares_of(samples: ProgramSamples) -> dict[str, float]:
    return {one.place.name: one.share for one in function_times(count_samples(samples))}


def test_exact_numbers_of_a_small_program() -> None:
    samples = program([{"a": 50, "b": 30, "c": 20}, {"a": 50, "b": 50}])
    found = {one.place.name: one for one in function_times(count_samples(samples))}
    assert [*found] == ["a", "b", "c", "main"]
    assert [found[name].share for name in "abc"] == [0.5, 0.4, 0.1]
    assert (found["b"].mean, found["b"].least, found["b"].most) == pytest.approx((0.4, 0.3, 0.5))
    assert found["b"].imbalance == pytest.approx(1.25)
    assert found["b"].rank == 1
    assert (found["main"].share, found["main"].inclusive) == (0.0, 1.0)
    low, high = found["a"].interval
    assert low == pytest.approx(0.4287, abs=1e-3)  # Clopper & Pearson, 100 of 200
    assert high == pytest.approx(0.5713, abs=1e-3)


def test_drawn_shares_are_within_two_points_and_their_intervals_cover_them() -> None:
    """20 launches of 4,000 samples: at least 95% of the 80 intervals cover the true share."""
    generator = np.random.default_rng(47)
    covered = 0
    for _ in range(20):
        for one in function_times(count_samples(drawn(generator))):
            if one.place.name in SHARES:
                true = SHARES[one.place.name]
                assert one.share == pytest.approx(true, abs=0.035)
                covered += one.interval[0] <= true <= one.interval[1]
    assert covered >= 0.95 * 80 - 3  # below this with a probability of 2% at exactly 95%


def test_planted_imbalance_is_in_the_planted_function() -> None:
    generator = np.random.default_rng(5)
    for _ in range(10):
        found = rank_excess(count_samples(drawn(generator, 4, 3000, slow=(2, "assemble", 1.3))))
        assert found is not None
        assert found.rank == 2
        first = found.functions[0]
        assert (first.place.name, first.p < 0.05) == ("assemble", True)
        assert [one.place.name for one in found.functions if one.p < 0.05] == ["assemble"]
    # 3,000 samples × 0.3 × 0.3 × 3/4 of a period beyond the mean.
    assert found.excess == pytest.approx(2.025, abs=0.02)
    low, high = first.interval
    assert low < 2.025 < high


def test_the_holder_is_the_caller_of_a_function_with_several_callers() -> None:
    """Rank 1 computes longer in "work", which two functions call; only "solve" is longer."""
    places = (place("main"), place("solve"), place("assemble"), Place("work", "app", inlined=True))
    stacks = ((0, 1, 3), (0, 2, 3))
    threads = (thread(0, [0] * 2000 + [1] * 1500), thread(1, [0] * 2600 + [1] * 1500))
    found = rank_excess(count_samples(ProgramSamples(PERIOD, "cpu-clock", places, stacks, threads)))
    assert found is not None
    assert found.functions[0].place.name == "work"
    assert found.holder is not None
    assert found.holder.place.name == "solve"
    assert found.holder.seconds == pytest.approx(3.0)
    equal = rank_excess(count_samples(program([{"a": 500}, {"a": 501}])))
    assert equal is not None
    assert equal.holder is None


def test_equal_ranks_rarely_have_a_slow_function() -> None:
    """At most 5% false alarms, over all functions and ranks."""
    generator = np.random.default_rng(6)
    alarms = 0
    for _ in range(200):
        found = rank_excess(count_samples(drawn(generator, ranks=4, samples=400)))
        if found is not None:
            alarms += any(one.p < 0.05 for one in found.functions)
    assert alarms <= 15  # more with a probability of 4% at exactly 5%


def test_recursion_counts_once() -> None:
    places = (place("main"), place("walk", 5), place("leaf", 9))
    stacks = ((0, 1), (0, 1, 1, 1, 1), (0, 1, 1, 2))
    samples = ProgramSamples(PERIOD, "cpu-clock", places, stacks, (thread(0, [0, 1, 1, 2]),))
    found = {one.place.name: one for one in function_times(count_samples(samples))}
    assert found["walk"].inclusive == 1.0
    assert found["walk"].share == 0.75
    assert found["leaf"].share == found["leaf"].inclusive == 0.25
    # Calls of itself are one box.
    assert [(box.place.name, box.depth) for box in call_tree(samples)] == [
        ("main", 0), ("walk", 1), ("leaf", 2),
    ]  # fmt: skip


def test_inlined_functions_and_lines_have_their_own_time() -> None:
    found = {one.place.name: one for one in function_times(count_samples(solver()))}
    assert found["stencil<double, 3>"].samples > found["relax"].samples > 0
    lines = function_times(count_samples(solver(), line_of))
    assert (lines[0].place.file, lines[0].place.line) == ("/src/relax.hpp", 21)
    assert sum(one.share for one in lines) == pytest.approx(1.0)


def test_code_without_names_is_one_function_and_many_addresses() -> None:
    places = (Place("", "libz.so.1", address=0x10), Place("", "libz.so.1", address=0x20))
    samples = ProgramSamples(PERIOD, "cpu-clock", places, ((0,), (1,)), (thread(0, [0, 1, 1]),))
    assert shares_of(samples) == {"libz.so.1 (no symbols)": 1.0}
    lines = function_times(count_samples(samples, line_of))
    assert [one.place.name for one in lines] == ["libz.so.1+0x20", "libz.so.1+0x10"]


def test_only_computing_counts_and_threads_have_their_activities() -> None:
    kinds = [Activity.COMPUTING] * 6 + [Activity.MPI] * 3 + [Activity.WAITING]
    places = (place("work"), place("MPI_Wait"), place("gomp_barrier"))
    samples = ProgramSamples(
        PERIOD, "cpu-clock", places, ((0,), (1,), (2,)),
        (thread(0, [0] * 6 + [1] * 3 + [2], kinds, name="omp 1", number=1),),
    )  # fmt: skip
    assert shares_of(samples) == {"work": 1.0}
    (one,) = thread_times(samples)
    assert (one.computing, one.mpi, one.waiting) == pytest.approx((0.06, 0.03, 0.01))
    assert one.busiest == CodePlace("work", "app")


def test_lost_samples_make_the_others_stand_for_more_time() -> None:
    samples = program([{"a": 90}, {"a": 90}])
    threads = (samples.threads[0], thread(1, [0] * 90, lost=90))
    counts = count_samples(ProgramSamples(PERIOD, "cpu-clock", samples.places, samples.stacks,
                                          threads))  # fmt: skip
    assert counts.seconds == pytest.approx([PERIOD, 2 * PERIOD])
    assert function_times(counts)[0].most == pytest.approx(1.8)


def test_no_samples_and_empty_stacks() -> None:
    empty = ProgramSamples(PERIOD, "cpu-clock", (), (), (thread(0, []), thread(1, [])))
    assert function_times(count_samples(empty)) == []
    assert rank_excess(count_samples(empty)) is None
    assert call_tree(empty) == []
    assert function_times(count_samples(ProgramSamples(PERIOD, "cpu-clock", (), (), ()))) == []
    unknown = ProgramSamples(PERIOD, "cpu-clock", (place("a"),), ((), (0,)), (thread(0, [0, 1]),))
    assert shares_of(unknown) == {"a": 0.5}


def test_the_boxes_of_callees_lie_within_their_callers() -> None:
    boxes = call_tree(solver())
    for box in boxes:
        inside = [one for one in boxes if one.depth == box.depth - 1
                  and one.begin <= box.begin + 1e-12 and box.end <= one.end + 1e-12]  # fmt: skip
        assert len(inside) == (box.depth > 0)
    # Calls within the MPI library are left out.
    assert all(box.place.function or box.place.module != "libmpi.so.12" for box in boxes)
    assert sum(box.own for box in boxes) == pytest.approx(1.0)


def test_names_hold_anything() -> None:
    hostile = Place("\x1b[31m\udcff\u202e", "a\nb")
    assert function_of(hostile) == CodePlace("\ufffd[31m\ufffd\ufffd", "a\ufffdb")


@pytest.mark.long
def test_ten_thousand_functions_on_a_thousand_ranks() -> None:
    """The number of samples, not ranks × functions × depth, decides the cost: about 5 s."""
    generator = np.random.default_rng(8)
    places = tuple(place(f"f{number}", 1) for number in range(10_000))
    stacks = tuple((0, number // 100, number) for number in range(10_000))
    threads = tuple(thread(rank, generator.integers(0, 10_000, 1000)) for rank in range(1000))
    samples = ProgramSamples(PERIOD, "cpu-clock", places, stacks, threads)
    counts = count_samples(samples)
    assert len(function_times(counts)) == 10_000
    assert rank_excess(counts) is not None
    assert int(counts.own.sum()) == 1_000_000
