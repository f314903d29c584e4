"""Equal cells get no word of direction in the answer on speed; real growth and decline do."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

import linpack_builder
from asking import reply_to
from assay.model.cell import Cell
from assay.model.placement import Placement
from directions_in import directions_of
from drawn_launches import drawn
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


def everything():
    planted = (memory(), arithmetic(), linpack(), benchmarks(), storage(), messages())
    return [one for cells in planted for one in cells]


def answers(planted, runs, *, cov=0.01, launches=6, seed=1):
    rng = np.random.default_rng(seed)
    run = make_run(planted)
    for _ in range(runs):
        cells = [drawn(one, rng, cov=cov, launches=launches) for one in planted]
        yield reply_to("speed", cells, run).answer


def test_equal_cells_get_no_word_of_direction():
    found = [words for answer in answers(everything(), 200) if (words := directions_of(answer))]
    # One in a thousand statements may have a direction by chance; an answer has some of them.
    assert len(found) <= 1, found


def by_cores(kernel, values, **given):
    """One cell per number of cores."""
    return [cell(kernel, value, cores=cores, **given) for cores, value in values.items()]


def said(answer):
    return " ".join([answer.verdict, *answer.advice, *answer.limits, *answer.caveats])


def only(planted):
    (answer,) = answers(planted, 1)
    return answer


def test_equal_cells_are_called_not_distinguishable_with_the_range():
    planted = by_cores("npb.cg", {1: 8e8, 2: 8e8}, **{"class": "A"})
    found = [each.verdict for each in answers(planted, 20)]
    pattern = r"from 1 to 2 cores CG is not distinguishable from equal \((0\.9\d|1\.00) to 1\.0\d\)"
    assert all(re.search(pattern, verdict) for verdict in found), found


def test_growth_by_two_and_a_decline_get_their_words():
    planted = [
        *by_cores("memory.stream", {1: 10e9, 2: 20e9, 4: 20e9}, op="triad"),
        *by_cores("npb.ep", {1: 8e8, 4: 16e8}, **{"class": "A"}),
        *by_cores("npb.cg", {1: 8e8, 4: 4e8}, **{"class": "A"}),
    ]
    answer = only(planted)
    assert re.search(
        r"from 1 to 4 cores memory bandwidth grows (1\.9|2\.0)\d-fold, EP (1\.9|2\.0)\d-fold, "
        r"CG drops by (49|50|51)%\.$",
        answer.verdict,
    )
    assert "memory bandwidth saturates at 2 of 4 cores" in answer.verdict
    assert any(each.startswith("CG is slower on 4 cores than on 1.") for each in answer.advice)


def test_rates_that_fall_with_the_order_and_with_cores():
    on_one = {4000: 40e9, 8000: 50e9, 16_000: 25e9}
    planted = [linpack_builder.cell(rate, order=n, ppn=1) for n, rate in on_one.items()]
    planted.append(linpack_builder.cell(25e9, order=8000, ppn=2))
    text = said(only(planted))
    assert "Linpack is fastest on 1 core, although it was measured on 2" in text
    assert re.search(r"rate has stopped growing: N = 16,000, .* is slower than 8,000 by", text)
    assert re.search(r"from 1 to 2 cores Linpack drops by (49|50|51)%", text)


def test_strided_access_that_takes_twice_as_long_and_half_as_long():
    twice, half = (
        only([cell("memory.strided", 5e-9 * by, cores=cores, op="read", stride=4)
              for cores, by in ((1, 1.0), (4, factor))])
        for factor in (2.0, 0.5)
    )  # fmt: skip
    assert re.search(r"takes up to (1\.9|2\.0)\d times as long as on one core", twice.verdict)
    assert any("fewer ranks per node" in sentence for sentence in twice.advice)
    assert re.search(r"takes at most 0\.(49|5)\d? times as long as on one core", half.verdict)


def test_buffered_access_at_twice_and_at_half_the_bandwidth():
    for factor, words in ((2.0, "gain from the page cache"), (0.5, "buffered access is slower")):
        planted = [
            cell("storage.file", 4e8 * by, op="read", method=method, record=MIB)
            for method, by in (("direct", 1.0), ("buffered", factor))
        ]
        (row,) = (one for one in only(planted).evidence if "buffered over direct" in one.label)
        assert row.note.startswith(words)


def test_codes_that_scale_alike_and_differently():
    def scaling(plain):
        tuned = by_cores("npb.is", {1: 8e8, 4: 12e8}, **{"class": "A"})
        return said(only(tuned + by_cores("npb.is", plain, **{"class": "A", "code": "plain"})))

    assert "the code causes the difference" in scaling({1: 8e8, 4: 30e8})
    assert "the code causes the difference" not in scaling({1: 8e8, 4: 12e8})


def test_few_launches_have_a_ratio_without_a_direction():
    planted = by_cores("npb.cg", {1: 8e8, 2: 16e8}, **{"class": "A"})
    (answer,) = answers(planted, 1, launches=3)
    assert re.search(r"the ratio of CG is (1\.9|2\.0)\d, without an interval\.$", answer.verdict)


@pytest.mark.parametrize("count", [8, 20])
def test_the_headline_of_equal_orders_holds_their_rate(count):
    planted = [cell("compute.dgemm", 60e9, n=100 * (1 + n)) for n in range(count)]
    rows = [one.evidence[0] for one in answers(planted, 150)]
    among = [int(re.search(r"best of (\d+) comparable cells$", row.note)[1]) for row in rows]
    assert min(among) >= count - 2 and np.median(among) == count
    held = sum(row.ci95[0] <= 60e9 <= row.ci95[1] for row in rows)
    assert held >= 0.93 * len(rows)
    # The measured medians alone lie above the rate that all orders have.
    assert np.mean([row.value for row in rows]) > 1.004 * 60e9


def test_the_largest_ratio_of_equal_ones_holds_one():
    planted = [
        cell("memory.strided", 5e-9, cores=cores, op="read", stride=stride)
        for stride in range(1, 9)
        for cores in (1, 4)
    ]
    rows = [one.evidence[0] for one in answers(planted, 150)]
    held = sum(row.ci95[0] <= 1.0 <= row.ci95[1] for row in rows)
    assert held >= 0.93 * len(rows)
    assert all("largest of" in row.note for row in rows)
