"""Profiles count the bytes in memory of devices, by function; the program needs no device library.

The device is a fake one, whose CUDA and HIP know which pointers are theirs.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import prepared_assay
from devices import build_fake_cuda
from mpi_counts import PROFILE
from mpi_libraries import MPI_LIBRARIES, MpiLibrary, compile_c
from quick_part import first_quickly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("polite_waiting")]
ROUNDS, BYTES = 5, 1000


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the fake libraries."""
    return build_fake_cuda(tmp_path_factory.mktemp("devices"))


@pytest.fixture(scope="module")
def only_hip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, of which only HIP knows its pointers."""
    folder = tmp_path_factory.mktemp("hip")
    return build_fake_cuda(folder, without=["cuPointerGetAttribute"])


def profiled(
    folder: Path, library: MpiLibrary, devices: Path, *arguments: str
) -> tuple[dict[str, Any], str]:
    """What `assay profile` found: as JSON, and its text."""
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    program = compile_c(library, PROFILE / "device_buffers.c", folder / "program")
    command = [*library.run, "-n", "2", str(program), *arguments]
    words = [sys.executable, "-m", "assay", "profile", "--folder", str(folder / "kept")]
    environment = os.environ | {"LD_LIBRARY_PATH": str(devices)}
    done = prepared_assay.run(
        [*words, "--json", "--", *command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "has an error" not in done.stdout + done.stderr
    shown = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--read", str(folder / "kept")],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return json.loads(done.stdout[done.stdout.index("{") :]), shown.stdout


def in_devices(folder: Path) -> dict[tuple[int, str], tuple[int, int]]:
    """(calls, bytes) in device memory, by rank and function, from the files of the ranks."""
    calls: Counter[tuple[int, str]] = Counter()
    amount: Counter[tuple[int, str]] = Counter()
    for rank in range(2):
        for line in (folder / f"rank-{rank}.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record.get("device_calls"):
                calls[rank, record["function"]] += record["device_calls"]
                amount[rank, record["function"]] += record["device_bytes"]
    return {key: (calls[key], amount[key]) for key in calls}


# Receives count their buffers; a start of a persistent request counts as its request.
EXPECTED = {
    (0, "Send"): (2 * ROUNDS, ROUNDS * (BYTES + 10)),
    (1, "Recv"): (2 * ROUNDS, ROUNDS * (BYTES + 10)),
    (0, "Allreduce"): (ROUNDS, ROUNDS * 4 * BYTES),
    (1, "Allreduce"): (ROUNDS, ROUNDS * 4 * BYTES),
    (0, "Start"): (ROUNDS, ROUNDS * BYTES),
}


@pytest.mark.parametrize("kind", [("cuda",), ("hip",), ("cuda", "late")], ids=" ".join)
@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
def test_bytes_in_device_memory_are_counted_by_function(
    tmp_path: Path, library: MpiLibrary, kind: tuple[str, ...], devices: Path, only_hip: Path
) -> None:
    place = only_hip if kind == ("hip",) else devices
    found, text = profiled(tmp_path, library, place, *kind)
    assert in_devices(tmp_path / "kept") == EXPECTED
    functions = {one["function"]: one for one in found["functions"]}
    assert functions["Allreduce"]["device_bytes"] == 2 * ROUNDS * 4 * BYTES
    assert functions["Allreduce"]["bytes"] == 4 * ROUNDS * 4 * BYTES
    assert functions["Barrier"]["device_calls"] == 0
    assert "buffers in device memory: Allreduce 40.0 kB in 10 calls" in " ".join(text.split())


def test_a_program_without_a_device_has_no_such_numbers(tmp_path: Path, devices: Path) -> None:
    found, text = profiled(tmp_path, MPI_LIBRARIES[0], devices, "none")
    assert in_devices(tmp_path / "kept") == {}
    assert {one["device_calls"] for one in found["functions"]} == {0}
    assert "device memory" not in text


@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
def test_calls_without_a_device_search_for_no_library(tmp_path: Path, library: MpiLibrary) -> None:
    """A search in the folders of libraries takes far longer than a call."""
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    source = PROFILE / "library_searches.c"
    program = compile_c(library, source, tmp_path / "program", "-rdynamic")
    command = [*library.run, "-n", "1", str(program)]
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "profile", "--", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 searches" in done.stdout.splitlines()
