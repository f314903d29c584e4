"""Cells of every kernel that the answer on speed reads, all with equal values."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

import linpack_builder
from asking import reply_to
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.answer import Answer
from assay.stats.core.model import CellSummary
from drawn_launches import Noise, drawn, normal
from report_builder import make_metric, make_run, make_summary

CORES = (1, 2, 4)
MIB = 1 << 20


def cell(kernel, value, *, cores=1, binding="compact", toolchain="embedded", **given):
    placement = Placement(ppn=cores, binding=binding)
    resolved = {"elements": 1000} if kernel == "memory.stream" else {}
    return make_summary(Cell(kernel, given, placement, toolchain), value, **resolved)


def random(rate, **given):
    """Random access at this total rate, with the time of an access on each core."""
    made = cell("memory.random", rate, elements=MIB, **given)
    access = make_metric(1e-7, "s", better="less")
    return msgspec.structs.replace(made, metrics=made.metrics | {"access": access})


def memory():
    return [
        *(
            cell("memory.stream", 20e9, cores=cores, op=op, binding=binding)
            for op in ("copy", "scale", "sum", "triad")
            for cores in CORES
            for binding in ("compact", "spread")
        ),
        *(
            cell("memory.strided", 5e-9, cores=cores, op=op, stride=stride)
            for op in ("read", "triad")
            for stride in (1, 2, 4, 8)
            for cores in (1, 4)
        ),
        *(
            random(50e6, cores=cores, mode=mode, pages=pages)
            for mode in ("update", "read")
            for pages in ("huge", "small")
            for cores in (1, 4)
        ),
        *(
            cell("memory.latency", 100e-9, cores=cores, bytes=128 * MIB, pages=pages)
            for pages in ("huge", "small")
            for cores in (1, 4)
        ),
        *(
            cell("memory.latency", 100e-9, bytes=128 * MIB, binding=f"numa:{near}", memory_node=far)
            for near in (0, 1)
            for far in (0, 1)
        ),
    ]


def arithmetic():
    return [
        *(
            cell("compute.dgemm", 60e9, cores=cores, n=n, toolchain=toolchain)
            for n in (100, 200, 500, 1000)
            for cores in CORES
            for toolchain in ("embedded", "other")
        ),
        *(cell("compute.peak", 62e9, cores=cores, width=w) for w in (128, 256) for cores in CORES),
    ]


def linpack():
    return [
        linpack_builder.cell(50e9, order=order, ppn=ppn, threads=threads)
        for order in (4000, 8000, 12_000, 16_000)
        for ppn, threads in ((1, 1), (2, 1), (1, 2), (4, 1))
    ]


def benchmarks():
    return [
        cell(f"npb.{name}", 800e6, cores=cores, binding=binding, **{"class": size, **code})
        for name, codes in (("ep", ({},)), ("cg", ({},)), ("is", ({}, {"code": "plain"})))
        for code in codes
        for size in ("W", "A")
        for cores in CORES
        for binding in ("compact", "spread")
    ]


def storage():
    return [
        *(
            cell("storage.file", 400e6, op=op, method=method, record=record)
            for op in ("write", "read")
            for method in ("buffered", "direct")
            for record in (4096, 65_536, MIB)
        ),
        *(
            cell(
                "storage.parallel", 400e6, cores=cores, op=op, layout=layout, api="posix", bytes=MIB
            )
            for op in ("write", "read")
            for layout in ("own", "shared")
            for cores in CORES
        ),
        *(
            cell("storage.metadata", 9000.0, cores=cores, op=op, layout=layout, files=100)
            for op in ("create", "stat")
            for layout in ("own", "shared")
            for cores in CORES
        ),
    ]


def messages():
    return [
        *(cell("network.pingpong", 1e-6, cores=2, bytes=size) for size in (0, 8)),
        cell("network.barrier", 1e-6, cores=2),
    ]


def equal_cells():
    """The cells of all topics."""
    planted = (memory(), arithmetic(), linpack(), benchmarks(), storage(), messages())
    return [one for cells in planted for one in cells]


def answers(
    planted: list[CellSummary],
    runs: int,
    *,
    cov: float = 0.01,
    launches: int = 6,
    seed: int = 1,
    noise: Noise = normal,
) -> Iterator[Answer]:
    """The answers on speed of runs that measure the planted cells with noise."""
    rng = np.random.default_rng(seed)
    run = make_run(planted)
    for _ in range(runs):
        cells = [drawn(one, rng, cov=cov, launches=launches, noise=noise) for one in planted]
        yield reply_to("speed", cells, run).answer
