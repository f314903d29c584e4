"""What `gpu.py` measures on a device, part by part. Only the standard library is imported.

A part alternates a launch of assay with a run of a peer. Limits are seconds, for a part in all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ALL_SECONDS = 480.0
BUILD_SECONDS = 150.0
PROBE_SECONDS = 20.0


@dataclass(frozen=True)
class Sizes:
    """Sizes of a kind of device; a sample of a transfer or a product takes milliseconds."""

    elements: int  # of each array
    transfer: int  # B
    n: int  # of matrices
    message: int  # B
    passes: int  # of BabelStream


# 512 MiB per array are many times the caches of accelerators, and 64 MiB those of a processor.
SIZES = {
    "gpu": Sizes(elements=1 << 26, transfer=512 << 20, n=8192, message=256 << 20, passes=50),
    "other": Sizes(elements=1 << 23, transfer=64 << 20, n=512, message=1 << 20, passes=20),
}


@dataclass(frozen=True)
class Pair:
    """A measurement of assay beside a value that a peer prints.

    ``series``: the times that are compared, ``time`` by the host's clock or ``device_time`` by the
    device's. ``work``: the quantity of the catalogue that makes them a rate; empty: the time itself
    is compared. ``goal``: whether both must agree; without, ``note`` says why they can differ.
    """

    measurement: str
    peer_value: str
    what: str
    series: str = "time"
    work: str = "bytes"
    goal: bool = True
    note: str = ""


@dataclass(frozen=True)
class Peer:
    """A program beside assay. ``names``: of its executable, one per backend.

    ``words``: its arguments; ``read``: the values that it prints, by name in SI units.
    """

    name: str
    names: tuple[str, ...]
    words: Callable[[Sizes], tuple[str, ...]]
    read: Callable[[str], dict[str, float]]


@dataclass(frozen=True)
class Part:
    """Measurements in one launch, and what is compared with peers.

    ``measurements``: name → kernel and parameters. ``ranks``: 0: one per device, at least two.
    """

    name: str
    seconds: float
    rounds: int
    measurements: Callable[[Sizes], Mapping[str, tuple[str, Mapping[str, Any]]]]
    peer: Peer | None = None
    pairs: tuple[Pair, ...] = field(default=())
    ranks: int = 1


def read_babelstream(text: str) -> dict[str, float]:
    """Bandwidths in B/s by function: the bytes of a pass over its mean time."""
    size = re.search(r"^Array size: ([\d.]+) (MB|GB)", text, re.M)
    count = re.search(r"^Number of elements: (\d+)", text, re.M)
    if not size or not count:
        return {}
    element = 4 if "Precision: float" in text else 8
    arrays = {"copy": 2, "mul": 2, "add": 3, "triad": 3, "dot": 2}
    rows = re.findall(r"^(\w+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s*$", text, re.M)
    return {
        name.lower(): arrays[name.lower()] * element * int(count[1]) / float(mean)
        for name, mean in rows
        if name.lower() in arrays and float(mean) > 0
    }


def read_clpeak(text: str) -> dict[str, float]:
    """Bandwidths in B/s, and the latency of a launch in s."""
    found = {}
    names = {
        r"float\s": "read",
        r"enqueueWriteBuffer\s+:": "write_buffer",
        r"enqueueReadBuffer\s+:": "read_buffer",
    }
    for pattern, name in names.items():
        if value := re.search(rf"^\s*{pattern}[\s:]*([\d.]+)\s*$", text, re.M):
            found[name] = 1e9 * float(value[1])
    if value := re.search(r"Kernel launch latency\s*:\s*([\d.]+) us", text):
        found["launch"] = 1e-6 * float(value[1])
    return found


def read_nvbandwidth(text: str) -> dict[str, float]:
    """Bandwidths in B/s by test."""
    rows = re.findall(r"^SUM (\w+) ([\d.]+)\s*$", text, re.M)
    return {name: 1e9 * float(value) for name, value in rows}


def read_nccl(text: str) -> dict[str, float]:
    """The bus bandwidth in B/s of the last size, out of place."""
    rows = [line.split() for line in text.splitlines() if re.match(r"\s*\d+\s+\d+\s+\w+", line)]
    return {"bus": 1e9 * float(rows[-1][7])} if rows and len(rows[-1]) > 7 else {}


def read_products(text: str) -> dict[str, float]:
    """Seconds of a product by type; lines are TYPE N SECONDS."""
    rows = re.findall(r"^(\w+) (\d+) ([\d.e+-]+)\s*$", text, re.M)
    return {name: float(seconds) for name, _, seconds in rows}


BABELSTREAM = Peer(
    "BabelStream",
    ("cuda-stream", "hip-stream", "ocl-stream"),
    lambda sizes: ("-s", str(sizes.elements), "-n", str(sizes.passes)),
    read_babelstream,
)
CLPEAK = Peer(
    "clpeak",
    ("clpeak",),
    lambda sizes: (
        *("-p", "0", "-d", "0", "--global-bandwidth", "--transfer-bandwidth", "--kernel-latency"),
    ),
    read_clpeak,
)
NVBANDWIDTH = Peer(
    "nvbandwidth",
    ("nvbandwidth",),
    lambda sizes: (
        *("-b", str(sizes.transfer >> 20)),
        *("-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"),
    ),
    read_nvbandwidth,
)
NCCL_TESTS = Peer(
    "nccl-tests",
    ("all_reduce_perf",),
    lambda sizes: ("-b", str(sizes.message), "-e", str(sizes.message), "-g", "{devices}"),
    read_nccl,
)
TYPES = ("fp64", "fp32", "tf32", "bf16")
PRODUCTS = Peer(
    "a loop of the vendor's products",
    ("product_loop",),
    lambda sizes: (str(sizes.n), *TYPES),
    read_products,
)


def _streams(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    operations = ("copy", "scale", "sum", "triad", "dot")
    return {op: ("gpu.stream", {"op": op, "elements": sizes.elements}) for op in operations}


def _transfers(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {
        f"{direction}, {memory}": (
            "gpu.transfer",
            {"direction": direction, "memory": memory, "bytes": sizes.transfer},
        )
        for direction in ("to device", "to host")
        for memory in ("pinned", "pageable")
    }


def _single(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {
        "reading": ("gpu.stream", {"op": "dot", "type": "float", "elements": sizes.elements}),
        "to device": (
            "gpu.transfer",
            {"direction": "to device", "memory": "pageable", "bytes": sizes.transfer},
        ),
        "to host": (
            "gpu.transfer",
            {"direction": "to host", "memory": "pageable", "bytes": sizes.transfer},
        ),
        "launch": ("gpu.launch", {"mode": "single"}),
    }


def _alone(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {
        **{mode: ("gpu.launch", {"mode": mode}) for mode in ("single", "row", "graph")},
        "latency": ("gpu.latency", {}),
    }


def _products(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {type_: ("gpu.gemm", {"type": type_, "n": sizes.n}) for type_ in TYPES}


def _collectives(sizes: Sizes) -> dict[str, tuple[str, Mapping[str, Any]]]:
    return {"allreduce": ("gpu.collective", {"op": "allreduce", "bytes": sizes.message})}


_OTHER_KERNEL = "clpeak reads one array; the sizes and the kernels differ"
_OTHER_COST = "BabelStream's time includes sums on the host and their transfer"

PARTS = (
    Part(
        "stream",
        90.0,
        7,
        _streams,
        BABELSTREAM,
        (
            Pair("copy", "copy", "copy of doubles"),
            Pair("scale", "mul", "scale of doubles"),
            Pair("sum", "add", "sum of doubles"),
            Pair("triad", "triad", "triad of doubles"),
            Pair("dot", "dot", "dot product of doubles", goal=False, note=_OTHER_COST),
        ),
    ),
    Part(
        "transfer",
        50.0,
        7,
        _transfers,
        NVBANDWIDTH,
        (
            Pair("to device, pinned", "host_to_device_memcpy_ce", "transfer to the device",
                 series="device_time"),
            Pair("to host, pinned", "device_to_host_memcpy_ce", "transfer to the host",
                 series="device_time"),
        ),
    ),
    Part(
        "products",
        60.0,
        7,
        _products,
        PRODUCTS,
        tuple(Pair(type_, type_, f"product in {type_}", work="") for type_ in TYPES),
    ),
    Part(
        "collective",
        30.0,
        7,
        _collectives,
        NCCL_TESTS,
        (Pair("allreduce", "bus", "bus bandwidth of allreduce", work="bus_bytes"),),
        ranks=0,
    ),
    Part(
        "opencl",
        40.0,
        7,
        _single,
        CLPEAK,
        (
            Pair("reading", "read", "reading floats", goal=False, note=_OTHER_KERNEL),
            Pair("to device", "write_buffer", "pageable transfer to the device", goal=False,
                 note="clpeak's transfers have another size"),
            Pair("to host", "read_buffer", "pageable transfer to the host", goal=False,
                 note="clpeak's transfers have another size"),
            Pair("launch", "launch", "launch", work="", goal=False,
                 note="clpeak's latency ends where the kernel begins"),
        ),
    ),
    Part("alone", 20.0, 1, _alone),
)  # fmt: skip
assert BUILD_SECONDS + PROBE_SECONDS + sum(part.seconds for part in PARTS) <= ALL_SECONDS
