"""The NPB kernels: their parts against references, whole runs against the official values."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.kernels.npb.cg import CG_SIZES, cg_nonzeros
from assay.kernels.npb.ep import EP_LOG2_PAIRS
from assay.records.schema import MeasurementRecord, Progress
from check_program import HARNESS, CheckProgram
from kernel_runs import (
    Counted,
    CountedArray,
    Counter,
    any_number_of_ranks,
    assert_phases,
    assert_verified,
    measure_faults,
    measure_twice,
    plain,
    sanitized,
    stream_of,
)

MODULUS = 2**46
MULTIPLIER = 5**13
EP_SEED = 271828183
CG_SEED = 314159265
# Portable code and this machine's own: the lanes differ.
HERE = "-march=native"
each_target = pytest.mark.parametrize(
    "target", [HERE, pytest.param("-march=x86-64", marks=pytest.mark.long)]
)


# ---- Work, as published -------------------------------------------------------------------------


def test_ep_counts_random_numbers() -> None:
    work = {c: find_kernel("npb.ep").work({"class": c}, 3, 2)["operations"] for c in EP_LOG2_PAIRS}
    assert work == {
        **{"S": 2**25, "W": 2**26, "A": 2**29, "B": 2**31, "C": 2**33, "D": 2**37, "E": 2**41}
    }


def test_cg_operations_are_the_official_ones() -> None:
    """By hand for two classes; and the counts of RNR-94-007 (1508 and 54890 million) within 1%."""
    work = {c: find_kernel("npb.cg").work({"class": c}, 3, 2)["operations"] for c in EP_LOG2_PAIRS}
    assert work["S"] == 2 * 15 * 1400 * (3 + 7 * 8 + 25 * (5 + 7 * 8) + 3) == 66_654_000
    assert work["A"] == 1_496_460_000
    assert work["A"] == pytest.approx(1508e6, rel=0.01)
    assert work["B"] == pytest.approx(54_890e6, rel=0.01)


def test_cg_flops_are_those_of_its_equations() -> None:
    """One outer iteration on a matrix of few nonzeros, with every operation on elements counted.

    The formula leaves out what is done once for all rows, and the first addition of each sum.
    """
    order, counter = 40, Counter()
    columns = [[i, (i + 1) % order, (i * 7 + 3) % order] for i in range(order)]
    nonzeros = sum(map(len, columns))
    number = Counted(counter)

    def dot(a: CountedArray, b: CountedArray) -> Counted:
        total = Counted(counter, 0.0)
        for i in range(order):
            total = total + a[i] * b[i]
        return total

    def multiply(p: CountedArray, q: CountedArray) -> Counted:
        for i in range(order):
            total = Counted(counter, 0.0)
            for column in columns[i]:
                total = total + number * p[column]
            q[i] = total
        return dot(p, q)

    x, z, r, p, q = (CountedArray(counter, order) for _ in range(5))
    dot(x, x)
    for step in range(25):
        multiply(p, q)
        for i in range(order):
            r[i] = r[i] + number * q[i]
        dot(r, r)
        for i in range(order):
            z[i] = z[i] + number * p[i]
            if step < 24:
                p[i] = r[i] + number * p[i]
    multiply(p, q)
    for i in range(order):
        r[i] = x[i] + q[i]
    dot(r, r)
    dot(x, z)
    dot(z, z)
    for i in range(order):
        x[i] = number * z[i]
    assert counter.flops == 52 * nonzeros + 260 * order
    size, nonzer, outer = CG_SIZES["A"]
    formula = find_kernel("npb.cg").work({"class": "A"}, 3, 2)["flops"]
    # In addition, each row of a product has nine partial sums to add up.
    assert formula == outer * (52 * cg_nonzeros(size, nonzer) + 260 * size + 26 * 8 * size)


def test_cg_nonzeros_slightly_exceed_the_real_ones() -> None:
    """Those of S by the reference; of the others as the program counts them."""
    order, nonzer, _ = CG_SIZES["S"]
    known = {"S": len(matrix_oracle(order, nonzer, 10.0)), "W": 508_402}
    known |= {"A": 1_853_104, "B": 13_708_072}
    for name, nonzeros in known.items():
        order, nonzer, _ = CG_SIZES[name]
        assert nonzeros < cg_nonzeros(order, nonzer) < 1.025 * nonzeros


def test_cg_of_class_e_fits_no_machine_but_many_ranks_share_it() -> None:
    """77 GB of matrix; and each rank's 3 GB of generating vectors."""
    memory = find_kernel("npb.cg").memory
    assert memory is not None
    assert memory({"class": "E"}, 1, 1) == pytest.approx(75.9e9 + 3.1e9 + 4.0e9, rel=0.02)
    assert memory({"class": "E"}, 1000, 1) == pytest.approx(3.1e9 + 0.16e9, rel=0.05)


def test_ep_needs_next_to_no_memory() -> None:
    memory = find_kernel("npb.ep").memory
    assert memory is not None
    assert memory({"class": "E"}, 1, 4) == 4 * 96


# ---- References ---------------------------------------------------------------------------------


class BigGenerator:
    """The generator in integers of any size."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> float:
        self.state = self.state * MULTIPLIER % MODULUS
        return self.state / MODULUS


def matrix_oracle(order: int, nonzeros: int, shift: float) -> dict[tuple[int, int], float]:
    """CG's matrix, by its definition: the sum of weighted outer products, entry by entry."""
    generator = BigGenerator(CG_SEED)
    generator.next()
    span = 1 << (order - 1).bit_length()
    matrix: dict[tuple[int, int], float] = {}
    for i in range(order):
        vector: dict[int, float] = {}
        while len(vector) < nonzeros:
            value, position = generator.next(), int(span * generator.next())
            if position < order:
                vector.setdefault(position, value)
        vector[i] = 0.5
        for row, left in vector.items():
            for column, right in vector.items():
                term = 0.1 ** (i / order) * left * right
                matrix[row, column] = matrix.get((row, column), 0.0) + term
        matrix[i, i] = matrix.get((i, i), 0.0) + 0.1 - shift
    return matrix


PROGRAM = CheckProgram(
    "npb_check.cpp",
    ("npb/ep/gaussian.cpp", "npb/cg/matrix.cpp", "npb/cg/solver.cpp", *HARNESS),
)


def ask(target: str, *questions: str) -> list[list[str]]:
    return PROGRAM.ask(*questions, flags=("-O1", target))


@pytest.mark.slow
def test_generator_agrees_with_big_integers() -> None:
    """Skips of any length, the ends of the range among them, against Python's own powers."""
    chosen = Random(1)
    cases = [(CG_SEED, 0), (EP_SEED, 1), (1, 2**33), (MODULUS - 1, 2**64 - 1)]
    cases += [
        (chosen.randrange(1, MODULUS, 2), chosen.randrange(2 ** chosen.randrange(1, 65)))
        for _ in range(500)
    ]
    answers = ask(HERE, *(f"random {seed} {skip}" for seed, skip in cases))
    for (seed, skip), (state, number) in zip(cases, answers, strict=True):
        expected = seed * pow(MULTIPLIER, skip, MODULUS) % MODULUS
        assert int(state) == expected
        assert float.fromhex(number) == BigGenerator(expected).next()


@pytest.mark.slow
@each_target
def test_logarithm_is_within_one_and_a_half_ulp(target: str) -> None:
    chosen = np.random.default_rng(2)
    x = np.concatenate(
        [
            chosen.uniform(0, 1, 5000),
            1 - chosen.uniform(0, 1, 5000) * 2.0 ** -chosen.integers(0, 53, 5000),
            1 + chosen.uniform(0, 1, 2000),
            chosen.uniform(0.5, 1, 5000) * 2.0 ** -chosen.integers(0, 90, 5000),
            [0.5**0.5, np.nextafter(0.5**0.5, 0), 2.0**-90, 1 - 2.0**-53],
        ]
    )
    x = x[x > 0]
    found = np.array(
        [float.fromhex(word) for (word,) in ask(target, *(f"log {float(v).hex()}" for v in x))]
    )
    exact = np.log(x.astype(np.longdouble))
    spacing = np.spacing(np.abs(exact.astype(float)))
    assert np.max(np.abs((found - exact) / np.where(exact == 0, 1, spacing))) < 1.5
    assert ask(target, "log 1") == [["0x0p+0"]]


@pytest.mark.slow
@each_target
def test_vectorised_pairs_are_the_plain_ones(target: str) -> None:
    """Counts exactly, sums up to rounding; any start, including lengths that fill no vector."""
    chosen = Random(3)
    cases = [(0, 0), (0, 1), (5, 7), (2**40, 100_000), (0, 2**18 + 3)]
    cases += [(chosen.randrange(2**32), chosen.randrange(5000)) for _ in range(50)]
    answers = ask(target, *(f"pairs {EP_SEED} {first} {count}" for first, count in cases))
    for (_, count), answer in zip(cases, answers, strict=True):
        tuned, simple = answer[:12], answer[12:]
        assert tuned[2:] == simple[2:]
        for mine, other in zip(tuned[:2], simple[:2], strict=True):
            # Each deviate is below 10 and accurate to a few parts in 10^16; so is each addition.
            assert abs(float.fromhex(mine) - float.fromhex(other)) <= 1e-14 * (count + 1)


@pytest.mark.slow
def test_plain_pairs_follow_the_definition() -> None:
    generator = BigGenerator(EP_SEED)
    sums, counts = np.zeros(2), [0] * 10
    for _ in range(3000):
        pair = np.array([2 * generator.next() - 1, 2 * generator.next() - 1])
        t = float(pair @ pair)
        if t <= 1:
            deviates = pair * np.sqrt(-2 * np.log(t) / t)
            sums += deviates
            counts[int(max(abs(deviates)))] += 1
    (answer,) = ask(HERE, f"pairs {EP_SEED} 0 3000")
    assert [int(word) for word in answer[14:]] == counts
    assert [float.fromhex(word) for word in answer[12:14]] == pytest.approx(sums, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("width", ["16", pytest.param("32", marks=pytest.mark.long)])
def test_matrix_is_the_defined_one(width: str) -> None:
    """All rows of class S; and built in two parts it is the same, bit for bit."""
    order, nonzeros, _ = CG_SIZES["S"]
    whole, first, second = ask(
        HERE, *(f"matrix{width} S {a} {b}" for a, b in ((0, order), (0, 411), (411, order)))
    )
    assert whole == first + second
    oracle = matrix_oracle(order, nonzeros, 10.0)
    entries = [
        (int(row), int(column), float.fromhex(value))
        for row, column, value in zip(whole[::3], whole[1::3], whole[2::3], strict=True)
    ]
    assert [entry[:2] for entry in entries] == sorted(oracle)
    for row, column, value in entries:
        assert value == pytest.approx(oracle[row, column], rel=1e-13)


@pytest.mark.slow
@each_target
def test_tuned_products_are_the_plain_one(target: str) -> None:
    questions = ["product16 S 0 1400", "product16 W 3000 3100", "product32 A 7 900"]
    for (error,) in ask(target, *questions):
        assert float.fromhex(error) < 1e-14


@pytest.mark.slow
def test_memory_need_is_the_catalogue_s() -> None:
    memory = find_kernel("npb.cg").memory
    assert memory is not None
    cases = [(c, ranks, threads) for c in CG_SIZES for ranks in (1, 2, 97) for threads in (1, 5)]
    answers = ask(HERE, *(f"memory {c} {ranks} {threads}" for c, ranks, threads in cases))
    for (name, ranks, threads), (word,) in zip(cases, answers, strict=True):
        formula = memory({"class": name}, ranks, threads)
        assert float.fromhex(word) == pytest.approx(formula, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ranks", "threads"),
    [
        ("A", 1, 1),
        ("A", 3, 1),
        *(pytest.param("B", *each, marks=pytest.mark.long) for each in ((1, 2), (2, 1))),
    ],
)
def test_memory_need_is_a_tight_upper_bound(name: str, ranks: int, threads: int) -> None:
    """Compared with the growth of the process, as the system counts it."""
    lines = PROGRAM.ask(f"built {name} {threads}", ranks=ranks, launched=True)
    assert len(lines) == ranks
    for grown, need, _ in lines:
        assert float.fromhex(grown) <= float.fromhex(need) <= 1.15 * float.fromhex(grown)
    nonzeros = {"A": 1_853_104, "B": 13_708_072}
    assert sum(int(count) for _, _, count in lines) == nonzeros[name]


@pytest.mark.slow
def test_index_types_hold_the_largest_class() -> None:
    """Class E has more nonzeros than 32 bits count, by arithmetic: it can't be run here."""
    ((row, column, vector_index, vector_start, row_start, bound, vector),) = [
        [int(word) for word in answer] for answer in ask(HERE, "limits")
    ]
    order, nonzer, _ = CG_SIZES["E"]
    assert cg_nonzeros(order, nonzer) > 2**32
    # Numbers of rows; positions are drawn below the next power of two; MPI counts them in an int.
    assert min(row, column, vector_index, vector) >= 1 << (order - 1).bit_length()
    assert order < 2**31 - 1
    # Elements of all vectors, and of all rows; splitting rows multiplies twice that by the parts.
    assert vector_start > order * (nonzer + 1)
    assert min(row_start, bound) > 2 * order * (nonzer + 1) ** 2 * 2**20


@pytest.mark.slow
def test_shares_and_blocks_cover_everything_once() -> None:
    chosen = Random(4)
    cases = [
        (
            *(chosen.randrange(9), chosen.randrange(2**40), chosen.randrange(1, 40)),
            [chosen.randrange(1, 200) for _ in range(chosen.randrange(1, 300))],
        )
        for _ in range(100)
    ]
    questions = []
    for begin, size, parts, weights in cases:
        questions.append(f"shares {begin} {begin + size} {parts}")
        questions.append(f"split {parts} {' '.join(map(str, weights))}")
    answers = iter(ask(HERE, *questions))
    for begin, size, parts, weights in cases:
        shares, limits = ([int(word) for word in next(answers)] for _ in range(2))
        assert shares[0] == begin and shares[-1] == begin + size
        assert shares[1:-1:2] == shares[2::2]
        lengths = [b - a for a, b in zip(shares[::2], shares[1::2], strict=True)]
        assert max(lengths) - min(lengths) <= 1
        assert limits == sorted(limits) and (limits[0], limits[-1]) == (0, len(weights))
        heaviest = max(sum(weights[a:b]) for a, b in pairwise(limits))
        assert heaviest <= sum(weights) / parts + max(weights)


# ---- Whole runs ---------------------------------------------------------------------------------


def _assert_close(record: MeasurementRecord, ranks: int) -> None:
    """Within a thousandth of the official tolerance: only rounding differs."""
    assert_verified(record)
    communication = {"npb.ep": ["allreduce"], "npb.cg": ["allreduce", "allgatherv"]}
    assert_phases(record, "compute", *(communication[record.kernel] if ranks > 1 else []))
    assert record.verification is not None and record.verification.value is not None
    assert record.verification.tolerance == {"npb.ep": 1e-8, "npb.cg": 1e-10}[record.kernel]
    assert record.verification.value < record.verification.tolerance / 1000
    assert record.batch == 1


@pytest.mark.slow
@any_number_of_ranks
def test_class_s_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    orders = [("npb.ep", {"class": "S"}), ("npb.cg", {"class": "S"})]
    found = measure_twice(plain(), *orders, ranks=ranks, threads=threads)
    for record in found:
        _assert_close(record, ranks)
    # The counts are exact for any number of ranks: pi/4 of the pairs are within the circle.
    assert found[0].facts["accepted_pairs"] == 13_176_389


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w(ranks: int) -> None:
    orders = [("npb.ep", {"class": "W"}), ("npb.cg", {"class": "W"})]
    for record in measure_twice(plain(), *orders, ranks=ranks):
        _assert_close(record, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.sanitizable
def test_perturbed_inputs_fail(ranks: int) -> None:
    """A different seed, one element of the matrix wrong by a millionth: timed, but not verified."""
    orders = [
        ("npb.ep", {"class": "S", "fault": "none"}),
        ("npb.cg", {"class": "S", "fault": "none"}),
        ("npb.ep", {"class": "S", "fault": "seed"}),
        ("npb.cg", {"class": "S", "fault": "matrix"}),
    ]
    measure_faults(*orders, ranks=ranks, samples=(2, 2))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "threads"),
    [(2, 2), *(pytest.param(*each, marks=pytest.mark.long) for each in ((1, 2), (2, 1)))],
)
@pytest.mark.sanitizable
def test_sanitizers_find_nothing(ranks: int, threads: int) -> None:
    orders = [("npb.ep", {"class": "S"}), ("npb.cg", {"class": "S"})]
    for record in measure_twice(sanitized(), *orders, ranks=ranks, threads=threads):
        _assert_close(record, ranks)


@pytest.mark.slow
def test_an_unknown_class_fails_with_a_message() -> None:
    (record,) = measure_twice(plain(), ("npb.cg", {"class": "Z"}))
    assert record.status == "failed" and "S, W, A, B, C" in (record.error or "")


# ---- Progress ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (2, 2)])
def test_long_samples_report_their_progress(ranks: int, threads: int) -> None:
    """Classes of about half a second; the harness passes on a report every quarter of a second."""
    sizes = {"ep": "A", "cg": "A", "mg": "A", "ft": "A", "is": "A", "lu": "W", "sp": "W"}
    orders = [(f"npb.{name}", {"class": size}) for name, size in sizes.items()]
    records = stream_of(plain(), *orders, ranks=ranks, threads=threads, samples=(1, 1))
    done = [record for record in records if isinstance(record, MeasurementRecord)]
    long = [record for record in done if record.series[0].values[0] > 0.6]
    if not long:
        pytest.skip("No benchmark takes longer than 0.6 s here, so none has to say how far it is.")
    words = [record for record in records if isinstance(record, Progress)]
    for record in long:
        shares = [word.share for word in words if word.measurement == record.measurement]
        assert shares and None not in shares, record.kernel
        assert shares == sorted(set(shares)) and 0.0 < shares[0] <= shares[-1] <= 1.0
        assert shares[0] < 1.0, "its first report is not its last"
