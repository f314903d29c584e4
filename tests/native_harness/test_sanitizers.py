"""The harness under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from launching import Launch, job, native_sanitized

pytestmark = pytest.mark.slow

# Leaks are not looked for: MPI libraries keep what MPI_Init allocates for the process's life.
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


@pytest.fixture(scope="module")
def sanitized() -> Path:
    return native_sanitized()


def test_unit_tests_run_clean(sanitized: Path) -> None:
    done = subprocess.run(
        [sanitized.with_name("assay-unit-tests")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ENVIRONMENT},
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_small_job_runs_clean(launch: Launch, sanitized: Path, ranks: int) -> None:
    measurements = [
        ("test.sleep", {"seconds": 1e-4}),
        ("test.sleep", {"seconds": 0.0, "max_batch": 1000}),
        ("test.slow_rank", {"seconds": 1e-3}),
        ("test.loosened", {}),
        ("test.telling", {}),
        ("test.throw", {"in": "setup", "rank": 0}),
        ("test.throw", {"in": "run", "rank": ranks - 1}),
        ("test.nan", {"rank": ranks - 1}),
        ("network.barrier", {}),
    ]
    done = launch(job(*measurements), ranks, executable=sanitized, environment=ENVIRONMENT)
    assert "ERROR: AddressSanitizer" not in done.stderr
    assert "runtime error" not in done.stderr
    assert done.status == 4  # of the planted failures alone
    assert len(done.measurements) == len(measurements)
