"""memory.loaded_latency and memory.core_to_core: real measurements with two threads."""

from __future__ import annotations

import itertools

import pytest

from assay.kernels import find_kernel
from assay.kernels.memory import STREAM_WORK
from assay.model.placement import Placement
from kernel_runs import assert_verified, measure, measure_faults, plain, sanitized

LOADED, CORES = "memory.loaded_latency", "memory.core_to_core"
# Parts that no burst of a streaming thread divides, and a chain of 64 lines.
SMALL = {"elements": 3000, "bytes": 4096}


def _series(record, metric):
    return [series for series in record.series if series.metric == metric]


@pytest.mark.slow
def test_loads_beside_streams_verify_at_every_rate_and_operation() -> None:
    wanted = [{**SMALL, "op": op, "load": load} for op in STREAM_WORK for load in (0, 40, 100)]
    wanted += [{**SMALL, "stores": "ordinary"}, {"elements": 700, "bytes": 64}]
    found = measure(plain(), *((LOADED, w) for w in wanted), threads=2)
    for parameters, record in zip(wanted, found, strict=True):
        assert_verified(record)
        assert record.parameters["bytes"] == parameters["bytes"]
        assert record.parameters["elements"] == parameters["elements"]
        traffic = _series(record, "traffic")
        if parameters.get("load") == 0:
            assert traffic == []
            assert record.facts["streaming_threads"] == 0
            continue
        assert record.facts["streaming_threads"] == 1
        assert record.facts["full_rate"] > 0
        (values,) = (series.values for series in traffic)
        assert len(values) == len(_series(record, "time")[0].values)  # one per sample
        assert record.parameters["stores"] in ("ordinary", "nontemporal")


@pytest.mark.slow
def test_each_streaming_thread_has_its_part() -> None:
    for threads, streaming in ((3, 2), (4, 3)):
        wanted = {"elements": 5000, "bytes": 4096}
        (record,) = measure(plain(), (LOADED, wanted), threads=threads, samples=(1, 1))
        assert_verified(record)
        assert record.facts["streaming_threads"] == streaming
    # Parts start at multiples of 512 elements: a third thread would have none.
    (record,) = measure(plain(), (LOADED, {**SMALL, "elements": 600}), threads=4, samples=(1, 1))
    assert_verified(record)
    assert record.facts["streaming_threads"] == 2


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_to_chain_and_streams_is_found() -> None:
    cases = [(100, fault) for fault in ("none", "cut", "swap", "skip", "value", "nan", "count")]
    cases += [(40, "value"), (40, "none"), (0, "cut"), (0, "none")]
    measure_faults(
        *((LOADED, {**SMALL, "load": load, "fault": fault}) for load, fault in cases), threads=2
    )


@pytest.mark.slow
@pytest.mark.sanitizable
def test_lost_and_additional_turns_are_found() -> None:
    orders = [(CORES, {"trips": 5, "fault": fault}) for fault in ("none", "turn", "trip")]
    records = measure_faults(*orders, threads=2)
    assert [record.verification.value for record in records] == [0, 1, 2]


@pytest.mark.slow
def test_the_line_visits_both_cores_and_the_system_tells_where_they_are() -> None:
    (record,) = measure(plain(), (CORES, {"trips": 20}), threads=2, samples=(3, 3))
    assert_verified(record)
    (pair,) = _series(record, "pair")
    assert (pair.rank, pair.peer) == (0, 1)
    assert len(pair.values) == 1 and pair.values[0] > 0
    taken = len(_series(record, "time")[0].values)
    assert len(_series(record, "median_pair")[0].values) == taken  # one per sample
    # With one pair, the median and the slowest pair are that pair.
    assert _series(record, "median_pair")[0].values == _series(record, "slowest_pair")[0].values
    facts = record.facts
    assert (facts["members"], facts["pairs"], facts["pairs_in_all"]) == (2, 1, 1)
    for name in ("cpus", "cores", "shared_caches", "packages", "numa_nodes"):
        assert len(str(facts[name]).split()) == 2, name
    assert len(set(str(facts["cpus"]).split())) == 2


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_cores_run_clean_under_the_sanitizers() -> None:
    orders = [(LOADED, {**SMALL, "op": op, "load": load})
              for op, load in itertools.product(("copy", "triad"), (0, 40, 100))]  # fmt: skip
    orders += [(CORES, {"trips": 3})]
    for record in measure(sanitized(), *orders, threads=2):
        assert_verified(record)


@pytest.mark.slow
def test_wrong_orders_for_cores_get_one_sentence() -> None:
    wrong = [
        (LOADED, {"load": 101}, "'load' must be between 0 and 100, not 101"),
        (LOADED, {"elements": -1}, "'elements' must not be negative"),
        (LOADED, {"bytes": 2**50}, "give a smaller number of 'bytes'"),
        (LOADED, {"bytes": 64, "elements": 10**13}, "3 arrays of 10000000000000 elements"),
        (LOADED, {"op": "erase"}, "copy, scale, sum, triad"),
        (LOADED, {}, "needs at least 2 threads"),
        (CORES, {}, "needs at least 2 threads"),
        (CORES, {"trips": 0}, "'trips' must be between 1 and"),
        (CORES, {"most": 0}, "'most' must be between 1 and"),
    ]
    found = measure(plain(), *((name, parameters) for name, parameters, _ in wrong[:5]), threads=2)
    found += measure(plain(), *((name, parameters) for name, parameters, _ in wrong[5:]))
    for record, (_, parameters, words) in zip(found, wrong, strict=True):
        assert record.status == "failed"
        assert words in (record.error or ""), (parameters, record.error)
    (apart,) = measure(plain(), (LOADED, {}), ranks=2)
    assert "needs one rank per node" in (apart.error or "")
    # More threads than CPUs are not pinned, and would wait for each other's time slices.
    (crowded,) = measure(plain(), (CORES, {}), threads=64)
    assert crowded.status == "failed" and "each to its own CPU" in (crowded.error or "")


def test_plans_refuse_placements_that_cannot_show_it() -> None:
    loaded, cores = find_kernel(LOADED).check, find_kernel(CORES).check
    assert loaded is not None and cores is not None
    assert loaded({"load": 50}, Placement(threads=2)) is None
    assert loaded({"load": 0}, Placement()) is None
    assert "at least 2 threads" in (loaded({"load": 50}, Placement()) or "")
    assert "one rank per node" in (loaded({"load": 0}, Placement(ppn=2, threads=2)) or "")
    assert cores({}, Placement(threads=2)) is None
    assert "at least 2 threads" in (cores({}, Placement()) or "")
    assert "pinned" in (cores({}, Placement(threads=2, binding="none")) or "")


def test_memory_of_loads_and_streams() -> None:
    memory = find_kernel(LOADED).memory
    assert memory is not None
    assert memory({"load": 0, "op": "triad", "elements": 10, "bytes": 64}, 1, 2) == 64
    assert memory({"load": 1, "op": "triad", "elements": 10, "bytes": 64}, 1, 2) == 64 + 240
    assert memory({"load": 1, "op": "copy", "elements": 10, "bytes": 64}, 1, 2) == 64 + 160
