"""memory.strided, memory.random, memory.latency and the NUMA node of memory: real measurements."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel, kernels
from assay.kernels.memory import MODES, STRIDED_WORDS
from kernel_runs import (
    Counted,
    CountedArray,
    Counter,
    assert_good,
    measure,
    measure_faults,
    plain,
    sanitized,
)

STRIDED, RANDOM, LATENCY = "memory.strided", "memory.random", "memory.latency"
LOADED = "memory.loaded_latency"


@pytest.mark.parametrize("operation", STRIDED_WORDS)
def test_strided_work_is_what_the_plain_loop_does(operation: str) -> None:
    counter, n, stride = Counter(), 10, 3
    a, b, c = (CountedArray(counter, n * stride) for _ in range(3))
    s, q = Counted(counter), Counted(counter, 3.0)
    for i in range(0, n * stride, stride):
        match operation:
            case "read":
                s = s + a[i]
            case "write":
                a[i] = q
            case "copy":
                a[i] = b[i]
            case "scale":
                a[i] = q * b[i]
            case "sum":
                a[i] = b[i] + c[i]
            case _:
                a[i] = b[i] + q * c[i]
    work = find_kernel(STRIDED).work({"op": operation, "stride": stride, "elements": n}, 5, 1)
    assert work["bytes"] * n == 5 * 8 * (counter.reads + counter.writes)


def test_memory_is_that_of_arrays_table_and_working_set() -> None:
    strided = find_kernel(STRIDED).memory
    assert strided is not None
    assert strided({"op": "triad", "stride": 4, "elements": 10}, 2, 1) == 3 * 8 * 40
    random = find_kernel(RANDOM).memory
    assert random is not None
    assert random({"mode": "update", "elements": 64}, 2, 1) == 64 * 8
    assert random({"mode": "read", "elements": 64}, 2, 1) == 64 * 8 + 8 * 4


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_strided_access_verifies_at_odd_sizes(ranks: int) -> None:
    wanted = [
        {"op": op, "stride": stride, "elements": elements}
        for op in STRIDED_WORDS
        for stride, elements in ((1, 1), (1, 1003), (2, 7), (17, 513), (600, 9))
    ]
    found = measure(plain(), *((STRIDED, w) for w in wanted), ranks=ranks)
    for parameters, record in zip(wanted, found, strict=True):
        assert_good(record)
        assert record.parameters == {**parameters, "memory_node": -1}
        assert record.batch == parameters["elements"]  # one pass, as this many accesses


@pytest.mark.slow
def test_random_access_verifies_in_all_modes() -> None:
    wanted = [
        {"mode": mode, "elements": elements, "pages": pages}
        for mode in MODES
        for elements in (2, 4, 1024, 1 << 16)
        for pages in ("huge", "small")
    ]
    wanted += [{"mode": mode, "elements": 1001} for mode in ("read", "write")]
    for parameters, record in zip(
        wanted, measure(plain(), *((RANDOM, w) for w in wanted), ranks=2), strict=True
    ):
        assert_good(record)
        accesses = max(parameters["elements"] // 8, 1)
        assert record.facts["accesses_of_pass"] == accesses
        assert record.batch is not None and record.batch % accesses == 0


@pytest.mark.slow
def test_every_line_of_a_working_set_is_visited() -> None:
    wanted = [
        {"bytes": size, "pages": pages}
        for size in (1, 64, 128, 192, 4096, 100_000, 1 << 20)
        for pages in ("huge", "small")
    ]
    for parameters, record in zip(
        wanted, measure(plain(), *((LATENCY, w) for w in wanted), ranks=2), strict=True
    ):
        assert_good(record)
        line = record.facts["line"]
        assert record.parameters["bytes"] == max(parameters["bytes"] // line, 1) * line
        if parameters["pages"] == "small":
            assert record.facts["huge_page_share"] == 0


@pytest.mark.slow
def test_automatic_sizes_exceed_the_caches() -> None:
    strides = ({}, {"op": "triad", "stride": 17})
    strided = measure(plain(), *((STRIDED, s) for s in strides), ranks=2, samples=(1, 1))
    (random,) = measure(plain(), (RANDOM, {}), ranks=2, samples=(1, 1))
    (latency,) = measure(plain(), (LATENCY, {}), samples=(1, 1))
    for record in (*strided, random, latency):
        assert_good(record)
    for record in strided:
        assert 0.9 <= record.facts["touched_over_caches"] <= 4
    # 16 elements of 8 bytes are in as many lines at stride 1 as 2 are at stride 17.
    assert strided[0].parameters["elements"] > strided[1].parameters["elements"]
    assert random.facts["table_over_caches"] >= 4
    assert random.parameters["elements"].bit_count() == 1
    caches = strided[0].parameters["elements"] * 16 / strided[0].facts["touched_over_caches"]
    assert latency.parameters["bytes"] >= min(4 * caches, 1 << 30)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_to_strided_access_is_found() -> None:
    cases = [("read", fault) for fault in ("none", "value", "nan")]
    for op in set(STRIDED_WORDS) - {"read"}:
        cases += [(op, fault) for fault in ("none", "value", "nan", "gap")]
    cases += [(op, "skip") for op in ("write", "scale", "triad")]  # sum and copy have no scalar
    orders = [
        (STRIDED, {"op": op, "stride": 3, "elements": 500, "fault": fault}) for op, fault in cases
    ]
    measure_faults(*orders, ranks=2)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_to_tables_and_chains_is_found() -> None:
    cases = [(RANDOM, {"mode": mode, "elements": 512}, "value") for mode in MODES]
    cases += [(RANDOM, {"mode": mode, "elements": 512}, "skip") for mode in ("write", "update")]
    cases += [(LATENCY, {"bytes": 64 * 64}, fault) for fault in ("cut", "swap", "skip")]
    cases += [(RANDOM, {"mode": "update", "elements": 512}, "none")]
    cases += [(LATENCY, {"bytes": 64 * 64}, "none")]
    measure_faults(*((name, {**p, "fault": fault}) for name, p, fault in cases))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    orders = [
        (STRIDED, {"op": op, "stride": stride, "elements": 103})
        for op in STRIDED_WORDS
        for stride in (1, 5)
    ]
    orders += [(RANDOM, {"mode": mode, "elements": 256}) for mode in MODES]
    orders += [(LATENCY, {"bytes": 5000, "pages": pages}) for pages in ("huge", "small")]
    for record in measure(sanitized(), *orders, ranks=2):
        assert_good(record)


@pytest.mark.slow
def test_memory_is_on_the_named_node() -> None:
    named = [k.name for k in kernels() if k.parameter("memory_node")]
    assert named == ["memory.stream", STRIDED, RANDOM, LATENCY, LOADED]
    size = {"memory.stream": {"elements": 5000}, STRIDED: {"elements": 5000},
            RANDOM: {"elements": 4096}, LATENCY: {"bytes": 1 << 20},
            LOADED: {"bytes": 1 << 20, "load": 0}}  # fmt: skip
    here = measure(plain(), *((name, {**size[name], "memory_node": 0}) for name in named))
    for record in here:
        if (record.error or "").endswith(("not permitted", "not implemented")):
            pytest.skip(f"memory policies are not allowed here: {record.error}")
        assert_good(record)
        assert record.facts["lies_on_node"] in (0, -1)
        assert record.parameters["memory_node"] == 0
    nowhere = ((name, {**size[name], "memory_node": 4000}) for name in named)
    for record in measure(plain(), *nowhere):
        assert record.status == "failed"
        assert record.error == (
            "parameter 'memory_node' is 4000, but there is no such NUMA node here"
        )


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    wrong = [
        (STRIDED, {"stride": 0}, "'stride' must be between 1 and"),
        (STRIDED, {"elements": -1}, "'elements' must not be negative"),
        (STRIDED, {"elements": 10**13, "stride": 2}, "1 arrays of 10000000000000 elements at"),
        (STRIDED, {"elements": 2**62, "stride": 2**20}, "give a smaller number of 'elements'"),
        (RANDOM, {"elements": 1000}, "must be a power of two for updates, not 1000"),
        (RANDOM, {"elements": 1}, "'elements' must be 0, or between 2 and"),
        (RANDOM, {"mode": "erase"}, "read, write, update"),
        (LATENCY, {"bytes": 2**50}, "give a smaller number of 'bytes'"),
    ]
    for record, (_, parameters, words) in zip(
        measure(plain(), *((name, parameters) for name, parameters, _ in wrong)), wrong, strict=True
    ):
        assert record.status == "failed"
        assert words in (record.error or ""), (parameters, record.error)
