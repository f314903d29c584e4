"""hpcg: residuals against a literal reference, orders of the sweeps, planted faults, counts."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.kernels.hpcg.counts import grid_sizes, process_grid
from assay.model.placement import Value
from assay.records.schema import MeasurementRecord
from kernel_runs import (
    assert_verified,
    faulty,
    measure,
    measure_faults,
    plain,
    sanitized,
)
from quick_part import first_quickly

pytestmark = pytest.mark.slow

PHASES = ("spmv", "symgs", "transfer", "waxpby", "dot")
Order = tuple[str, dict[str, Value]]
Edges = tuple[int, int, int]


# ---- The reference: dense matrices, one row after the other --------------------------------------


class _Grid:
    """A grid on all ranks: its matrix, and each rank's points in their natural order."""

    def __init__(self, edges: Edges, ranks: int) -> None:
        self.edges = edges
        processes = process_grid(ranks)
        self.extent = [edge * count for edge, count in zip(edges, processes, strict=True)]
        points = list(product(*(range(n) for n in reversed(self.extent))))
        place = {point: i for i, point in enumerate(points)}
        self.a = np.zeros((len(points), len(points)))
        for (z, y, x), i in place.items():
            for dz, dy, dx in product((-1, 0, 1), repeat=3):
                j = place.get((z + dz, y + dy, x + dx))
                if j is not None:
                    self.a[i, j] = 26.0 if j == i else -1.0
        self.blocks = [
            [
                place[z0 * edges[2] + z, y0 * edges[1] + y, x0 * edges[0] + x]
                for z, y, x in product(*(range(n) for n in reversed(edges)))
            ]
            for z0, y0, x0 in product(*(range(n) for n in reversed(processes)))
        ]
        self.injected = [
            place[2 * z, 2 * y, 2 * x]
            for z, y, x in product(*(range(n // 2) for n in reversed(self.extent)))
        ]

    def smooth(self, r: np.ndarray, x: np.ndarray) -> None:
        """A symmetric sweep on each rank, with the other ranks' elements from before it."""
        before = x.copy()
        for block in self.blocks:
            seen = before.copy()
            for i in [*block, *reversed(block)]:
                rest = r[i] - self.a[i] @ seen + self.a[i, i] * seen[i]
                seen[i] = rest / self.a[i, i]
            x[block] = seen[block]


@cache
def _grids(edges: Edges, ranks: int) -> tuple[_Grid, ...]:
    return tuple(_Grid((edges[0] >> k, edges[1] >> k, edges[2] >> k), ranks) for k in range(4))


def _cycle(grids: tuple[_Grid, ...], r: np.ndarray) -> np.ndarray:
    grid, *coarser = grids
    x = np.zeros_like(r)
    grid.smooth(r, x)
    if coarser:
        rest = r - grid.a @ x
        x[grid.injected] += _cycle(tuple(coarser), rest[grid.injected])
        grid.smooth(r, x)
    return x


@cache
def _history(edges: Edges, ranks: int, iterations: int) -> list[float]:
    """The scaled residual after each iteration."""
    grids = _grids(edges, ranks)
    a = grids[0].a
    b = a.sum(axis=1)
    r, p, rho = b.copy(), np.zeros_like(b), 1.0
    found = []
    for k in range(iterations):
        z = _cycle(grids, r)
        rho, before = r @ z, rho
        p = z + (rho / before * p if k else 0.0)
        r = r - rho / (p @ a @ p) * (a @ p)
        found.append(float(np.linalg.norm(r) / np.linalg.norm(b)))
    return found


# ---- Residuals ----------------------------------------------------------------------------------


def _order(edges: Edges, **further: Value) -> Order:
    return "hpcg", {"nx": edges[0], "ny": edges[1], "nz": edges[2], **further}


@pytest.mark.parametrize(
    ("edges", "ranks", "threads"),
    [
        ((8, 8, 8), 2, 1),
        pytest.param((16, 8, 8), 1, 2, marks=pytest.mark.long),
        pytest.param((8, 16, 8), 3, 1, marks=pytest.mark.long),
        pytest.param((8, 8, 8), 8, 1, marks=pytest.mark.long),
    ],
)
def test_residuals_are_those_of_the_literal_reference(
    edges: Edges, ranks: int, threads: int
) -> None:
    """Sweeps by dependency levels yield the natural order's numbers, whatever the threads."""
    counts = (1, 2, 5, 9)
    expected = _history(edges, ranks, max(counts))
    orders = [_order(edges, sweep="levels", iterations=count) for count in counts]
    for record, count in zip(
        measure(plain(), *orders, ranks=ranks, threads=threads, samples=(1, 1)),
        counts,
        strict=True,
    ):
        assert record.facts["scaled_residual"] == pytest.approx(expected[count - 1], rel=1e-9)
        # A set that ends before the reference's residual is no result.
        assert record.verification is not None and record.verification.value > 1.0
        assert "residual beside the reference's" in record.verification.what


@pytest.mark.parametrize(("ranks", "threads"), first_quickly([(2, 2), (1, 1), (5, 1)]))
def test_sets_reach_the_reference_in_any_order_of_the_sweeps(ranks: int, threads: int) -> None:
    orders = [_order((16, 16, 16), sweep=sweep) for sweep in ("levels", "colors", "auto")]
    found = measure(plain(), *orders, ranks=ranks, threads=threads, samples=(2, 2))
    for record in found:
        assert_verified(record)
        series = {each.metric: np.array(each.values) for each in record.series}
        assert tuple(series) == ("time", *PHASES, "mg", "rated")
        assert (sum(series[phase] for phase in PHASES) > 0).all()
        assert (sum(series[phase] for phase in PHASES) <= series["time"]).all()
        assert record.facts["scaled_residual"] <= record.facts["reference_residual"]
        assert record.facts["iterations"] == record.parameters["iterations"]
        assert record.facts["sweep"] == record.parameters["sweep"] in ("levels", "colors")
    levels, colors, _ = found
    assert 49 <= int(levels.facts["iterations"]) <= 52
    assert int(colors.facts["iterations"]) >= int(levels.facts["iterations"])
    assert int(colors.facts["steps"]) == 8
    # Points of equal x + 2 y + 4 z don't depend on each other: 15 (1 + 2 + 4) + 1 steps.
    assert int(levels.facts["steps"]) == 106


def test_series_contain_the_preparation_and_the_preconditioner() -> None:
    (record,) = measure(plain(), _order((16, 16, 16)), samples=(2, 2))
    series = {each.metric: np.array(each.values) for each in record.series}
    assert series["mg"] == pytest.approx(series["symgs"] + series["transfer"])
    charged = 0.1 * (
        float(record.facts["setup_seconds"]) + float(record.facts["optimisation_seconds"])
    )
    assert charged > 0
    assert series["rated"] == pytest.approx(series["time"] + charged, rel=0.05)


# ---- Counts -------------------------------------------------------------------------------------


def _counted(record: MeasurementRecord, ranks: int) -> dict[str, float]:
    return dict(find_kernel("hpcg").work(record.parameters, ranks, 1))


@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_work_is_counted_from_the_matrices(ranks: int) -> None:
    """By the nonzeros of dense matrices: 4 flops per nonzero and symmetric sweep, 2 per product."""
    edges = (8, 8, 8)
    grids = _grids(edges, ranks)
    (record,) = measure(plain(), _order(edges), ranks=ranks, samples=(1, 1))
    assert_verified(record)
    assert tuple(record.facts[name] for name in ("npx", "npy", "npz")) == process_grid(ranks)
    nonzeros = [int(np.count_nonzero(grid.a)) for grid in grids]
    rows = len(grids[0].a)
    assert [(s.nonzeros, s.rows) for s in grid_sizes(edges, ranks)] == [
        (z, len(grid.a)) for z, grid in zip(nonzeros, grids, strict=True)
    ]
    cycle = sum(4 * z + 2 * z + 4 * z for z in nonzeros[:3]) + 4 * nonzeros[3]
    once = 2 * nonzeros[0] + 2 * rows + 2 * rows
    each = 2 * nonzeros[0] + cycle + 3 * 2 * rows + 3 * 2 * rows
    work = _counted(record, ranks)
    assert work["flops"] == 50 * each + once
    assert work["done"] == int(record.facts["iterations"]) * each + once
    assert work["done"] == work["spmv"] + work["mg"] + work["waxpby"] + work["dot"]
    assert work["mg"] > work["symgs"]


def test_process_grids_have_the_least_surface() -> None:
    for ranks in range(1, 130):
        best = (
            min(
                x * y + y * z + x * z
                for x, y, z in product(range(1, ranks + 1), repeat=3)
                if x * y * z == ranks
            )
            if ranks <= 40
            else 0
        )
        x, y, z = process_grid(ranks)
        assert x * y * z == ranks and x >= y >= z
        assert ranks > 40 or x * y + y * z + x * z == best


# ---- Sizes, wrong input, faults -----------------------------------------------------------------


def test_the_size_follows_the_memory_and_the_time_limit() -> None:
    orders: list[Order] = [
        ("hpcg", {"fill": 1e-3}),
        ("hpcg", {"fill": 1e-3, "seconds": 0.05}),
    ]
    by_memory, by_time = measure(plain(), *orders, samples=(1, 1))
    for record in (by_memory, by_time):
        assert_verified(record)
        assert int(record.facts["nx"]) % 8 == 0
        assert record.facts["nx"] == record.facts["ny"] == record.facts["nz"]
    available = by_memory.covariates["memory_available"]
    assert available is not None
    edge = int(by_memory.facts["nx"])
    assert 480 * edge**3 < 1.1e-3 * available < 1.3 * 480 * (edge + 8) ** 3
    assert int(by_time.facts["nx"]) < edge


def test_wrong_parameters_are_refused_with_a_message() -> None:
    orders: list[Order] = [
        ("hpcg", {"nx": 12}),
        ("hpcg", {"nx": -8}),
        ("hpcg", {"ny": 8}),
        ("hpcg", {"fill": 0.7}),
        ("hpcg", {"nx": 8, "iterations": 501}),
        ("hpcg", {"nx": 1024}),
        ("hpcg", {"nx": 8}),
    ]
    *refused, good = measure(plain(), *orders)
    words = [
        "'nx' must be a multiple of 8 from 0 to 1024, not 12",
        "'nx' must be a multiple of 8",
        "ny and nz need nx",
        "'fill' must be above 0 and at most 0.5",
        "'iterations' must be between 0 and 500",
        "points along each axis",
    ]
    for record, each in zip(refused, words, strict=True):
        assert record.status == "failed" and each in str(record.error), record.error
    assert_verified(good)


@pytest.mark.sanitizable
def test_planted_faults_are_detected() -> None:
    """A wrong entry, no exchange, half a sweep, a wrong solution, sets that end early."""
    faults = {
        "value": ("row sums", "asymmetry"),
        "halo": ("row sums", "asymmetry", "residual"),
        "sweep": ("asymmetry", "residual"),
        "solution": ("recurrence's",),
        "early": ("reference's",),
    }
    orders = [("hpcg", {"nx": 16, "ny": 8, "nz": 8, "fault": fault}) for fault in ("none", *faults)]
    good, *bad = measure_faults(*orders, ranks=2)
    assert_verified(good)
    assert good.verification.value <= 1.0
    for record, words in zip(bad, faults.values(), strict=True):
        assert not record.verification.value <= 1.0
        assert any(each in record.verification.what for each in words), record.verification.what


@pytest.mark.sanitized
@pytest.mark.sanitizable
def test_it_is_clean_under_sanitizers() -> None:
    orders = [_order((16, 8, 8), sweep=sweep) for sweep in ("levels", "colors")]
    orders.append(("hpcg", {"fill": 1e-4, "seconds": 0.01}))
    for record in measure(sanitized(), *orders, ranks=3, threads=2, samples=(1, 1)):
        assert_verified(record)


def test_the_faulty_build_measures_as_the_shipped_one() -> None:
    """Without a fault the residuals agree: the two builds differ in optimisation."""
    order = _order((16, 16, 16), sweep="levels", iterations=10)
    residuals = [
        float(measure(build, order, samples=(1, 1))[0].facts["scaled_residual"])
        for build in (plain(), faulty())
    ]
    assert residuals[0] == pytest.approx(residuals[1], rel=1e-9)
