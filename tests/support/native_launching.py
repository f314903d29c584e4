"""Common parts of the native harness's tests: executable, jobs, launches, strict reading."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.records.schema import (
    Job,
    MeasurementBegin,
    MeasurementOrder,
    MeasurementRecord,
    Progress,
    RankRecord,
    StreamEnd,
    StreamRecord,
    StreamStart,
)
from kernel_runs import ENVIRONMENT as SANITIZERS
from native_build import FOR_TESTS, TOOLS, build_kernels
from polite_ranks import polite

STRUCTS: dict[str, type[msgspec.Struct]] = {
    "start": StreamStart,
    "rank": RankRecord,
    "begin": MeasurementBegin,
    "progress": Progress,
    "measurement": MeasurementRecord,
    "end": StreamEnd,
}


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The executable with the test kernels in it."""
    return build_kernels(FOR_TESTS)


def job(
    *measurements: tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], dict[str, Any]],
    **changes: Any,
) -> bytes:
    """A job of (kernel, parameters[, limits]), measured quickly; ``changes``: fields of the job."""
    usual = {
        "precision": 0.05,
        "confidence": 0.95,
        "budget": 0.3,
        "min_samples": 5,
        "max_samples": 100,
    }
    orders = [
        MeasurementOrder(f"m{i}", kernel, parameters, **{**usual, **(limits[0] if limits else {})})
        for i, (kernel, parameters, *limits) in enumerate(measurements)
    ]
    head = {"schema": 1, "job": "j", "threads": 1, "binding": "compact", "seed": 1, **changes}
    return msgspec.json.encode(Job(**head, measurements=orders))


def _check_keys(raw: Any, struct: type[msgspec.Struct]) -> None:
    known = set(struct.__struct_fields__) | {"record"}
    assert set(raw) <= known, f"undocumented fields: {set(raw) - known}"


def read_record(line: bytes) -> StreamRecord:
    """One line, decoded strictly; a field that the schema doesn't document is an error."""
    raw = json.loads(line)
    _check_keys(raw, STRUCTS[raw["record"]])
    for series in raw.get("series", ()):
        assert set(series) == {"metric", "unit", "rank", "peer", "starts", "values"}
    return msgspec.json.decode(line, type=StreamRecord, strict=True)


@dataclass(frozen=True)
class Finished:
    """A launch that has ended."""

    status: int
    stderr: str
    stdout: str
    records: list[StreamRecord] = field(default_factory=list)

    def all(self, kind: type[Any]) -> list[Any]:
        return [record for record in self.records if isinstance(record, kind)]

    @property
    def measurements(self) -> list[MeasurementRecord]:
        return self.all(MeasurementRecord)

    @property
    def complaints(self) -> list[str]:
        """The program's own lines on stderr, without mpirun's."""
        return [line for line in self.stderr.splitlines() if line.startswith("assay-kernels:")]


def read_stream(path: Path) -> list[StreamRecord]:
    content = path.read_bytes() if path.is_file() else b""
    assert not content or content.endswith(b"\n")
    return [read_record(line) for line in content.splitlines()]


def command(executable: Path, ranks: int, job_path: Path, stream: Path | str) -> list[str]:
    return [
        *(str(TOOLS / "mpirun"), "-n", str(ranks), str(executable)),
        *("--job", str(job_path), "--out", str(stream)),
    ]


# As by the launcher: idle threads of a BLAS spin, and would count as the rank's time.
ENVIRONMENT = {**SANITIZERS, "OPENBLAS_NUM_THREADS": "1"}
Launch = Callable[..., Finished]


@pytest.fixture
def launch(kernels: Path, tmp_path: Path) -> Launch:
    """``launch(job, ranks=1, stream=path)`` runs it to its end; each launch has its own stream."""
    number = itertools.count()

    def run(
        content: bytes,
        ranks: int = 1,
        stream: Path | str | None = None,
        executable: Path = kernels,
        environment: dict[str, str] | None = None,
    ) -> Finished:
        job_path = tmp_path / "job.json"
        stream = stream or tmp_path / f"stream{next(number)}.jsonl"
        job_path.write_bytes(content)
        done = subprocess.run(
            command(executable, ranks, job_path, stream),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **ENVIRONMENT, **polite(ranks), **(environment or {})},
        )
        assert "ERROR: AddressSanitizer" not in done.stderr and "runtime error" not in done.stderr
        return Finished(done.returncode, done.stderr, done.stdout, read_stream(Path(stream)))

    return run
