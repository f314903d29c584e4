"""A slow CPU among many, and interfering neighbours: planted ones are named; others are not."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.hostnames import compress_hosts, expand_hosts
from assay.questions.common.question import Measured
from assay.questions.steadiness.causes.answer import cell_sentence
from assay.questions.steadiness.causes.findings import find as causes_of
from assay.questions.steadiness.factors.answer import sentence
from assay.questions.steadiness.factors.findings import find as factors_of
from assay.questions.steadiness.variation.findings import VariationFindings, find
from assay.records.model import RunData
from assay.records.schema import RankRecord
from assay.stats.attribution.attribution import attribute
from assay.stats.attribution.concurrent_runs import measured_beside
from assay.stats.attribution.covariates import cause_of
from assay.stats.attribution.explanations import candidates_of
from assay.stats.repeats.repeats import Repeats, joined, repeats_of
from repeats_builder import make_repeats
from report_builder import make_run
from variation_builder import BEGAN, normal, npb, run_of


def variation(run: RunData, history: Sequence[RunData] = ()) -> VariationFindings:
    return find(Measured(run, [], history))


def on_cpus(
    seed: int, n: int, cpus: int, ranks: int, slow: int | None, effect: float = 0.08
) -> Repeats:
    """Each measurement on CPUs drawn at random; with one of ``slow`` it takes longer."""
    random = np.random.default_rng(seed)
    seats = [sorted(random.choice(cpus, ranks, replace=False)) for _ in range(n)]
    late = np.array([effect if slow in seat else 0.0 for seat in seats])
    around = {
        "steal_seconds": random.poisson(2.0, n).astype(float),
        "other_cpu_seconds": random.gamma(2.0, 0.1, n),
        "memory_latency": 1e-7 * np.exp(0.05 * random.normal(size=n)),
    }
    cores = tuple(compress_hosts(f"cpu{k}" for k in seat) for seat in seats)
    cost = np.exp(late + 0.01 * random.normal(size=n))
    return make_repeats(cost, around, cores=cores)


def test_a_slow_cpu_among_many_is_named_with_its_cost() -> None:
    repeats = on_cpus(1, 120, 64, 8, slow=37)
    (share,) = attribute(repeats).shares
    assert (share.cause, share.covariate, share.sign) == ("cores", "cpu37", 1)
    truth = np.var([0.08 * (37 in numbers(text)) for text in repeats.cores])
    assert share.ci95[0] <= truth / (truth + 0.01**2) <= share.ci95[1]
    assert share.detail.startswith("launches on cpu37 took 8") and share.detail.endswith(
        "more time"
    )
    assert "the CPUs that its ranks ran on: some CPUs are slower" in share.sentence
    causes = causes_of([repeats], make_run([]))
    assert causes is not None
    assert "(launches on cpu37 took 8" in cell_sentence(causes.cells[0])


def numbers(cores: str) -> set[int]:
    return {int(name.removeprefix("cpu")) for name in expand_hosts(cores)}


def test_one_rank_that_moves_over_slow_and_fast_cpus() -> None:
    (share,) = attribute(on_cpus(2, 90, 16, 1, slow=5)).shares
    assert share.covariate == "cpu5" and share.sign == 1
    quick = on_cpus(3, 90, 16, 1, slow=5, effect=-0.08)
    (share,) = attribute(quick).shares
    assert share.covariate == "cpu5" and share.sign == -1 and share.detail.endswith("less time")


def test_cpus_that_were_always_together_are_named_together() -> None:
    random = np.random.default_rng(4)
    halves = random.random(60) < 0.4
    cost = np.exp(0.05 * halves + 0.01 * random.normal(size=60))
    cores = tuple("cpu[4-7]" if half else "cpu[0-3]" for half in halves)
    (share,) = attribute(make_repeats(cost, {}, cores=cores)).shares
    # Slower there, or faster elsewhere: equivalent, reported once.
    assert share.cause == "cores" and share.covariate in ("cpu[0-3]", "cpu[4-7]")
    assert share.sign == (1 if share.covariate == "cpu[4-7]" else -1)
    named = [each for each in candidates_of(make_repeats(cost, {}, cores=cores)) if each.which]
    assert len(named) == 1


def test_the_same_cpu_of_all_hosts_and_that_of_one() -> None:
    random = np.random.default_rng(5)
    n = 240
    hosts = random.choice(["n1", "n2", "n3"], n)
    cpus = random.integers(0, 8, n)
    noise = 0.01 * random.normal(size=n)
    cores = tuple(f"cpu{k}" for k in cpus)

    def named(slow: np.ndarray) -> str:
        cost = np.exp(0.08 * slow + noise)
        found = attribute(make_repeats(cost, {}, hosts=tuple(hosts), cores=cores)).shares
        return found[0].covariate

    assert named(cpus == 0) == "cpu0"
    assert named((cpus == 3) & (hosts == "n2")) == "n2:cpu3"
    assert named(hosts == "n3") == "hosts"


def test_hosts_with_cpus_of_their_own_are_hosts() -> None:
    """If a host and its CPUs are confounded, the host is reported."""
    random = np.random.default_rng(6)
    there = random.random(60) < 0.5
    cost = np.exp(0.05 * there + 0.01 * random.normal(size=60))
    repeats = make_repeats(
        cost,
        {},
        hosts=tuple("n2" if each else "n1" for each in there),
        cores=tuple("cpu[4-7]" if each else "cpu[0-3]" for each in there),
    )
    (share,) = attribute(repeats).shares
    assert share.cause == "hosts" and share.detail.startswith("launches on n")


def test_equal_cpus_are_not_named() -> None:
    """At 1% a cell: of 100 more than 5 would be chance once in 2,000 times (binomial)."""
    named = sum(bool(attribute(on_cpus(100 + k, 40, 16, 2, None)).shares) for k in range(100))
    assert named <= 5


def test_cells_with_constant_cpus_have_no_such_cause() -> None:
    repeats = on_cpus(7, 40, 4, 4, None)
    assert set(repeats.cores) == {"cpu[0-3]"}
    assert not any(each.cause.name == "cores" for each in candidates_of(repeats))


def test_many_hosts_and_cpus_stay_bounded() -> None:
    random = np.random.default_rng(8)
    n = 4000
    hosts = tuple(f"n{k}" for k in random.integers(0, 200, n))
    cores = tuple(f"cpu{k}" for k in random.integers(0, 64, n))
    cost = np.exp(0.01 * random.normal(size=n))
    found = candidates_of(make_repeats(cost, {}, hosts=hosts, cores=cores))
    assert 64 <= sum(each.cause.name == "cores" for each in found) <= 257


# ---- neighbours ----------------------------------------------------------------------------------


def test_work_on_neighbouring_cpus_is_distinguished_from_other_load_on_the_node() -> None:
    random = np.random.default_rng(9)
    near, far = random.gamma(2.0, 0.4, 100), random.gamma(2.0, 2.0, 100)
    cost = np.exp(0.03 * near + 0.01 * random.normal(size=100))
    around = {"neighbour_cpu_seconds": near, "other_cpu_seconds": near + far}
    (share,) = attribute(make_repeats(cost, around)).shares
    assert share.cause == "shared caches" and share.sign == 1
    assert "share a core or a cache" in share.sentence
    # And load that slows through shared resources of the node is reported as such.
    cost = np.exp(0.01 * (near + far) + 0.01 * random.normal(size=100))
    shares = attribute(make_repeats(cost, around)).shares
    assert shares[0].cause == "neighbours"


def test_a_rank_that_waits_for_its_own_cpu_names_no_neighbour() -> None:
    random = np.random.default_rng(10)
    wait = random.gamma(2.0, 0.2, 100)
    cost = np.exp(0.1 * wait + 0.01 * random.normal(size=100))
    around = {"worst_wait_seconds": wait, "neighbour_cpu_seconds": wait + 0.05 * random.random(100)}
    (share,) = attribute(make_repeats(cost, around)).shares
    assert share.cause == "competition"


def lasting(run: RunData, wall: float) -> RunData:
    measurements = tuple(
        replace(m, record=msgspec.structs.replace(m.record, wall=wall)) for m in run.measurements
    )
    return replace(run, measurements=measurements)


def test_concurrent_measurements_of_other_runs_are_found() -> None:
    """By brute force over all pairs of measurements."""
    random = np.random.default_rng(11)
    runs = [
        lasting(run_of([(npb(code), np.ones(40))], every=every, name=name, began=BEGAN + at), wall)
        for code, every, name, at, wall in (
            ("ep", 10.0, "a-box-x", 0.0, 4.0),
            ("lu", 17.0, "b-box-y", 30.0, 9.0),
            ("cg", 23.0, "c-box-z", 100.0, 1.0),
        )
    ]
    runs = [moved(run, random) for run in runs]
    found = measured_beside(runs)
    for run in runs:
        for m in run.measurements:
            wanted = {
                other.cell.kernel
                for others in runs
                if others is not run
                for other in others.measurements
                if other.ranks[0].host == m.ranks[0].host
                and other.utc < m.utc + m.record.wall
                and m.utc < other.utc + other.record.wall
            }
            key = (run.manifest.run, m.launch, m.utc)
            assert found.get(key, "") == ", ".join(sorted(wanted))
    assert found


def moved(run: RunData, random: np.random.Generator) -> RunData:
    """The same, each measurement on one of two hosts."""
    measurements = tuple(
        replace(m, ranks=tuple(msgspec.structs.replace(r, host=host) for r in m.ranks))
        for m in run.measurements
        for host in [str(random.choice(["n1", "n2"]))]
    )
    return replace(run, measurements=measurements)


def test_a_concurrent_run_is_a_cause_and_a_factor() -> None:
    """Every other launch has a concurrent launch of another run, and takes 5% longer."""
    slow = np.arange(60) % 2 == 0
    values = normal(12, 60, 0.005) * np.where(slow, 1.05, 1.0)
    run = lasting(run_of([(npb("ep"), values)], name="a-box-quick"), 4.0)
    other = lasting(
        run_of([(npb("lu"), np.ones(30))], every=20.0, name="b-box-other", began=BEGAN + 1.0), 5.0
    )
    studied = variation(run, [other])
    (varied,) = studied.varied
    assert varied.repeats.beside == ("npb.lu", "") * 30
    (share,) = attribute(varied.repeats).shares
    assert share.cause == "beside"
    # Either half may be reported; both are equally frequent.
    assert share.detail.startswith(
        ("launches concurrent with npb.lu took", "launches without a concurrent run took")
    )
    (comparison,) = (c for c in factors_of(studied).comparisons if c.factor == "beside")
    assert comparison.location.verdict == "differs"
    assert sentence(comparison).startswith("concurrent LU ")
    assert " median by 5.0% [" in sentence(comparison)
    # Without it, there is nothing to report.
    assert variation(run).varied[0].repeats.beside == ()
    assert all(cause_of(name).name == name for name in ("beside", "cores", "shared caches"))


def test_runs_without_a_common_host_were_not_concurrent() -> None:
    one = lasting(run_of([(npb("ep"), np.ones(20))], name="a-box-x", hosts=("n1",)), 5.0)
    other = lasting(run_of([(npb("lu"), np.ones(20))], name="b-box-y", hosts=("n2",)), 5.0)
    assert measured_beside([one, other]) == {}
    assert len(measured_beside([one, replace(one, manifest=other.manifest)])) == 40


# ---- hosts of sets, and CPUs of ranks, from runs -------------------------------------------------


def seated(*seats: tuple[str, list[int]]) -> tuple[RankRecord, ...]:
    return tuple(
        RankRecord(k, host, 10 + k, k, cpus, 0, True, False) for k, (host, cpus) in enumerate(seats)
    )


@pytest.mark.parametrize(
    ("ranks", "hosts", "cores"),
    [
        (seated(("n1", [0]), ("n1", [1])), "n1", "cpu[0-1]"),
        (seated(("n1", [2, 3]), ("n1", [0, 1])), "n1", "cpu[0-3]"),
        (seated(("n1", [0]), ("n2", [0])), "n[1-2]", "cpu0"),
        (seated(("n1", [0]), ("n2", [4, 5])), "n[1-2]", "n1:cpu0,n2:cpu[4-5]"),
        ((), "", ""),
    ],
)
def test_cpus_of_ranks(ranks: tuple[RankRecord, ...], hosts: str, cores: str) -> None:
    run = run_of([(npb("ep"), np.ones(2))])
    measurements = tuple(replace(m, ranks=ranks) for m in run.measurements)
    (repeats,) = repeats_of(replace(run, measurements=measurements))
    assert repeats.hosts == (hosts,) * 2
    assert repeats.cores == ((cores,) * 2 if cores else ())
    assert repeats.take([True, False]).cores == repeats.cores[:1]


def test_cpus_of_runs_with_and_without_records_of_them() -> None:
    repeats = make_repeats(np.ones(3), {}, cores=("cpu0", "cpu1", "cpu0"))
    bare = replace(make_repeats(np.ones(2), {}), utc=repeats.utc[:2] + 1.0)
    (both,) = joined([repeats, bare])
    assert both.cores == ("cpu0", "", "cpu1", "", "cpu0")
    assert joined([bare, bare])[0].cores == ()
    assert math.isclose(both.utc[1] - both.utc[0], 1.0)


def test_cpus_are_a_factor_where_they_differ_within_a_cell() -> None:
    """Cells on one and on two CPUs differ in ranks, not in CPUs; wandering ranks do."""
    run = run_of(
        [(npb("ep", ppn=1), normal(13, 40, 0.004)), (npb("ep", ppn=2), normal(14, 40, 0.004))]
    )
    assert "CPUs" not in {each.factor for each in factors_of(variation(run)).comparisons}
    slow = np.arange(40) % 2 == 1
    values = normal(15, 40, 0.004) * np.where(slow, 1.04, 1.0)
    wandering = run_of([(npb("ep", ppn=1), values)])
    measurements = tuple(
        replace(m, ranks=seated(("box", [3 if late else 0])))
        for m, late in zip(wandering.measurements, slow, strict=True)
    )
    (found,) = factors_of(variation(replace(wandering, measurements=measurements))).comparisons
    assert found.factor == "CPUs"
    assert sentence(found).startswith("cpu3 raises EP's median by 3.7% [3.5, 4.2]")


def test_a_host_that_makes_its_sets_slow_is_in_the_answer() -> None:
    """Ten sets of three of six hosts; sets with one particular host take 6% longer."""
    sets = list(itertools.combinations(range(5), 2)) * 4
    hosts = [(f"n{a}", f"n{b}", "n9") for a, b in sets]
    slow = np.array(["n3" in each for each in hosts])
    values = normal(16, len(sets), 0.005) * np.where(slow, 1.06, 1.0)
    run = run_of([(npb("ft", nodes=3, ppn=1), values)])
    measurements = tuple(
        replace(m, ranks=seated(*((host, [0]) for host in each)))
        for m, each in zip(run.measurements, hosts, strict=True)
    )
    answer = reply_to("steadiness", [], replace(run, measurements=measurements)).answer
    found = re.search(r"ets with n3 take (\S+)% longer in .* \(4 of 10 sets, p = ", answer.verdict)
    assert found is not None and float(found[1]) == pytest.approx(6.0, abs=0.4)
    assert "Measure n3 individually: `assay run --per-node`." in answer.advice
    (row,) = (row for row in answer.evidence if row.metric == "cost relative to sets without")
    assert row.ci95[0] <= 1.06 <= row.ci95[1]
    # One set alone is none among others.
    assert "ets with" not in reply_to("steadiness", [], run).answer.verdict
