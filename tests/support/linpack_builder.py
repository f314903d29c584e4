"""Linpack results with planted curves, phases and searches."""

from __future__ import annotations

import dataclasses

import msgspec

from assay.config import Prices
from assay.kernels.linpack import linpack_flops
from assay.model.cell import Cell
from assay.model.placement import Placement
from report_builder import make_measurement, make_metric, make_run, make_summary

PHASES = {"panel": 0.05, "broadcast": 0.02, "swap": 0.02, "update": 0.9, "solve": 0.01}
CANDIDATES = {
    "nb=192 p=1 broadcast=ring swap=spread depth=1": 90e9,
    "nb=128 p=1 broadcast=ring swap=spread depth=1": 81e9,
    "nb=192 p=2 broadcast=ring swap=spread depth=1": 72e9,
    "nb=64 p=2 broadcast=ring swap=spread depth=1": 60e9,
}


def hockney(best, half):
    """The rate best n / (n + half): half of its limit ``best`` at n = half."""
    return lambda n: best * n / (n + half)


def half_of_largest(half, largest):
    """The order at which best n / (n + half) is half of its value at the largest order."""
    return half * largest / (largest + 2 * half)


def cell(rate, *, ppn=2, phases=None, n=8, spread=0.004, toolchain="embedded", **options):
    """A cell of linpack as chosen by a search; ``order``: of the system that was solved."""
    order = options.pop("order")
    placement = Placement(ppn=ppn, threads=options.pop("threads", 1), nodes=options.pop("nodes", 1))
    settings = {"nb": 192, "p": 1, "broadcast": "ring", "swap": "spread", "depth": 1} | options
    asked = {"n": 0, "fraction": order / 20_000, "matrix": settings.pop("matrix", "random")}
    built = Cell("linpack", asked, placement, toolchain)
    summary = make_summary(built, rate, n=n, spread=spread)
    seconds = linpack_flops(order) / rate
    shares = {"time": 1.0, **(PHASES if phases is None else phases)}
    metrics = {
        name: make_metric(share * seconds, "s", better="less", n=n)
        for name, share in shares.items()
    }
    used = {**asked, **settings, "n": order}
    return msgspec.structs.replace(summary, metrics=summary.metrics | metrics, parameters=used)


def curve(rate_at, orders, **options):
    """One cell per order."""
    return [cell(rate_at(order), order=order, **options) for order in orders]


def dgemm(rate, *, n=2000, ppn=1, threads=1, nodes=1, toolchain="embedded"):
    placement = Placement(nodes=nodes, ppn=ppn, threads=threads)
    return make_summary(Cell("compute.dgemm", {"n": n}, placement, toolchain), rate)


def search(candidates=CANDIDATES, *, ppn=2, n=3000, memory=8e9, toolchain="embedded", early=()):
    """The measurement of a search whose first candidate is its choice.

    ``early``: further facts of candidates, as the kernel writes them.
    """
    chosen, rate = next(iter(candidates.items()))
    settings = dict(word.split("=") for word in chosen.split())
    facts = {name: int(v) if v.isdigit() else v for name, v in settings.items()}
    facts |= {"n": n, "rate": rate, "memory_available": memory, "candidates": len(candidates)}
    facts |= {
        f"candidate_{i}": f"{s} n={n}: {r:.4g}" for i, (s, r) in enumerate(candidates.items())
    }
    facts |= {f"candidate_{len(candidates) + i}": text for i, text in enumerate(early)}
    built = Cell("linpack.search", {}, Placement(ppn=ppn), toolchain)
    measurement = make_measurement(built, [linpack_flops(n) / rate])
    record = msgspec.structs.replace(measurement.record, facts=facts)
    return dataclasses.replace(measurement, record=record)


def run_of(cells, *, searches=(), prices=None, complete=True):
    """A run of these cells, with the clock's covariate and the results of searches."""
    own = [
        dataclasses.replace(
            built := make_measurement(c.cell, []),
            record=msgspec.structs.replace(built.record, parameters=dict(c.parameters)),
        )
        for c in cells
    ]
    run = make_run(cells, measurements=[*searches, *own])
    manifest = msgspec.structs.replace(run.manifest, prices=prices or Prices())
    return dataclasses.replace(run, manifest=manifest)


def whole():
    """Results of the suite on a planted machine of two cores: curve, scaling, DGEMM, peak."""
    rate = hockney(110e9, 2500)
    cells = curve(rate, [2000 * i for i in range(1, 11)])
    cells += curve(hockney(54e9, 900), [14_000], ppn=1)
    cells += [cell(85e9, order=20_000, ppn=1, threads=2)]
    cells += [dgemm(53e9), dgemm(101e9, ppn=2), dgemm(104e9, threads=2)]
    return cells
