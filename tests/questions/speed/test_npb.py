"""Scaling of the NPB in answers and report, from planted rates and phases."""

from __future__ import annotations

import dataclasses
import io
import json

import msgspec
import pytest
from rich.console import Console

from asking import reply_to
from assay.charts.drawing import svg
from assay.kernels import find_kernel
from assay.kernels.npb.own_code import OWN_CODE, scaling_difference
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Search
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.common.selection import points
from assay.questions.speed.benchmarks import findings
from assay.questions.speed.benchmarks.phases import phase_shares
from assay.questions.speed.benchmarks.scaling import (
    Chip,
    ScalingFit,
    begins_to_fit,
    by_class,
    cache_share,
    chip_of,
    curve_of,
    speedups,
    superlinear,
)
from assay.questions.speed.benchmarks.topic import TOPIC
from assay.report import build_report, print_summary
from assay.report.markdown import to_markdown
from assay.system.model import Cache, Processor, System
from report_builder import make_metric, make_run, make_summary

MIB = 1 << 20
COUNTS = (1, 2, 4, 8, 16)
# Sixteen cores, an L3 for each four of them.
CACHES = [
    Cache(level=1, kind="instruction", size=32 << 10, count=16),
    Cache(level=2, kind="unified", size=1 * MIB, count=16),
    Cache(level=3, kind="unified", size=32 * MIB, count=4),
]
SYSTEM = System(processor=Processor(cores=16, caches=CACHES))


def cell(
    kernel,
    size,
    rate,
    *,
    ppn=1,
    threads=1,
    phases=None,
    n=8,
    spread=0.006,
    code=None,
    toolchain="embedded",
    **placement,
):
    """``phases``: the share of each in the time."""
    parameters = {"class": size} if code is None else {"class": size, "code": code}
    planted = Cell(kernel, parameters, Placement(ppn=ppn, threads=threads, **placement), toolchain)
    summary = make_summary(planted, rate, n=n, spread=spread)
    work = find_kernel(kernel).work({"class": size}, ppn, threads)
    seconds = {"time": 1.0, **(phases or {})}
    metrics = {
        name: make_metric(share * work["operations"] / rate, "s", better="less", n=n)
        for name, share in seconds.items()
    }
    return msgspec.structs.replace(summary, metrics=summary.metrics | metrics)


def line(kernel, size, each, **options):
    """A benchmark over processes; ``each``: rate per process by their number."""
    return [cell(kernel, size, rate * ppn, ppn=ppn, **options) for ppn, rate in each.items()]


def triad(rates, **options):
    return [
        make_summary(
            Cell("memory.stream", {"op": "triad"}, Placement(ppn=ppn), "embedded"), rate,
            elements=1000, **options,
        )
        for ppn, rate in rates.items()
    ]  # fmt: skip


def run(cells, system=SYSTEM):
    return make_run(cells, system=system.to_dict() if system else {})


def speed(cells, system=SYSTEM):
    return reply_to("speed", cells, run(cells, system)).answer


def rows(answer):
    return {row.label: row for row in answer.evidence}


def curves_of(cells, kernel):
    found = by_class(points(cells, kernel, "rate"))
    return [curve_of(of_size, kernel, size) for size, of_size in found.items()]


def limits(answer):
    return " ".join(answer.limits)


LEVEL = dict.fromkeys(COUNTS, 100e6)
RISING = {1: 100e6, 2: 98e6, 4: 99e6, 8: 130e6, 16: 120e6}


# --- Curves and efficiencies ---


def test_a_curve_holds_processes_only_and_its_largest_class_leads():
    cells = line("npb.cg", "A", LEVEL) + line("npb.cg", "B", {1: 90e6, 4: 80e6})
    cells += [cell("npb.cg", "A", 5e9, ppn=2, threads=2), cell("npb.cg", "A", 5e9, threads=16)]
    large, small = curves_of(cells, "npb.cg")
    assert (large.size, list(large.points), large.processes) == ("B", [1, 4], True)
    assert (small.size, list(small.points), small.few, small.most) == ("A", list(COUNTS), 1, 16)
    assert all(p.summary.cell.placement.threads == 1 for p in small.points.values())


def test_threads_are_named_by_their_placement_next_to_processes():
    cells = [*line("npb.cg", "A", {1: 1e9, 4: 0.9e9}), cell("npb.cg", "A", 3e9, threads=4)]
    found = rows(speed(cells))
    assert found["CG class A, 4 cores"].value == pytest.approx(3.6e9)
    assert found["CG class A, 1 rank × 4 threads"].value == 3e9
    assert found["CG class A, 1 → 4 cores"].share == pytest.approx(0.9)


def test_of_several_toolchains_each_row_names_its_own():
    slower = [
        msgspec.structs.replace(
            each, cell=msgspec.structs.replace(each.cell, toolchain="clang"), id=f"{each.id}-clang"
        )
        for each in line("npb.ep", "A", {1: 0.8e9, 2: 0.8e9})
    ]
    found = rows(speed([*line("npb.ep", "A", {1: 1e9, 2: 1e9}), *slower]))
    assert {"EP class A, 2 cores, embedded", "EP class A, 2 cores, clang"} <= set(found)
    assert "EP class A, 2 cores" in rows(speed(line("npb.ep", "A", {1: 1e9, 2: 1e9})))


def test_threads_make_a_curve_where_processes_do_not():
    cells = [cell("npb.cg", "A", 1e9), cell("npb.cg", "A", 3e9, threads=4)]
    (curve,) = curves_of(cells, "npb.cg")
    assert (list(curve.points), curve.processes) == ([1, 4], False)


def test_efficiency_is_the_rate_per_process_over_that_of_the_fewest():
    (curve,) = curves_of(line("npb.cg", "A", {2: 100e6, 8: 60e6, 4: 90e6}), "npb.cg")
    found = speedups(curve)
    assert [(s.most.cores, s.efficiency) for s in found] == [
        (4, pytest.approx(0.9)), (8, pytest.approx(0.6)),
    ]  # fmt: skip
    assert [s.value for s in found] == [pytest.approx(1.8), pytest.approx(2.4)]
    assert all(s.interval[0] < s.value < s.interval[1] for s in found)
    assert all(s.efficiency_interval[0] < s.efficiency < s.efficiency_interval[1] for s in found)


def test_superlinear_is_what_the_whole_interval_says():
    def counts(**options):
        (curve,) = curves_of(line("npb.cg", "A", RISING, **options), "npb.cg")
        return [s.most.cores for s in superlinear(speedups(curve))]

    assert counts() == [8, 16]
    assert counts(spread=0.03) == [8, 16]
    # The range of 1.2 extends below 1, of 1.3 it doesn't.
    assert counts(spread=0.065) == [8]
    assert counts(spread=0.15) == []
    assert counts(n=3) == []  # without intervals nothing is claimed


# --- Caches ---


@pytest.mark.parametrize(
    ("placement", "l3", "l2"),
    [
        (Placement(ppn=1), 32, 1),
        (Placement(ppn=2), 16, 1),
        (Placement(ppn=4), 8, 1),
        (Placement(ppn=5), 2 * 32 / 5, 1),
        (Placement(ppn=16), 8, 1),
        (Placement(ppn=2, binding="spread"), 32, 1),
        (Placement(ppn=8, binding="none"), 16, 1),
        (Placement(ppn=2, threads=8), 64, 8),
        (Placement(nodes=4, ppn=2), 16, 1),
        (Placement(ppn=32), 4, 0.5),  # several on a core
    ],
)
def test_the_share_of_a_cache(placement, l3, l2):
    assert cache_share(placement, CACHES[2], 16) / MIB == pytest.approx(l3)
    assert cache_share(placement, CACHES[1], 16) / MIB == pytest.approx(l2)


def test_the_count_from_which_data_fit_is_found():
    chip = chip_of(run([]))
    assert ([cache.level for cache in chip.caches], chip.cores) == ([3, 2], 16)
    (curve,) = curves_of(line("npb.is", "A", RISING, binding="spread"), "npb.is")
    memory = find_kernel("npb.is").memory
    need = [memory({"class": "A"}, ppn, 1) / MIB for ppn in COUNTS]
    assert min(need[:2]) > 32 > need[2] and need[3] < 16 and need[4] > 8
    # Spread, up to four processes have an L3 of 32 MiB each, eight half of one, sixteen a quarter.
    third, second = chip.caches[0], chip.caches[1:]
    chip = Chip((msgspec.structs.replace(third, size=32 * MIB), *second), chip.cores)
    assert begins_to_fit(curve, chip, 8) == ScalingFit(4, 3, need[2] * MIB, 32 * MIB)
    assert begins_to_fit(curve, chip, 2) is None
    assert begins_to_fit(curve, chip, 16) is None
    vast = Chip(tuple(msgspec.structs.replace(c, size=1 << 40) for c in chip.caches), 16)
    assert begins_to_fit(curve, vast, 16) is None  # they fitted from the start


def sized(size):
    """The planted machine with an L3 of that size to each four cores."""
    caches = [*CACHES[:2], msgspec.structs.replace(CACHES[2], size=size)]
    return System(processor=Processor(cores=16, caches=caches))


def test_the_cache_effect_is_named_with_its_count_and_sizes():
    answer = speed(line("npb.is", "A", RISING, binding="spread"), sized(32 * MIB))
    text = limits(answer)
    assert "IS class A is superlinear: on 8 processes each process reaches 130" in text
    assert "; it is also superlinear on 1 other count." in text
    assert "With at least 4 processes, the " in text
    assert "share of the L3 caches (32 MiB)" in text
    assert "Edmundsson et al. (2004), 5.5" in text
    row = rows(answer)["IS class A, 1 → 16 cores"]
    assert row.note == "parallel efficiency, superlinear"
    assert row.share == pytest.approx(1.2)
    assert rows(answer)["IS class A, 1 → 8 cores"].share == pytest.approx(1.3)


def test_a_cache_effect_that_sizes_do_not_confirm_is_not_claimed():
    text = limits(speed(line("npb.is", "A", RISING), sized(2 * MIB)))
    assert "superlinear" in text and "don't begin to fit into any cache at these counts" in text
    assert "are unknown here" in limits(speed(line("npb.is", "A", RISING), None))
    assert "superlinear" not in limits(speed(line("npb.is", "A", LEVEL)))


def test_a_rise_in_between_gets_its_own_row():
    found = rows(speed(line("npb.cg", "A", {**RISING, 16: 90e6})))
    assert found["CG class A, 1 → 8 cores"].note == "parallel efficiency, superlinear"
    assert found["CG class A, 1 → 16 cores"].note == "parallel efficiency"
    assert "CG class A, 1 → 4 cores" not in found


# --- What limits ---

FALLING = {1: 100e6, 2: 95e6, 4: 85e6, 8: 70e6, 16: 50e6}
BUSY = {"compute": 0.95, "alltoallv": 0.04, "allreduce": 0.01}
COMMUNICATING = {"compute": 0.5, "alltoallv": 0.4, "allreduce": 0.1}


def falling(few=BUSY, most=COMMUNICATING):
    return [
        cell("npb.is", "A", rate * ppn, ppn=ppn, phases=most if ppn == 16 else few)
        for ppn, rate in FALLING.items()
    ]


def test_communication_is_named_where_it_took_the_time():
    answer = speed(falling())
    assert "IS class A reaches 50.0%" in limits(answer)
    assert "waiting for other ranks, takes 50.0% of the time" in limits(answer)
    assert "largest part is alltoallv, 40.0%" in limits(answer)
    assert any("wait for messages and for each other" in advice for advice in answer.advice)


def test_memory_is_named_where_stream_saturates_and_communication_is_not_the_cause():
    saturated = triad({1: 10e9, 4: 19e9, 16: 20e9})
    answer = speed(falling(most=BUSY) + saturated)
    assert "STREAM on 16 cores has 2.00 times the bandwidth of 1 core" in limits(answer)
    assert "communication takes only 5.00% of the time" in limits(answer)
    # Not where STREAM's growth is uncertain: one launch, or a wide interval.
    for options in ({"n": 1}, {"spread": 0.9}):
        uncertain = triad({1: 10e9, 4: 19e9, 16: 20e9}, **options)
        assert "STREAM on" not in limits(speed(falling(most=BUSY) + uncertain))
    # Not where communication accounts for the loss, nor where STREAM grows or the data are cached.
    assert "STREAM on" not in limits(speed(falling() + saturated))
    assert "STREAM on" not in limits(speed(falling(most=BUSY) + triad({1: 10e9, 16: 150e9})))
    vast = sized(1 << 40)
    assert "STREAM on" not in limits(speed(falling(most=BUSY) + saturated, vast))


def test_a_loss_by_neither_is_reported_as_such():
    assert "computing itself is slower on each core" in limits(speed(falling(most=BUSY)))
    plain = speed(line("npb.cg", "A", FALLING))
    assert "of perfect scaling on 16 processes: the code is assay's own (ranks have" in limits(
        plain
    )
    assert "would distinguish" not in limits(plain)
    assert "of perfect scaling" not in limits(speed(line("npb.ep", "A", FALLING)))
    (advice,) = [sentence for sentence in plain.advice if "CG reaches only" in sentence]
    assert "would distinguish the two" in advice


def test_scaling_that_is_good_enough_needs_no_reason():
    good = speed(line("npb.is", "A", {1: 100e6, 16: 80e6}, phases=COMMUNICATING))
    assert "of perfect scaling" not in limits(good)


# --- The report ---


def hybrid():
    return [
        *line("npb.ep", "B", LEVEL),
        *line("npb.cg", "A", RISING),
        *line("npb.cg", "B", {1: 90e6, 16: 80e6}),
        cell("npb.cg", "A", 900e6, threads=16),
        cell("npb.cg", "A", 1200e6, ppn=4, threads=4),
        *falling(),
    ]


def figures(cells):
    report = build_report(run(cells), cells)
    return {figure.id: figure for figure in report.sections[0].figures}


def test_rates_per_process_and_speedups_are_drawn_from_the_planted_numbers():
    found = figures(hybrid())
    assert list(found) == [
        "npb-ep", "npb-cg", "npb-is", "npb-speedup", "npb-is-phases",
    ]  # fmt: skip
    rates = {
        (row["class"], row["kind"], row["cores"]): row["median"] for row in found["npb-cg"].rows
    }
    assert rates == {
        **{("A", "processes", ppn): pytest.approx(rate) for ppn, rate in RISING.items()},
        ("B", "processes", 1): 90e6,
        ("B", "processes", 16): pytest.approx(80e6),
        ("A", "threads", 16): pytest.approx(900e6 / 16),
        ("A", "processes of 4 threads", 16): pytest.approx(75e6),
    }
    assert found["npb-ep"].title == "NPB EP: rate per process"
    assert found["npb-cg"].title == "NPB CG: rate per core"
    speedups = {
        (row["benchmark"], row["class"], row["cores"]): row for row in found["npb-speedup"].rows
    }
    assert len(speedups) == 5 + 5 + 2 + 5
    for ppn, rate in RISING.items():
        row = speedups["CG", "A", ppn]
        assert row["median"] == pytest.approx(ppn * rate / 100e6)
        assert (row["low"] is None) == (ppn == 1) and row["leads"] is False
        assert ppn == 1 or row["low"] < row["median"] < row["high"]
    assert speedups["CG", "B", 16]["leads"] is True
    for figure in found.values():
        for theme in ("light", "dark"):
            assert "NaN" not in svg(figure, theme)
        assert {field.name for field in figure.fields} == set(figure.rows[0])
    assert svg(found["npb-speedup"]).count(">ideal<") == 1


def test_a_speedup_counts_from_the_smallest_number_of_processes():
    found = figures(line("npb.cg", "C", {4: 100e6, 8: 90e6, 16: 80e6}))
    medians = [row["median"] for row in found["npb-speedup"].rows]
    assert medians == [4, pytest.approx(7.2), pytest.approx(12.8)]
    # A single speedup is in the evidence.
    assert "npb-speedup" not in figures(line("npb.cg", "C", {4: 100e6, 8: 90e6}))
    assert figures([cell("npb.cg", "C", 1e9)]) == {}


def test_of_more_kinds_of_placement_than_readers_can_distinguish_the_best_is_drawn():
    """Seven kinds on 2 to 16 cores: of each number of cores the fastest."""
    hybrid_kinds = [(2, 1), (1, 2), (2, 2), (1, 4), (2, 4), (1, 8), (2, 8), (1, 16)]
    cells = [
        cell("npb.cg", "A", 1e8 * ppn * threads - 1e6 * threads, ppn=ppn, threads=threads)
        for ppn, threads in hybrid_kinds
    ]
    few = figures(cells[:5])["npb-cg"]
    assert len({row["kind"] for row in few.rows}) == 4
    cells += [
        cell("npb.cg", "A", rate, ppn=ppn, nodes=nodes)
        for rate, ppn, nodes in ((3e8, 3, 1), (7e8, 1, 8), (1e8, 2, 4), (2e8, 4, 2))
    ]
    many = figures(cells)["npb-cg"]
    assert {row["kind"] for row in many.rows} == {"best"}
    assert [row["cores"] for row in many.rows] == [2, 3, 4, 8, 16]
    assert many.rows[0]["placement"] == "2 ranks"  # 199 Mop/s, two threads 198
    assert many.rows[0]["median"] == pytest.approx(199e6 / 2)
    assert "the best placement on its number of cores" in many.caption


def test_phases_are_shares_that_add_up():
    cells = falling()
    assert phase_shares(cells[-1]) == {
        "compute": pytest.approx(0.5), "allreduce": pytest.approx(0.1),
        "alltoallv": pytest.approx(0.4),
    }  # fmt: skip
    rows = figures(cells)["npb-is-phases"].rows
    for count in COUNTS:
        of_count = [row for row in rows if row["cores"] == count]
        assert sum(row["share"] for row in of_count) == pytest.approx(1)
    (share,) = [r["share"] for r in rows if (r["cores"], r["phase"]) == (16, "alltoallv")]
    assert share == pytest.approx(0.4)


def test_phases_are_a_table_in_every_form():
    cells = falling()
    report = build_report(run(cells), cells)
    evidence, _, table = report.sections[0].tables
    assert (evidence.id, table.id) == ("speed-evidence", "npb-phases")
    assert [row[1].text for row in table.rows] == ["1 rank", *(f"{n} ranks" for n in COUNTS[1:])]
    last = table.rows[-1]
    assert [entry.value for entry in last[3:5]] == [pytest.approx(0.5), pytest.approx(0.5)]
    assert table.rows[0][3].text == "95.00% [94.97, 95.03]"
    assert table.rows[0][4].text == "5.00% [4.97, 5.03]"
    assert last[3].text.startswith("50.0% [") and last[5].text == "alltoallv, 40.0%"
    assert "Where the time of the NPB goes" in to_markdown(report, "figures")
    for width in (80, 150):
        stream = io.StringIO()
        print_summary(report, Console(file=stream, width=width), verbose=True)
        text = stream.getvalue()
        assert "Where the time of the NPB goes" in text
        assert ("alltoallv, 40.0%" in text) == (width == 150)
    untimed = line("npb.cg", "A", LEVEL)
    ids = [table.id for table in build_report(run(untimed), untimed).sections[0].tables]
    assert ids == ["speed-evidence", "npb-rates"]


# --- The code, and the operations that it does ---


def test_every_rate_is_named_as_that_of_assays_own_code():
    """In the method, the figures of rates and the table of rates."""
    cells = hybrid()
    report = build_report(run(cells), cells)
    assert any(OWN_CODE in sentence for sentence in speed(cells).method)
    found = {table.id: table for table in report.sections[0].tables}
    assert OWN_CODE in found["npb-rates"].title
    assert OWN_CODE in to_markdown(report, "figures")
    stream = io.StringIO()
    print_summary(report, Console(file=stream, width=80), verbose=True)
    assert OWN_CODE in " ".join(stream.getvalue().split())
    for figure in report.sections[0].figures:
        if figure.id in ("npb-ep", "npb-cg", "npb-is"):
            assert OWN_CODE in figure.caption


def test_flops_done_stand_beside_official_operations():
    """Rate times the work's ratio, for every class and count; none for keys."""
    cells = hybrid()
    (table,) = [
        table
        for table in build_report(run(cells), cells).sections[0].tables
        if table.id == "npb-rates"
    ]
    found = {(row[0].text, row[1].text): row[2:] for row in table.rows}
    work = find_kernel("npb.cg").work({"class": "B"}, 1, 1)
    share = work["flops"] / work["operations"]
    rate, done, each = found["CG class B", "16 ranks"]
    assert rate.value == pytest.approx(16 * 80e6)
    assert done.value == pytest.approx(16 * 80e6 * share)
    assert done.text == "1.314 Gflop/s [1.306, 1.322]"
    assert (each.text, each.value) == ("1.03", pytest.approx(share))
    assert ("CG class A", "16 ranks") in found
    _, none, neither = found["IS class A", "1 rank"]
    assert none.value is neither.value is None
    row = rows(speed(cells))["CG class B, 16 cores"]
    assert row.note.endswith("per core; 1.31 Gflop/s done")
    assert "done" not in rows(speed(cells))["IS class A, 16 cores"].note
    (large, _) = findings_of(cells)["CG"]["classes"]
    assert large["per_operation"] == pytest.approx(share)
    assert findings_of(cells)["IS"]["done"][0]["flops"] is None


# What distinguishes the code is among the limits.
OWN = "The code is assay's own: NASA's code may scale differently."


@pytest.mark.parametrize("kernel", ["npb.is", "npb.ft", "npb.sp"])
def test_a_poor_scaling_names_the_code_before_the_machine(kernel):
    """Those whose code differs most from NASA's in what scales, slower or not on more cores."""
    difference = scaling_difference(kernel)
    answer = speed(line(kernel, "A", FALLING))
    assert f"the code is assay's own ({difference})" in limits(answer)
    (advice,) = [each for each in answer.advice if "reaches only" in each]
    assert advice.index(OWN) < advice.index("wait for memory")
    slower = speed(line(kernel, "A", {1: 100e6, 2: 38e6}))
    (advice,) = [each for each in slower.advice if "is slower on 2 cores" in each]
    assert advice.index(OWN) < advice.index("shared cores")


PLAIN_WELL = {1: 50e6, 2: 48e6}
PLAIN_BADLY = {1: 50e6, 2: 26e6}


def both_codes(tuned, of_plain, **options):
    """IS with either code; ``of_plain``: rates per process of the plain one."""
    plain = line("npb.is", "A", of_plain, code="plain", **options)
    return [*line("npb.is", "A", tuned, **options), *plain]


def test_plain_code_that_scales_well_tells_the_code_from_the_machine():
    answer = speed(both_codes({1: 100e6, 2: 38e6}, PLAIN_WELL))
    plain = rows(answer)["IS class A, plain code, 1 → 2 cores"]
    assert plain.value == pytest.approx(1.92) and plain.share == pytest.approx(0.96)
    assert "0.76 times as fast on 2 processes as on 1 process" in limits(answer)
    assert "1.92 times with plain code: the code causes the difference" in limits(answer)
    (advice,) = [each for each in answer.advice if "is slower on 2 cores" in each]
    assert "the code is the cause, not the machine" in advice
    assert "shared cores" not in advice and "NASA" not in advice.partition("plain code")[2]


def test_plain_code_that_scales_badly_leaves_the_machine_in_question():
    answer = speed(both_codes({1: 100e6, 2: 52e6}, PLAIN_BADLY))
    assert "the code causes the difference" not in limits(answer)
    (advice,) = [each for each in answer.advice if "reaches only" in each]
    assert "plain code reaches 52.0%" in advice and "wait for memory" in advice


def test_the_codes_are_never_one_curve():
    """Rates of the plain code are in no curve of the other, and stand alone where no other is."""
    cells = both_codes({1: 100e6, 2: 90e6}, {1: 50e6, 2: 48e6, 4: 45e6})
    (found,) = findings_of(cells)["IS"]["classes"]
    assert list(found["scaling"]["curve"]["points"]) == ["1", "2"]
    assert found["codes"]["plain"]["value"] == pytest.approx(1.92)
    assert found["codes"]["differ"] is True
    alone = speed(line("npb.is", "A", PLAIN_WELL, code="plain"))
    assert "IS class A, plain code, 2 cores" in rows(alone)
    assert findings_of(line("npb.is", "A", {1: 1e8, 2: 9e7}))["IS"]["classes"][0]["codes"] is None


def test_the_codes_of_two_toolchains_are_not_compared():
    plain = line("npb.is", "A", PLAIN_WELL, code="plain", toolchain="other")
    cells = [*line("npb.is", "A", {1: 100e6, 2: 38e6}), *plain]
    assert findings_of(cells)["IS"]["classes"][0]["codes"] is None


def test_ep_has_no_other_code_to_name():
    slower = speed(line("npb.ep", "A", {1: 100e6, 2: 38e6}))
    (advice,) = [each for each in slower.advice if "is slower on 2 cores" in each]
    assert "code" not in advice and "Ranks may have shared cores" in advice


# --- Findings ---


def findings_of(cells):
    """The findings of the NPB as JSON, by benchmark."""
    reply = reply_to("speed", cells, run(cells))
    text = json.dumps(findings_json(reply.findings))
    found = json.loads(text)["benchmarks"]["benchmarks"]
    return {benchmark["title"]: benchmark for benchmark in found}


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = hybrid()
    found = findings_of(cells)
    assert list(found) == ["EP", "CG", "IS"]
    large, small = found["CG"]["classes"]
    assert (large["scaling"]["curve"]["size"], small["scaling"]["curve"]["size"]) == ("B", "A")
    ids = {cell.id for cell in cells}
    for ppn, rate in RISING.items():
        assert small["scaling"]["curve"]["points"][str(ppn)]["cell"] in ids
        if ppn > 1:
            index = list(RISING).index(ppn) - 1
            assert small["scaling"]["speedups"][index]["efficiency"] == pytest.approx(rate / 100e6)
    assert small["cache_effect"]["counts"] == [8, 16]
    assert small["cache_effect"]["best"]["value"] == pytest.approx(8 * 1.3)
    (only,) = found["IS"]["classes"]
    assert only["loss"]["cause"] == "communication"
    assert only["loss"]["phases"]["communication"] == pytest.approx(0.5)
    assert only["scaling"]["phases"]["16"]["shares"]["alltoallv"] == pytest.approx(0.4)
    assert found["EP"]["classes"][0]["loss"] is None
    memory = findings_of(falling(most=BUSY) + triad({1: 10e9, 4: 19e9, 16: 20e9}))
    assert memory["IS"]["classes"][0]["loss"]["cause"] == "memory"
    assert memory["IS"]["classes"][0]["loss"]["stream"] == {"cores": 16, "base": 1, "ratio": 2.0}


def searched(cells, candidates):
    """A run of these cells in which a placement search requested the candidates."""
    own = run(cells)
    search = Search(tuple(cell.id for cell in cells), tuple(cell.id for cell in candidates))
    plan = msgspec.structs.replace(own.manifest.plan, search=search)
    manifest = msgspec.structs.replace(own.manifest, plan=plan)
    return Measured(dataclasses.replace(own, manifest=manifest), cells)


def test_candidates_of_a_search_are_drawn_and_not_judged():
    """Few launches each: they are in figures and tables, and no verdict rests on them."""
    cells = line("npb.cg", "A", {1: 100e6, 2: 90e6, 4: 20e6})
    found = TOPIC.find(searched(cells, cells[2:]))
    (benchmark,) = found.benchmarks
    assert list(benchmark.classes[0].scaling.curve.points) == [1, 2]
    assert list(benchmark.drawn[0].curve.points) == [1, 2, 4]
    drawn = {figure.id: figure for figure in TOPIC.figures(found)}
    assert [row["cores"] for row in drawn["npb-cg"].rows] == [1, 2, 4]
    labels = [row.label for row in TOPIC.part(found).evidence]
    assert "CG class A, 2 cores" in labels
    assert not [label for label in labels if "4 cores" in label]
    found = TOPIC.find(searched(cells, cells))
    assert TOPIC.part(found) is None
    assert [figure.id for figure in TOPIC.figures(found)] == ["npb-cg", "npb-speedup"]


def test_a_report_finds_once(monkeypatch):
    calls = []

    def counted(found, kernel, size):
        calls.append((kernel, size))
        return curve_of(found, kernel, size)

    monkeypatch.setattr(findings, "curve_of", counted)
    cells = hybrid()
    build_report(run(cells), cells)
    assert sorted(calls) == [("npb.cg", "A"), ("npb.cg", "B"), ("npb.ep", "B"), ("npb.is", "A")]
