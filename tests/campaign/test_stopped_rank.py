"""A rank that is stopped during a real measurement: the report names rank, launch and time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

STOPPED = 3.0


def ranks_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            if Path(child.exe()).name.startswith("assay-kernels") and "mpi" not in child.name():
                found.append(child)
        except (psutil.Error, OSError):
            continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="no schedstat")
@pytest.mark.long
def test_a_stopped_rank_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "assay", "measure", "network.pingpong", "bytes=1MiB",
               "--ppn", "2", "--launches", "1..1", "--precision", "0.01%", "--budget", "20 s",
               "--json", "--keep", "--runs", str(tmp_path / "runs")]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        stopped = False
        until = time.monotonic() + 500.0
        while process.poll() is None and not stopped and time.monotonic() < until:
            streams = list((tmp_path / "runs").glob("*/raw/*.jsonl"))
            begun = any("rank" in stream.read_text() for stream in streams)
            ranks = ranks_of(process) if begun else []
            if len(ranks) < 2:
                time.sleep(0.1)
                continue
            time.sleep(1.0)
            ranks[-1].suspend()
            time.sleep(STOPPED)
            ranks[-1].resume()
            stopped = True
        out, _ = process.communicate(timeout=300)
    assert stopped
    text = json.dumps(json.loads(out))
    assert "stood still for" in text, text[:3000]
