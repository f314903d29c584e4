"""Kernels of the Linpack family."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work, phase
from assay.model.placement import Placement, Value

# Default number of columns of a panel, which `linpack` uses for nb = 0 without a search.
USUAL_NB = 192
# The widest panel that a search tries.
_WIDEST = 512

BROADCASTS = (
    "auto",
    "library",
    "ring",
    "modified-ring",
    "two-rings",
    "modified-two-rings",
    "bandwidth",
)
SWAPS = ("auto", "exchange", "spread")
MATRICES = ("random", "graded", "nearly-singular", "singular")


def linpack_flops(n: float) -> float:
    """Floating-point operations of a solution of order n, as HPL counts them."""
    return 2.0 / 3.0 * n**3 + 3.0 / 2.0 * n**2


def usual_rows(ranks: int) -> int:
    """Rows of the process grid by default: the greatest divisor of ranks up to the square root."""
    return next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)


def most_of(n: int, block: int, processes: int) -> int:
    """Maximum number of rows (or columns) on one process, if n are distributed block-cyclically."""
    rounds, rest = divmod(n, block * processes)
    return rounds * block + min(rest, block)


def linpack_bytes(n: int, nb: int, p: int, ranks: int) -> float:
    """Bytes that the rank with the largest part allocates, as in native/linpack/settings.cpp.

    Its part of the matrix and of the right-hand side, two panels, and with several grid rows the
    rows of U with the buffers for their exchange.
    """
    q = ranks // p
    width = min(nb, n)
    rows, columns = most_of(n, nb, p), most_of(n + 1, nb, q)
    panel = panel_words(width, rows)
    doubles = padded_rows(rows) * columns + 2 * panel + 4 * n
    if p > 1:
        doubles += (padded_rows(width) + 3 * width) * columns
    return 8.0 * doubles


def panel_words(width: int, rows: int) -> int:
    """Words of a panel with ``rows`` of a grid row: native/linpack/panel.hpp has its layout."""
    head = 8 + -(-width // 8) * 8
    return head + (padded_rows(width) + padded_rows(rows)) * width


def padded_rows(rows: int) -> int:
    """The leading dimension: an odd number of whole cache lines."""
    return (-(-rows // 8) | 1) * 8


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    return {"flops": linpack_flops(int(parameters["n"]))}


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    n = int(parameters["n"])
    if n == 0:  # derived from the machine's free memory
        return 0.0
    nb = int(parameters["nb"]) or USUAL_NB
    p = int(parameters["p"]) or usual_rows(ranks)
    return linpack_bytes(n, nb, p, ranks)


def _search_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    n = int(parameters["n"])
    if n == 0:
        return 0.0
    grids = (p for p in range(1, ranks + 1) if ranks % p == 0)
    return max(linpack_bytes(n, _WIDEST, p, ranks) for p in grids)


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    p, ranks = int(parameters["p"]), placement.ranks
    if p and ranks % p:
        return f"A process grid of p={p} rows can't hold {ranks} ranks: {p} doesn't divide {ranks}."
    for share in ("fraction", "fill"):
        if not 0.0 < float(parameters[share]) <= 1.0:
            return f"{share}={parameters[share]:g} must be above 0 and at most 1."
    return None


_RATE = Metric("rate", "flop/s", "more", "(2/3 n^3 + 3/2 n^2) flops / time", quantity="flops")
_FLOPS = "2/3 n^3 + 3/2 n^2"
# These words appear wherever published results are shown next to a rate of ``linpack``.
OWN_CODE = "assay's own code, not HPL"

KERNELS = (
    Kernel(
        name="linpack",
        title="Linpack: a dense system solved by LU with partial pivoting",
        parameters=(
            Parameter(
                "n",
                0,
                "order of the matrix; 0: the largest order that fits, times fraction",
                low=0,
                high=100_000_000,
            ),
            Parameter(
                "fraction",
                1.0,
                "factor applied to the largest order, if n is 0",
                low=0,
                high=1,
                tacit=True,
            ),
            Parameter(
                "fill",
                0.8,
                "share of the free memory of the fullest node that the largest order takes, if n "
                "is 0",
                low=0,
                high=1,
                tacit=True,
            ),
            Parameter(
                "nb",
                0,
                "columns of a panel; 0: by search, else the kernel's default",
                low=0,
                high=8192,
            ),
            Parameter(
                "p",
                0,
                "rows of the process grid; 0: by search, else the greatest divisor of the number "
                "of ranks up to its square root",
                low=0,
                high=10_000_000,
            ),
            Parameter(
                "broadcast",
                "auto",
                "how a panel is broadcast along a row of the grid",
                choices=BROADCASTS,
            ),
            Parameter(
                "swap",
                "auto",
                "how rows are interchanged within a column of the grid",
                choices=SWAPS,
            ),
            Parameter(
                "depth",
                -1,
                "1: the next panel is factored and sent during the update of the matrix; 0: after "
                "it; -1: by search, else 1",
                low=-1,
                high=1,
            ),
            Parameter("matrix", "random", "properties of the matrix", choices=MATRICES, tacit=True),
        ),
        metrics=(
            Metric("time", "s", "less", "factorisation and solution, slowest rank"),
            _RATE,
            phase("panel", "factoring panels"),
            phase("broadcast", "broadcasting panels along the rows of the grid"),
            phase("swap", "interchanging rows within the columns of the grid"),
            phase("update", "updating the rest of the matrix"),
            phase("solve", "back substitution"),
        ),
        work=_work,
        source="Dongarra, Luszczek & Petitet, The LINPACK Benchmark: past, present and future "
        "(2003); Edmundsson et al. (2004), 5.4",
        threaded=True,
        headline="rate",
        notes="One sample is one solution of A x = b; the matrix is generated again before it, "
        "untimed. "
        "Entries are uniform in (-0.5, 0.5) and independent of the process grid. The plan's "
        "linpack.search at the same placement sets the parameters left open (n, nb, p, broadcast, "
        "swap, depth). Without a search the kernel chooses them, n by memory only. Verified: HPL's "
        "scaled residual is below 16.",
        work_units={"flops": "flop"},
        formulas={"flops": _FLOPS},
        memory=_memory,
        check=_check,
        settled_by="linpack.search",
    ),
    Kernel(
        name="linpack.search",
        title="Linpack: a short search of block size, process grid and schemes",
        parameters=(
            Parameter(
                "n",
                0,
                "order of the matrix in the trials; 0: small enough that the trials fit into the "
                "time",
                low=0,
                high=100_000_000,
            ),
            Parameter("seconds", 20.0, "time limit of the search", unit="s", low=0.1, high=86_400),
        ),
        metrics=(
            Metric("time", "s", "less", "one trial with the best candidate, slowest rank"),
            _RATE,
        ),
        work=_work,
        source="successive halving: Karnin, Koren & Somekh, ICML 2013",
        threaded=True,
        headline="rate",
        notes="Candidates are tried in turn, and the slower half is dropped in each round. Facts: "
        "the choice, and memory_available, the memory available to a rank on the fullest "
        "node. Verified: the residual of the last trial.",
        work_units={"flops": "flop"},
        formulas={"flops": f"{_FLOPS} of a trial"},
        memory=_search_memory,
        once=True,
    ),
)
