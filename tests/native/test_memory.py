"""memory.stream: its work formulas, its loops against the reference, and real measurements."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from assay.kernels import find_kernel
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

STREAM = find_kernel("memory.stream")
OPERATIONS = ("copy", "scale", "sum", "triad")
HERE = Path(__file__).parents[1]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_work_is_what_the_plain_loop_does(operation: str) -> None:
    counter = Counter()
    a, b, c = (CountedArray(counter, 10) for _ in range(3))
    scalar = Counted(counter, 3.0)
    for i in range(10):
        if operation == "copy":
            a[i] = b[i]
        elif operation == "scale":
            a[i] = scalar * b[i]
        elif operation == "sum":
            a[i] = b[i] + c[i]
        else:
            a[i] = b[i] + scalar * c[i]
    work = STREAM.work({"op": operation, "elements": 10}, 3, 2)
    assert work == {"bytes": 3 * 8 * (counter.reads + counter.writes), "flops": 3 * counter.flops}


SANITIZERS = "-fsanitize=address,undefined"


def _instruction_sets() -> list[str]:
    """Values of -march that run here, so that each width of vectors is compiled in turn."""
    levels = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
    if platform.machine() != "x86_64":
        return ["native"]
    cpuinfo = Path("/proc/cpuinfo").read_text().split()
    return [level for level, flag in levels.items() if flag in cpuinfo]


INSTRUCTION_SETS = _instruction_sets()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("march", "sanitizers"),
    [
        (_instruction_sets()[-1], SANITIZERS),
        *(pytest.param(march, "", marks=pytest.mark.long) for march in _instruction_sets()),
        *(
            pytest.param(march, SANITIZERS, marks=pytest.mark.long)
            for march in _instruction_sets()[:-1]
        ),
    ],
)
def test_tuned_loops_equal_the_reference(tmp_path: Path, march: str, sanitizers: str) -> None:
    """At sizes and offsets with unaligned ends; every result is exact, none may differ."""
    program = tmp_path / "stream_pairs"
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    options = [sanitizers, "-fno-sanitize-recover=all"] if sanitizers else []
    subprocess.run(
        [
            *("c++", "-std=c++20", "-O1" if sanitizers else "-O3", f"-march={march}"),
            *(
                *strict,
                *options,
                f"-I{HERE.parent / 'native'}",
                HERE / "support" / "stream_pairs.cpp",
            ),
            *("-o", program),
        ],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert all(line.endswith("pairs=2700 differ=0") for line in lines), done.stdout
    # Every operation, each with the reference and, on this processor family, a tuned loop or two.
    tuned = {"native": 0, "x86-64": 1, "x86-64-v3": 1, "x86-64-v4": 2}[march]
    assert [line.split()[0] for line in lines] == [o for o in OPERATIONS for _ in range(1 + tuned)]


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (1, 2), (2, 1)])
def test_every_operation_verifies_at_odd_sizes(ranks: int, threads: int) -> None:
    kinds = ["auto", "ordinary"]
    if platform.machine() == "x86_64":
        kinds.append("nontemporal")
    wanted = [
        {"op": operation, "elements": elements, "stores": stores}
        for operation in OPERATIONS
        for elements in (1, 513, 20_011)
        for stores in kinds
    ]
    found = measure(plain(), *(("memory.stream", w) for w in wanted), ranks=ranks, threads=threads)
    for parameters, record in zip(wanted, found, strict=True):
        assert_good(record)
        assert set(record.parameters) == {p.name for p in STREAM.parameters}
        assert record.parameters["op"] == parameters["op"]
        assert record.parameters["elements"] == parameters["elements"]
        assert record.parameters["stores"] == record.facts["stores"]
        if parameters["stores"] != "auto":
            assert record.facts["stores"] == parameters["stores"]
        assert record.verification is not None and record.verification.value is not None


@pytest.mark.long
@pytest.mark.slow
def test_automatic_size_exceeds_the_caches_and_spares_memory() -> None:
    (alone,) = measure(plain(), ("memory.stream", {}), samples=(1, 1))
    (shared,) = measure(plain(), ("memory.stream", {}), ranks=2, samples=(1, 1))
    for record, ranks in ((alone, 1), (shared, 2)):
        assert_good(record)
        assert record.parameters["op"] == STREAM.parameter("op").default
        times = record.facts["array_over_caches"]
        assert 4 <= times <= 17
        caches = 8 * ranks * record.parameters["elements"] / times
        assert caches >= 2**20


@pytest.mark.slow
def test_wrong_parameters_are_reported_with_numbers() -> None:
    too_many, negative, word, unknown = measure(
        plain(),
        ("memory.stream", {"elements": 10**13}),
        ("memory.stream", {"elements": -1}),
        ("memory.stream", {"op": "add"}),
        ("memory.stream", {"size": 3}),
    )
    assert {r.status for r in (too_many, negative, word, unknown)} == {"failed"}
    assert "3 arrays of 10000000000000 elements take 228881836 MiB" in too_many.error
    assert "25% of " in too_many.error and "elements can be at most " in too_many.error
    assert "'elements'" in negative.error
    assert "copy, scale, sum, triad" in word.error
    assert "'size'" in unknown.error


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """One wrong element, a NaN, and a pass that was counted but not executed."""
    cases = [(op, fault) for op in OPERATIONS for fault in ("none", "value", "nan")]
    cases += [("scale", "skip"), ("triad", "skip")]
    found = measure_faults(
        *(("memory.stream", {"op": op, "elements": 5000, "fault": fault}) for op, fault in cases),
        threads=2,
    )
    for (_, fault), record in zip(cases, found, strict=True):
        assert (record.verification.value is None) == (fault == "nan")


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "threads"), [(1, 2), (2, 1)])
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers(ranks: int, threads: int) -> None:
    orders = [("memory.stream", {"op": op, "elements": 1003}) for op in OPERATIONS]
    for record in measure(sanitized(), *orders, ranks=ranks, threads=threads):
        assert_good(record)
