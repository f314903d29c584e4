"""Collective operations between the devices of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME
from assay.model.placement import Placement, Value

_MOST, _USUAL = 1 << 32, 1 << 26
_BYTES = {"float": 4, "double": 8}
# The bus bandwidth over the algorithm bandwidth, by ranks: NVIDIA, nccl-tests, PERFORMANCE.md.
BUS: Mapping[str, Callable[[int], float]] = {
    "allreduce": lambda ranks: 2.0 * (ranks - 1) / ranks,
    "allgather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
}


def _bytes(parameters: Mapping[str, Value], ranks: int) -> int:
    """Bytes of the whole vector: as given, or 64 MiB rounded down to an element for each rank."""
    unit = ranks * _BYTES[str(parameters["type"])]
    return int(parameters["bytes"]) or max(_USUAL // unit, 1) * unit


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    size = float(_bytes(parameters, ranks))
    return {"bytes": size, "bus_bytes": size * BUS[str(parameters["op"])](ranks)}


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    unit = placement.ranks * _BYTES[str(parameters["type"])]
    if int(parameters["bytes"]) % unit:
        return (
            f"bytes = {parameters['bytes']} can't be divided among {placement.ranks} ranks: use a "
            f"multiple of {unit}."
        )
    return None


COLLECTIVE = Kernel(
    name="gpu.collective",
    title="Collective operations between the devices of all ranks, by NCCL or RCCL",
    min_devices=1,
    parameters=(
        Parameter("op", "allreduce", "the operation", choices=tuple(BUS)),
        Parameter(
            "bytes",
            0,
            "bytes of the whole vector: of each rank's (allreduce, alltoall), of the result "
            "(allgather), or of what each rank contributes (reduce_scatter); 0: 64 MiB",
            unit="B",
            low=0,
            high=_MOST,
        ),
        Parameter("type", "float", "type of the elements", choices=tuple(_BYTES)),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one operation, slowest rank"),
        DEVICE_TIME,
        Metric(
            "bandwidth",
            "B/s",
            "more",
            "bus bandwidth: bytes of the vector, times a factor of the operation and the ranks, "
            "over time",
            quantity="bus_bytes",
        ),
        Metric(
            "bandwidth.algorithm",
            "B/s",
            "more",
            "algorithm bandwidth: bytes of the vector over time",
            quantity="bytes",
        ),
    ),
    work=_work,
    source="NVIDIA, nccl-tests, PERFORMANCE.md",
    min_ranks=2,
    headline="bandwidth",
    notes="Each rank has one device. A sample is a batch of operations of about 5 ms, added to a "
    "queue in a row. alltoall is a group of ncclSend and ncclRecv. Sizes and both bandwidths are "
    "defined as in nccl-tests; results are not written over the inputs. The fact `library` names "
    "the library and its version. Verified: sums "
    "and moved elements are exact in single precision, and must equal the processor's. The "
    "failure of one rank ends the operations of all.",
    work_units={"bytes": "B", "bus_bytes": "B"},
    formulas={
        "bytes": "bytes",
        "bus_bytes": "bytes × (ranks - 1) / ranks, twice for allreduce",
    },
    check=_check,
)
