"""The latency of a device's memory."""

from __future__ import annotations

from assay.kernels.catalogue import Kernel, Metric, Parameter
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME, no_work

LATENCY = Kernel(
    name="gpu.latency",
    title="Latency of a device's memory: dependent loads of one work item",
    min_devices=1,
    parameters=(
        Parameter(
            "bytes",
            0,
            "bytes of the working set; 0: four times the device's last cache, at least 256 MiB",
            unit="B",
            low=0,
        ),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one load, slowest rank"),
        DEVICE_TIME,
    ),
    work=no_work,
    source="Saavedra & Smith (1995); Mei & Chu (2017)",
    notes="One cycle in random order through lines of 128 bytes. Launches of 16,384 loads are "
    "timed, so that the cost of a launch is small.",
)
