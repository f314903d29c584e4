"""Transfers between host and device."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME
from assay.model.placement import Placement, Value


def _transfer_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    ways = 2 if parameters["direction"] == "both" else 1
    return {"bytes": float(ways * int(parameters["bytes"]) * ranks)}


def _transfer_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if int(parameters["bytes"]) % 8:
        return f"Transfers are of whole words of 8 bytes, not of {parameters['bytes']} bytes."
    return None


def _transfer_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return _transfer_work(parameters, 1, 1)["bytes"]


TRANSFER = Kernel(
    name="gpu.transfer",
    title="Transfers between the memory of the host and the memory of a device",
    min_devices=1,
    parameters=(
        Parameter(
            "direction",
            "to device",
            "direction; both: at the same time, from two queues",
            choices=("to device", "to host", "both"),
        ),
        Parameter(
            "memory",
            "pinned",
            "memory of the host: pinned, which the device reads directly, or pageable",
            choices=("pinned", "pageable"),
        ),
        Parameter("bytes", 1 << 26, "bytes of a transfer in each direction", unit="B", low=8),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one transfer, or one in each direction, slowest rank"),
        DEVICE_TIME,
        Metric(
            "bandwidth",
            "B/s",
            "more",
            "bytes of all devices and both directions",
            quantity="bytes",
        ),
    ),
    work=_transfer_work,
    source="The Khronos Group, OpenCL 1.2 (2012), 5.2",
    headline="bandwidth",
    notes="A sample is a batch of transfers of about 5 ms. The contents are compared: what "
    "went to the device is read back. With both directions "
    "the device's time is the longer one's. "
    "A device that shares the host's memory copies within it.",
    work_units={"bytes": "B"},
    formulas={"bytes": "bytes ranks, twice for both directions"},
    memory=_transfer_memory,
    check=_transfer_check,
)
