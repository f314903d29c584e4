"""Kernels launched without assay: memory and CPU time of one launch."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import ASSAY, PeerError, embedded_mpirun, run

_PEAK = Path(__file__).with_name("peak_memory.py")


def executable() -> Path:
    """The kernels that assay built."""
    return Path(json.loads(run([*ASSAY, "kernels", "--build", "--json"])[0])["executable"])


def peak_memory(mpirun: str, ranks: int, command: Sequence[str | Path]) -> tuple[float, str]:
    """Peak bytes of the largest rank, and the program's output."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        wrapped = [sys.executable, "-S", "-E", str(_PEAK), folder, *map(str, command)]
        text, _ = run([mpirun, "-n", str(ranks), *wrapped])
        peaks = [float(path.read_text()) for path in Path(folder).iterdir()]
    if len(peaks) != ranks:
        raise PeerError(f"{len(peaks)} of {ranks} ranks reported their memory.")
    return max(peaks), text


def direct(
    kernels: Path, kernel: str, size: str, ranks: int, samples: int
) -> tuple[dict[str, Any], float]:
    """The record of one measurement of that many samples, and the bytes of its largest rank."""
    order = {
        "measurement": "m",
        "kernel": kernel,
        "parameters": {"class": size},
        "precision": 1e-6,
        "confidence": 0.95,
        "budget": 3600.0,
        "min_samples": samples,
        "max_samples": samples,
    }
    job = {
        "schema": 1,
        "job": "job",
        "threads": 1,
        "binding": "compact",
        "seed": 1,
        "measurements": [order],
    }
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        job_file, stream = Path(folder, "job.json"), Path(folder, "stream.jsonl")
        job_file.write_text(json.dumps(job))
        command: list[str | Path] = [kernels, "--job", job_file, "--out", stream]
        peak, _ = peak_memory(embedded_mpirun(), ranks, command)
        records = [json.loads(line) for line in stream.read_text().splitlines()]
    (found,) = [record for record in records if record["record"] == "measurement"]
    if found["status"] != "ok" or not found["verified"]:
        raise PeerError(f"assay's {kernel} class {size} on {ranks} rank(s): {found['error']}")
    return found, peak
