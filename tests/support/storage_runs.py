"""Storage measurements of two ranks that tests interrupt."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import msgspec

from assay.records.schema import Job, MeasurementOrder
from kernel_runs import launch_environment, plain
from native_build import TOOLS

PATIENCE = 60.0


def begun(order: MeasurementOrder, directory: Path, scratch: Path) -> subprocess.Popen[bytes]:
    """mpirun with a long measurement in ``directory`` that has begun to write.

    ``scratch`` gets the job and the stream.
    """
    path = scratch / "job.json"
    path.write_bytes(msgspec.json.encode(Job(1, "job", 1, "compact", 1, [order])))
    command = [TOOLS / "mpirun", "-n", "2", plain(), "--job", path, "--out", scratch / "stream"]
    process = subprocess.Popen(command, env=launch_environment(), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not list(directory.glob("assay-storage_*/data.1")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process
