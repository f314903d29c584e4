"""Copies between the memories of the devices of a node."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.kernels.gpu.common import BACKEND
from assay.model.placement import Placement, Value

_PIECES = 2 * (4 << 20)  # pinned memory of a device: native/gpu/peer.cpp
_MOST_DEVICES = 16


def _ways(parameters: Mapping[str, Value]) -> int:
    return 2 if parameters["direction"] == "both" else 1


def _peer_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": float(_ways(parameters) * int(parameters["bytes"]))}


def _peer_check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    if int(parameters["bytes"]) % 8:
        return f"Copies are of whole words of 8 bytes, not of {parameters['bytes']} bytes."
    return None


def _peer_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return 2.0 * int(parameters["bytes"]) + _MOST_DEVICES * _PIECES


PEER = Kernel(
    name="gpu.peer",
    title="Copies between the memories of every two devices of a node: a matrix",
    min_devices=2,
    parameters=(
        Parameter("bytes", 1 << 26, "bytes of a copy in each direction", unit="B", low=8),
        Parameter(
            "direction",
            "one",
            "one: from one device to the other, for both orders of a pair; both: at the same time",
            choices=("one", "both"),
        ),
        Parameter(
            "path",
            "auto",
            "direct: one device writes into the memory of the other; host: through pinned memory "
            "of the host, in pieces; auto: direct where the devices can",
            choices=("auto", "direct", "host"),
        ),
        BACKEND,
        Parameter("device", -1, "pairs of this device only; -1: all pairs", low=-1),
    ),
    metrics=(
        Metric("time", "s", "less", "one pass over all pairs"),
        Metric(
            "bandwidth",
            "B/s",
            "more",
            "bytes of a copy, or of one in each direction, slowest pair",
            series="slowest_pair",
            quantity="bytes",
        ),
        Metric(
            "bandwidth.median",
            "B/s",
            "more",
            "the same of the median pair",
            series="median_pair",
            quantity="bytes",
        ),
        Metric(
            "latency", "s", "less", "a copy of 8 B, slowest pair", series="slowest_pair_latency"
        ),
        Metric(
            "latency.median",
            "s",
            "less",
            "a copy of 8 B, median pair",
            series="median_pair_latency",
        ),
    ),
    work=_peer_work,
    source="Li et al. (2020)",
    max_ranks=1,
    headline="bandwidth",
    notes="One rank drives all devices of its node, by the host's clock. Pairs take turns. A "
    "visit of a pair is a row of copies of 8 B of about 0.2 ms, and a row of copies of the given "
    "size of about 2 ms. Direct copies of a row follow one another on the device; through the "
    "host each copy ends before the next one begins. "
    "The series `pair` (seconds of a copy) and `pair_latency` number the devices, the sender "
    "first; the facts name the pairs that copy directly and those that copy through the host. "
    "Verified: random words, different on each device, arrive by each pair.",
    work_units={"bytes": "B"},
    formulas={"bytes": "bytes, twice for both directions"},
    memory=_peer_memory,
    check=_peer_check,
)
