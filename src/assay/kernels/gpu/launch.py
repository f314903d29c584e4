"""Launches of kernels on a device."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME, no_work
from assay.model.placement import Placement, Value


def _launch_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if parameters["mode"] == "graph" and parameters["backend"] == "opencl":
        return "OpenCL has no graphs of launches: choose mode=row."
    return None


LAUNCH = Kernel(
    name="gpu.launch",
    title="Launches: what it costs to start work on a device",
    min_devices=1,
    parameters=(
        Parameter(
            "mode",
            "single",
            "single: the host waits for each launch; row: it starts many in a row, and waits "
            "for the last; graph: it starts graphs of 64 launches in a row (CUDA, HIP)",
            choices=("single", "row", "graph"),
        ),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one launch, slowest rank"),
        DEVICE_TIME,
    ),
    work=no_work,
    source="Deakin et al., BabelStream (2018); Volkov & Demmel (2008), 3.3",
    notes="The kernel adds 1 to a number, so that its launches can be counted. "
    "A graph is recorded once, before it is timed.",
    check=_launch_check,
)
