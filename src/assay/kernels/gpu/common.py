"""What the kernels of devices share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.kernels.catalogue import Metric, Parameter, Work
from assay.model.placement import Value

#: Backends by name, as people call them.
BACKENDS = {"cuda": "CUDA", "hip": "HIP", "opencl": "OpenCL"}
#: Pairs of backend and kind of device on which the kernels were compared with other programs
#: (benchmarks/README.md).
VERIFIED_ON_HARDWARE: frozenset[tuple[str, str]] = frozenset()

BACKEND = Parameter(
    "backend",
    "auto",
    "interface to the device; auto: the first that has a device",
    choices=("auto", *BACKENDS),
)
DEVICE = Parameter(
    "device",
    -1,
    "number of the device on its node; -1: each rank of a node uses the next one",
    low=-1,
)
# Of kernels that measured the host's memory before devices were known.
MEMORY = Parameter(
    "memory",
    "host",
    "memory of the buffers: of the host, or of each rank's device, whose addresses MPI takes",
    choices=("host", "device"),
    omitted=True,
)
DEVICE_MEMORY = (MEMORY, replace(BACKEND, omitted=True), replace(DEVICE, omitted=True))
DEVICE_TIME = Metric(
    "device_time",
    "s",
    "less",
    "one operation by the device's own clock, slowest rank",
    series="device_time",
)


def check_device_memory(parameters: Mapping[str, Value]) -> str | None:
    """A sentence on parameters of devices without memory = device; None if they fit."""
    # A cell with buffers on the host has none of them.
    if parameters.get("memory", MEMORY.default) == "device":
        return None
    for parameter in (BACKEND, DEVICE):
        if parameters.get(parameter.name, parameter.default) != parameter.default:
            return f"'{parameter.name}' belongs to memory = device: leave it out."
    return None


def no_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    """A kernel without a work formula."""
    return {}
