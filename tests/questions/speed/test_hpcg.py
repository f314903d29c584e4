"""HPCG in answers, from planted rates: the limit by STREAM, advice, and imported results."""

from __future__ import annotations

import msgspec
import pytest

from asking import figures_of, reply_to
from assay.kernels import find_kernel
from assay.kernels.hpcg.entry import OWN_CODE
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.subjects.compare.results import alike_of, fits, subject_of
from report_builder import make_metric, make_run, make_summary

SIZE = {"nx": 64, "ny": 64, "nz": 64, "iterations": 50}
BANDWIDTH = 40e9


def _flops_per_byte(ranks):
    work = find_kernel("hpcg").work(SIZE, ranks, 1)
    return work["done"] / work["bytes"]


def hpcg(share, *, ppn=2):
    """A cell whose rate is this share of what the planted bandwidth allows."""
    raw = share * _flops_per_byte(ppn) * BANDWIDTH
    cell = Cell("hpcg", {"nx": 64, "ny": 0, "nz": 0}, Placement(ppn=ppn), "embedded")
    summary = make_summary(cell, 0.97 * raw, **SIZE)
    rates = {
        name: make_metric(rate, "flop/s", spread=0.006)
        for name, rate in {"rate": 0.97 * raw, "rate.raw": raw, "rate.mg": 1.1 * raw,
                           "rate.spmv": 0.9 * raw}.items()
    }  # fmt: skip
    return msgspec.structs.replace(summary, metrics=rates)


def stream(*, ppn=2):
    cell = Cell("memory.stream", {"op": "triad"}, Placement(ppn=ppn), "embedded")
    return make_summary(cell, BANDWIDTH, elements=1_000_000)


def speed(*cells):
    return reply_to("speed", cells, make_run(cells)).answer


@pytest.mark.parametrize(("share", "advised"), [(0.85, False), (0.4, True)])
def test_the_rate_is_compared_with_what_bandwidth_allows(share, advised):
    answer = speed(stream(), hpcg(share))
    row = next(row for row in answer.evidence if row.metric == "rate.raw")
    assert row.share == pytest.approx(share, rel=1e-6)
    assert row.limit == pytest.approx(_flops_per_byte(2) * BANDWIDTH)
    assert f"{share:.0%} of what STREAM's bandwidth allows" in answer.verdict
    assert OWN_CODE in answer.verdict
    assert any("HPCG reaches" in sentence for sentence in answer.advice) == advised


def test_without_streams_on_the_same_cores_there_is_no_limit():
    answer = speed(stream(ppn=1), hpcg(0.8))
    assert all(row.share is None for row in answer.evidence if row.metric.startswith("rate"))
    assert any("HPCG has no limit here" in sentence for sentence in answer.limits)


def test_the_figure_has_the_rates_of_the_parts():
    cells = [stream(), hpcg(0.8)]
    (figure,) = (f for f in figures_of("speed", cells, make_run(cells)) if f.id == "hpcg-parts")
    assert OWN_CODE in figure.caption


def test_flops_per_byte_are_those_of_the_loops_of_a_large_grid():
    """Per point, of a matrix with 26 entries beside the diagonal: 13 in each half."""
    size = {**SIZE, "nx": 512, "ny": 512, "nz": 512}
    work = find_kernel("hpcg").work(size, 1, 1)
    half, vectors = 8.5 * 13, 8
    product = 2 * half + 3 * vectors
    first = 2 * half + 7 * vectors
    residual = half / 8 + 3 * vectors
    second = (2 + 1 / 8) * half + 11 * vectors
    levels = 1 + 1 / 8 + 1 / 64
    moved = product + (first + residual + second) * levels + first / 512 + 16 * vectors
    flops = 54 + 12 + 270 * levels + 108 / 512
    assert work["done"] / work["bytes"] == pytest.approx(flops / moved, rel=0.01)


def test_imported_results_fit_the_same_grid_on_as_many_ranks():
    parameters = {"ranks": 2, "threads": 1, "nx": 128, "ny": 64, "nz": 64}
    imported = alike_of(Cell("hpcg-benchmark", parameters, Placement(), "embedded"))
    assert imported is not None and imported[0] == "rate"
    own = subject_of(
        Cell("hpcg", {"nx": 64, "ny": 0, "nz": 0}, Placement(ppn=2), "embedded"), "rate"
    )
    assert fits(own, imported[1])
    for other in (
        subject_of(
            Cell("hpcg", {"nx": 32, "ny": 0, "nz": 0}, Placement(ppn=2), "embedded"), "rate"
        ),
        subject_of(
            Cell("hpcg", {"nx": 64, "ny": 0, "nz": 0}, Placement(ppn=1), "embedded"), "rate"
        ),
    ):
        assert not fits(other, imported[1])
    chosen = subject_of(
        Cell("hpcg", {"nx": 0, "ny": 0, "nz": 0}, Placement(ppn=2), "embedded"), "rate"
    )
    assert chosen.size is None
