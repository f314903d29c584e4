"""Calls through MPI's own libraries, as those of Fortran, belong to the program's lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mpi_counts import PROFILE, counting_library, read_profile
from native_build import TOOLS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("flags", [("-O0",), ("-O2",), ("-O2", "-fomit-frame-pointer")], ids=str)
def test_each_line_has_its_own_calls(tmp_path: Path, flags: tuple[str, ...]) -> None:
    # A library belongs to MPI by its name.
    library, program = tmp_path / "libmpiforwarding.so", tmp_path / "program"
    compiler = [TOOLS / "mpicc", "-Wall", "-Wextra", "-Werror", *flags]
    shared = [*compiler, "-shared", "-fPIC", PROFILE / "forwarding.c", "-o", library]
    subprocess.run(shared, check=True)
    linked = [PROFILE / "forwarded_calls.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program]
    subprocess.run([*compiler, *linked], check=True)
    environment = ["env", f"ASSAY_PROFILE_DIR={tmp_path}", f"LD_PRELOAD={counting_library()}"]
    subprocess.run([TOOLS / "mpirun", "-n", "1", *environment, program], check=True, timeout=60)
    calls: dict[str, dict[int, int]] = {"Send": {}, "Ssend": {}}
    for one in read_profile(tmp_path / "rank-0.jsonl"):
        if one["type"] == "call" and one["function"] in calls:
            assert Path(one["image"]).name == "program"
            lines = calls[one["function"]]
            lines[one["offset"]] = lines.get(one["offset"], 0) + one["calls"]
    assert sorted(calls["Send"].values()) == [30, 70, 70, 300]
    assert sorted(calls["Ssend"].values()) == [7, 35]
