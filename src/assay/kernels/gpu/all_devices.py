"""All devices of a node at once, compared with one device at a time."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND, DEVICE
from assay.kernels.gpu.stream import STREAM_WORK
from assay.model.placement import Placement, Value

_USUAL_TRANSFER = 1 << 26
_STREAM, _GEMM, _TO_DEVICE, _TO_HOST = "stream", "gemm", "to device", "to host"
# Vectors, matrices or transfers whose bytes count.
_COUNTED = {_STREAM: STREAM_WORK["triad"][0], _GEMM: 3, _TO_DEVICE: 1, _TO_HOST: 1}


def _bytes(parameters: Mapping[str, Value]) -> int:
    usual = _USUAL_TRANSFER if parameters["op"] in (_TO_DEVICE, _TO_HOST) else 0
    return int(parameters["bytes"]) or usual


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    moved = _COUNTED[str(parameters["op"])] * _bytes(parameters) * ranks
    return {"bytes": float(moved), "whole": 1.0}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return float(_bytes(parameters)) if parameters["op"] in (_TO_DEVICE, _TO_HOST) else 0.0


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if int(parameters["bytes"]) % 8:
        return f"Vectors are of whole words of 8 bytes, not of {parameters['bytes']} bytes."
    return None


ALL = Kernel(
    name="gpu.all",
    title="All devices of a node at once, compared with one device at a time",
    min_devices=1,
    parameters=(
        Parameter(
            "op",
            _STREAM,
            "stream: the triad of gpu.stream; gemm: products of gpu.gemm in double precision; to "
            "device, to host: transfers of gpu.transfer from or to pinned memory",
            choices=tuple(_COUNTED),
        ),
        Parameter(
            "bytes",
            0,
            "bytes of a vector, matrix or transfer; 0: as gpu.stream and gpu.gemm choose; 64 MiB",
            unit="B",
            low=0,
        ),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one operation on all devices at once, slowest rank"),
        Metric(
            "time.alone", "s", "less", "one operation on one device, slowest rank", series="alone"
        ),
        Metric(
            "share",
            "",
            "more",
            "time alone / time beside the others, of the rank that suffers most; 1: devices don't "
            "slow each other",
            series="slowdown",
            quantity="whole",
        ),
        Metric(
            "bandwidth",
            "B/s",
            "more",
            "bytes of the vectors, matrices or transfers of all devices / time",
            quantity="bytes",
        ),
    ),
    work=_work,
    source="Maltenberger et al. (2022)",
    min_ranks=2,
    headline="share",
    notes="Before each sample the ranks of a node take turns, and each one's device works alone "
    "while the others wait. In the sample all of them work. Both last about 5 ms, by the host's "
    "clock. Nodes don't wait for each other's devices: ranks of different nodes take their turns "
    "at the same time. The series `rank_alone` and `rank_together` have the median of each rank. "
    "Verified as the operation's own kernel is.",
    work_units={"bytes": "B", "whole": ""},
    formulas={
        "bytes": "bytes × ranks, times 3 for stream and gemm",
        "whole": "1",
    },
    memory=_memory,
    check=_check,
)
