"""Runs real kernels for tests: takes jobs of tiny measurements, returns their records."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import msgspec
import pytest

from assay.config import Config
from assay.kernels import building, needs_thread_multiple
from assay.kernels.toolchains import select_toolchain
from assay.model.placement import Value
from assay.records.schema import (
    Job,
    MeasurementOrder,
    MeasurementRecord,
    StreamEnd,
    StreamRecord,
)
from native_build import FOR_TESTS, SANITIZED, TOOLS, build_kernels
from patient_ranks import patient

# Whole benchmarks: on one rank, on a power of two and on another number; with threads and without;
# other numbers of ranks up to nine take long.
_FEW = {(1, 1), (2, 2), (3, 1)}
any_number_of_ranks = pytest.mark.parametrize(
    ("ranks", "threads"),
    [
        pytest.param(*each, marks=() if each in _FEW else pytest.mark.long)
        for each in product(range(1, 10), (1, 2))
    ],
)
# Either code of a benchmark that has both.
each_code = pytest.mark.parametrize("code", ["tuned", "plain"])
# No leak detection: MPI libraries never free what they allocate in MPI_Init. Another library may be
# preloaded. Waiting threads sleep, because other tests may keep the CPUs busy.
_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "OMP_WAIT_POLICY": "passive",
    # Ranks on one machine: setting up the network adapters takes a fifth of a short launch.
    "UCX_TLS": "self,sm",
}


def launch_environment() -> dict[str, str]:
    """The environment of launches: ranks sleep while they wait."""
    return patient({**os.environ, **_ENVIRONMENT})


@cache
def plain() -> Path:
    """The shipped executable, as ``make build`` builds it."""
    return building.build_kernels(select_toolchain("embedded", Config()))


@cache
def faulty() -> Path:
    """The executable built for tests: with the kernels ``test.*`` and the parameter ``fault``,
    which plants damage before the check. If all tests run under the sanitizers, it is
    ``sanitized()``.
    """
    return build_kernels(FOR_TESTS)


@cache
def sanitized() -> Path:
    """The same under the address and undefined-behaviour sanitizers."""
    return build_kernels(SANITIZED)


def measure(
    executable: Path,
    *orders: tuple[str, Mapping[str, Value]],
    ranks: int = 1,
    threads: int = 1,
    order: str = "block",
    samples: tuple[int, int] = (2, 4),
    prefix: Sequence[str] = (),
    multiple: bool | None = None,
) -> list[MeasurementRecord]:
    """One launch of (kernel, parameters) pairs; one record each, in order. Checks the end record.

    ``samples``: minimum and maximum. ``prefix``: the beginning of each rank's command line.
    ``multiple``: whether MPI_THREAD_MULTIPLE is requested; None: as the kernels need it.
    """
    records = stream_of(
        executable,
        *orders,
        ranks=ranks,
        threads=threads,
        order=order,
        samples=samples,
        prefix=prefix,
        multiple=multiple,
    )
    return [record for record in records if isinstance(record, MeasurementRecord)]


def stream_of(
    executable: Path,
    *orders: tuple[str, Mapping[str, Value]],
    ranks: int = 1,
    threads: int = 1,
    order: str = "block",
    samples: tuple[int, int] = (2, 4),
    prefix: Sequence[str] = (),
    multiple: bool | None = None,
) -> list[StreamRecord]:
    """As ``measure``, but returns all records of the stream."""
    measurements = [
        MeasurementOrder(f"m{i}", kernel, dict(parameters), 0.2, 0.95, 0.1, *samples)
        for i, (kernel, parameters) in enumerate(orders)
    ]
    if multiple is None:
        multiple = any(needs_thread_multiple(kernel, threads) for kernel, _ in orders)
    job = Job(1, "job", threads, "compact", 1, measurements, order=order)
    with tempfile.TemporaryDirectory() as folder:
        job_path, stream = Path(folder, "job.json"), Path(folder, "stream.jsonl")
        job_path.write_bytes(msgspec.json.encode(job))
        done = subprocess.run(
            [
                *(TOOLS / "mpirun", "-n", str(ranks), *prefix, executable),
                *("--job", job_path, "--out", stream),
                *(["--thread-multiple"] if multiple else []),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=launch_environment(),
        )
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        records = [
            msgspec.json.decode(line, type=StreamRecord, strict=True)
            for line in stream.read_bytes().splitlines()
        ]
    assert records[-1] == StreamEnd(len(orders), "complete"), done.stderr
    found = [record for record in records if isinstance(record, MeasurementRecord)]
    assert all(is_good(each) for each in found) == (done.returncode == 0), done.stderr
    return records


def measure_twice(
    executable: Path,
    *orders: tuple[str, Mapping[str, Value]],
    ranks: int = 1,
    threads: int = 1,
) -> list[MeasurementRecord]:
    """As ``measure``, for whole benchmarks: data left by the first sample would spoil the second,
    and further samples only take time.
    """
    return measure(executable, *orders, ranks=ranks, threads=threads, samples=(2, 2))


def measure_faults(
    *orders: tuple[str, Mapping[str, Value]],
    ranks: int = 1,
    threads: int = 1,
    samples: tuple[int, int] = (2, 4),
    harmless: Callable[[Mapping[str, Value]], bool] = lambda _: False,
) -> list[MeasurementRecord]:
    """As ``measure``, on the kernels built for tests, which have the parameter ``fault``.

    A measurement with a planted fault must not be verified; all others must be: those with "none",
    and those whose fault does no damage, as ``harmless`` decides by an order's parameters.
    """
    records = measure(faulty(), *orders, ranks=ranks, threads=threads, samples=samples)
    for (kernel, parameters), record in zip(orders, records, strict=True):
        good = parameters["fault"] == "none" or harmless(parameters)
        assert (record.status, record.verified) == ("ok", good), (kernel, parameters, record)
        assert record.verification is not None
    return records


def is_good(record: MeasurementRecord) -> bool:
    """Whether the record alone would give the exit status 0."""
    return record.status == "ok" and record.verified is True


def assert_good(record: MeasurementRecord) -> None:
    """As ``assert_verified``, and without series other than its time."""
    assert_verified(record)
    assert len(record.series) == 1


def assert_verified(record: MeasurementRecord) -> None:
    """Measured, verified, and with samples that are plausible times."""
    assert (record.status, record.error, record.verified) == ("ok", None, True), record
    series = record.series[0]
    assert series.values and all(value > 0 for value in series.values)


def assert_phases(record: MeasurementRecord, *phases: str, ranks: int = 0) -> None:
    """Exactly these phases; their means over ranks add up to at most the slowest's time.

    ``ranks``: by default more than one if there are phases besides the computation.
    """
    whole, *parts = record.series
    several = ranks > 1 if ranks else len(phases) > 1
    # With several ranks the last series are minimum and maximum of the computation.
    spread = ["least_compute", "most_compute"] if phases[0] == "compute" and several else []
    assert [whole.metric, *(part.metric for part in parts)] == ["time", *phases, *spread]
    values_of = {series.metric: series.values for series in record.series}
    for index, time in enumerate(whole.values):
        assert 0 < sum(values_of[phase][index] for phase in phases) <= time
        if spread:
            least, mean, most = (
                values_of[name][index] for name in (spread[0], "compute", spread[1])
            )
            assert 0 <= least <= mean * (1 + 1e-12) and mean <= most * (1 + 1e-12) and most <= time


class Counter:
    """Counts the operations on the ``Counted`` numbers and arrays that share it."""

    def __init__(self) -> None:
        self.flops = self.reads = self.writes = 0


class Counted:
    """A number that counts its additions and multiplications."""

    def __init__(self, counter: Counter, value: float = 1.0) -> None:
        self.counter, self.value = counter, value

    def _flop(self, value: float) -> Counted:
        self.counter.flops += 1
        return Counted(self.counter, value)

    def __add__(self, other: Counted) -> Counted:
        return self._flop(self.value + other.value)

    def __mul__(self, other: Counted) -> Counted:
        return self._flop(self.value * other.value)


class CountedArray:
    """An array of ``Counted`` numbers that counts its reads and writes."""

    def __init__(self, counter: Counter, n: int) -> None:
        self.counter, self.values = counter, [Counted(counter) for _ in range(n)]

    def __getitem__(self, index: int) -> Counted:
        self.counter.reads += 1
        return self.values[index]

    def __setitem__(self, index: int, value: Counted) -> None:
        self.counter.writes += 1
        self.values[index] = value
