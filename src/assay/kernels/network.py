"""Kernels of the network family."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.plans.model import Value


def _pingpong_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"bytes": float(parameters["bytes"])}


def _no_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {}


KERNELS = (
    Kernel(
        name="network.pingpong",
        title="Ping-pong: latency and bandwidth between two ranks",
        parameters=(
            Parameter("bytes", 8, "message size", unit="B", low=0, high=1 << 30),
            Parameter("from", 0, "the rank that sends first and times", low=0),
            Parameter("to", -1, "its partner; -1: the last rank", low=-1),
        ),
        metrics=(
            Metric("latency", "s", "less", "half a round trip"),
            Metric("bandwidth", "B/s", "more", "message size / latency", quantity="bytes"),
        ),
        work=_pingpong_work,
        source="Edmundsson et al. (2004), 5.2; Pepper & Gupta (2005)",
        min_ranks=2,
        headline="latency",
        notes="Blocking MPI_Send and MPI_Recv, one buffer for each; the other ranks wait.",
        work_units={"bytes": "B"},
        formulas={"bytes": "bytes, one way"},
        memory=lambda parameters, ranks, threads: 2.0 * int(parameters["bytes"]),
    ),
    Kernel(
        name="network.barrier",
        title="Barrier over all ranks",
        parameters=(),
        metrics=(Metric("time", "s", "less", "one MPI_Barrier in a row of them, slowest rank"),),
        work=_no_work,
        source="Edmundsson et al. (2004), 5.2",
        min_ranks=2,
    ),
)
