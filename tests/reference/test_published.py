"""What reports show beside measurements, against the numbers in the papers' own words."""

from __future__ import annotations

import pytest

from assay.questions.network.concurrency.answer import KEPT_BY_SETH
from assay.reference.bisections import HELIX
from assay.reference.linpack import PUBLISHED
from assay.reference.memory_access import RANDOM_RATIOS, STRIDED_RATIOS
from assay.reference.messages import published_messages
from assay.reference.papers.loading import figures_of
from assay.reference.placement import published
from assay.reference.variability import published_clocks, published_runs


def test_messages() -> None:
    assert [(m.system, m.network, m.latency, m.bandwidth) for m in published_messages()] == [
        ("Seth", "SCI", 3.7e-6, 230e6),
        ("Helix", "Gigabit Ethernet", 35e-6, 73.75e6),  # about 59% of 125 MB/s
        ("Sisters", "Fast Ethernet", None, 10.875e6),  # approximately 87% of 12.5 MB/s
        ("PowerEdge SC1425", "Gigabit Ethernet", 35e-6, 100e6),
        ("PowerEdge SC1425", "Myrinet", 6.5e-6, 235e6),
    ]


def test_linpack_and_bisection() -> None:
    seth, helix = PUBLISHED
    assert (seth.rate, seth.order, seth.half, seth.nodes) == (480.7e9, 116_100, 24_570, 120)
    assert (seth.of_peak, seth.of_ranks, seth.of_nodes) == (0.601, 0.752, 0.769)
    assert (seth.times_node, seth.price, seth.currency) == (110, 500_000, "USD")
    assert (helix.rate, helix.order) == (234.8e9, 82_080)
    assert helix.of_peak == pytest.approx(0.5232, abs=1e-4)
    assert HELIX.both_ways == 27.5e6


def test_slowdowns_of_shared_memory() -> None:
    """Xeon, then Opteron."""
    for modes, spans in (
        (("read", "write"), [(1.8, 2.0), (1.0, 1.01)]),
        (("copy", "scale", "sum", "triad"), [(1.7, 2.0), (1.0, 1.04)]),
    ):
        for mode in modes:
            assert [(ratio.low, ratio.high) for ratio in STRIDED_RATIOS[mode]] == spans
    assert [ratio.low for ratio in RANDOM_RATIOS["read"]] == [1.7, 1.06]
    assert [ratio.low for ratio in RANDOM_RATIOS["write"]] == [1.74, 1.03]


@pytest.mark.parametrize(
    ("kernel", "xeon", "opteron"),
    [
        ("npb.cg", (0.65, 0.80), (0.77, 1.0)),
        ("npb.ep", (None, None), (None, None)),
        ("npb.mg", (0.50, 0.63), (0.83, 1.0)),
        ("npb.ft", (0.67, 0.80), (0.77, 0.95)),
        ("npb.lu", (0.57, 0.75), (0.94, 1.0)),
        ("npb.is", (0.53, 0.92), (0.72, 0.98)),
    ],
)  # fmt: skip
def test_second_processors(kernel: str, xeon: object, opteron: object) -> None:
    for machine, expected in (("Xeon", xeon), ("Opteron", opteron)):
        found = published(kernel, machine)
        assert found is not None
        assert (found.low, found.high) == expected
    assert published("npb.bt", "Xeon") is None


def test_variability() -> None:
    runs = {(run.system, run.code): run for run in published_runs()}
    assert len(runs) == 12
    slow = runs["Cray T3E", "LU"]
    assert (slow.runs, slow.mean, slow.deviation, slow.cov) == (119, 305.2, 47.8, 0.1558)
    quick = runs["Intel cluster", "EP"]
    assert (quick.runs, quick.mean, quick.deviation, quick.cov) == (112, 17.6, 0.03, 0.0017)
    assert [(c.code, c.wall, c.accounting) for c in published_clocks()] == [
        ("EP", 0.0611, 0.008), ("LU", 0.1558, 0.006), ("FT", 0.1133, 0.0093),
    ]  # fmt: skip


def test_the_limit_of_concurrent_pairs_is_seth_s() -> None:
    loss = figures_of("edmundsson-2004")["seth.multi_pingpong.loss"]
    assert pytest.approx(1.0 - loss.si) == KEPT_BY_SETH
