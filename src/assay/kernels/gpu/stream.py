"""The bandwidth of a device's memory."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND, DEVICE, DEVICE_TIME
from assay.model.placement import Value

# Words moved and flops per element: McCalpin's STREAM; for dot BabelStream (Deakin et al., 2018).
STREAM_WORK = {"copy": (2, 0), "scale": (2, 1), "sum": (3, 1), "triad": (3, 2), "dot": (2, 2)}
BYTES = {"double": 8, "float": 4}


def _stream_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    words, flops = STREAM_WORK[str(parameters["op"])]
    elements = int(parameters["elements"]) * ranks
    return {
        "bytes": float(BYTES[str(parameters["type"])] * words * elements),
        "flops": float(flops * elements),
    }


STREAM = Kernel(
    name="gpu.stream",
    title="STREAM on a device: sustained bandwidth of its memory",
    min_devices=1,
    parameters=(
        Parameter("op", "triad", "vector operation", choices=tuple(STREAM_WORK)),
        Parameter("type", "double", "type of the elements", choices=tuple(BYTES)),
        Parameter(
            "elements",
            0,
            "elements per array; 0: arrays of four times the device's last cache, at least "
            "64 MiB, and at most a quarter of its memory",
            low=0,
        ),
        BACKEND,
        DEVICE,
    ),
    metrics=(
        Metric("time", "s", "less", "one pass over the arrays, slowest rank"),
        DEVICE_TIME,
        Metric(
            "bandwidth",
            "B/s",
            "more",
            "bytes of all devices, as STREAM counts them",
            quantity="bytes",
        ),
        Metric(
            "bandwidth.device",
            "B/s",
            "more",
            "the same by the device's own clock",
            series="device_time",
            quantity="bytes",
        ),
    ),
    work=_stream_work,
    source="McCalpin, STREAM (1995); Deakin et al., BabelStream (2018)",
    headline="bandwidth",
    notes="A sample is a batch of passes of about 5 ms, launched in a row. Arrays are written "
    "by the device itself. The results are read back and compared with the processor's: "
    "elements must be equal, and a dot product lies within the bound of its rounding errors.",
    work_units={"bytes": "B", "flops": "flop"},
    formulas={
        "bytes": "bytes of an element × elements ranks, times 2 for copy, scale and dot, and "
        "3 for sum and triad",
        "flops": "0 for copy, elements ranks for scale and sum, 2 elements ranks for triad and dot",
    },
)
