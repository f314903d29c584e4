"""Answers and figures on memory beyond streams, from planted numbers."""

from __future__ import annotations

import pytest

from asking import figures_of, reply_to
from assay.charts.drawing import svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.selection import on_any_memory, points
from assay.questions.speed.memory import access
from assay.questions.speed.memory.access import find_access
from assay.questions.speed.memory.hierarchy import alone, memory_levels, plateaus
from assay.questions.speed.memory.numa import numa_matrix
from report_builder import make_failure, make_run, make_summary, quick_cells

KIB, MIB = 1 << 10, 1 << 20
# The planted machine of report_builder: L1 48 KiB, L2 1.25 MiB, L3 48 MiB.
L1, L2, L3, DRAM = 1e-9, 4e-9, 15e-9, 100e-9


def cell(kernel, value, *, ppn=1, binding="compact", toolchain="embedded", **parameters):
    built = Cell(kernel, parameters, Placement(ppn=ppn, binding=binding), toolchain)
    return make_summary(built, value, **({"elements": 1000} if kernel == "memory.stream" else {}))


def latency_of(size, capacities=((48 * KIB, L1), (1280 * KIB, L2), (48 * MIB, L3))):
    return next((time for capacity, time in capacities if size <= capacity), DRAM)


def hierarchy(of=latency_of, pages="huge", **placement):
    return [
        cell("memory.latency", of(1 << power), bytes=1 << power, pages=pages, **placement)
        for power in range(12, 28)
    ]


def strided(ratios, op="read", ppn=4):
    """One core at 2 ns per access times the stride, all cores at that times the ratio."""
    return [
        cell("memory.strided", 2e-9 * stride * factor, ppn=ranks, op=op, stride=stride)
        for stride, value in ratios.items()
        for ranks, factor in ((1, 1.0), (ppn, value))
    ]


def rows(answer):
    return {row.label: row for row in answer.evidence}


def speed(cells):
    return reply_to("speed", cells, make_run(cells)).answer


def test_each_level_gets_its_planted_latency_and_its_sets():
    found = rows(speed(hierarchy()))
    assert found["Latency of a load, L1 cache of 48 KiB"].value == L1
    assert found["Latency of a load, L2 cache of 1.25 MiB"].value == L2
    assert found["Latency of a load, L3 cache of 48 MiB"].value == L3
    assert found["Latency of a load, main memory"].value == DRAM
    notes = [row.note.partition("; ")[2] for row in found.values()]
    assert notes == [
        "this level serves sets of 4 KiB to 32 KiB",
        "this level serves sets of 64 KiB to 1 MiB",
        "this level serves sets of 2 MiB to 32 MiB",
        "this level serves sets of 64 MiB to 128 MiB",
    ]


def test_the_verdict_names_main_memory_and_nothing_that_was_not_measured():
    assert speed(hierarchy()).verdict == "A load from main memory takes 100 ns."
    small = [c for c in hierarchy() if c.parameters["bytes"] <= MIB]
    assert "main memory" not in rows(speed(small))
    assert "main memory" not in speed(small).verdict


def test_a_level_that_no_set_shows_is_left_out():
    sparse = [c for c in hierarchy() if c.parameters["bytes"] in (32 * KIB, 128 * MIB)]
    assert list(rows(speed(sparse))) == [
        "Latency of a load, L1 cache of 48 KiB",
        "Latency of a load, main memory",
    ]


def test_a_cache_that_is_shared_is_a_caveat():
    def shared(size):
        return latency_of(size, ((48 * KIB, L1), (1280 * KIB, L2), (8 * MIB, L3)))

    cells = hierarchy(shared)
    (sentence,) = [c for c in speed(cells).caveats if "serves only working sets" in c]
    assert "L3 cache of 48 MiB serves only working sets of up to 8 MiB" in sentence
    assert not any("serves only working sets" in c for c in speed(hierarchy()).caveats)


def test_a_disturbed_set_does_not_end_a_cache():
    disturbed = hierarchy(lambda size: latency_of(size) * (50 if size == 16 * KIB else 1))
    assert speed(disturbed).caveats == []
    note = rows(speed(disturbed))["Latency of a load, L1 cache of 48 KiB"].note
    assert note.endswith("this level serves sets of 4 KiB to 32 KiB")


def test_without_cache_sizes_only_memory_is_named():
    cells = hierarchy()
    run = make_run(cells, system={"hostname": "box"})
    (only,) = plateaus(alone(cells), memory_levels(run))
    assert (only.level.name, only.point.metric.median) == ("main memory", DRAM)


def test_huge_pages_stand_for_the_hierarchy_and_small_ones_are_set_against_them():
    small = hierarchy(lambda size: (1.5 if size > 64 * MIB else 1.1) * latency_of(size), "small")
    answer = speed(small + hierarchy())
    assert rows(answer)["Latency of a load, main memory"].value == DRAM
    row = rows(answer)["Latency of a load, small pages over huge"]
    assert row.value == pytest.approx(1.5)
    assert row.ci95 is not None and row.ci95[0] < 1.5 < row.ci95[1]
    assert any("huge pages" in sentence and "1.50" in sentence for sentence in answer.advice)
    assert not any("huge pages" in sentence for sentence in speed(hierarchy()).advice)


def test_loads_of_all_cores_at_once():
    busy = cell("memory.latency", 130e-9, ppn=4, bytes=1 << 27, pages="huge")
    row = rows(speed([*hierarchy(), busy]))["Latency from main memory, 4 cores over 1"]
    assert row.value == pytest.approx(1.3)
    assert row.note == "130 ns per load"


def test_the_worst_stride_is_named_with_what_was_found_in_2005():
    answer = speed(strided({1: 1.2, 4: 1.9, 17: 1.4}) + strided({2: 1.0}, op="triad"))
    row = rows(answer)["Strided read, 4 cores over 1"]
    assert row.value == pytest.approx(1.9)
    assert row.note == (
        "at stride 4, of strides 1 to 17; with 2 processors in 2005: Xeon 1.8 to 2, "
        "Opteron 1 to 1.01 (Luecke, Li & Cuma, 4.2)"
    )
    triad = rows(answer)["Strided triad, 4 cores over 1"]
    assert (triad.value, triad.note.partition(";")[0]) == (pytest.approx(1.0), "at stride 2")
    assert answer.verdict == (
        "On 4 cores concurrently a strided access takes up to 1.90 times as long as on one core."
    )
    (sentence,) = advised(answer)
    assert "takes up to 1.90 times as long" in sentence and "fewer ranks" in sentence


def test_memory_that_suffices_for_all_cores_is_reported():
    (sentence,) = advised(speed(strided({1: 0.99, 8: 1.01})))
    assert sentence.startswith("With all 4 cores in use, a strided access takes 1.010× [")
    assert "with one core: ranks on every core suit codes bound by memory" in sentence
    # A ratio that may be above 1.05 is not called perfect.
    assert advised(speed(strided({1: 1.04}))) == []
    assert advised(speed(strided({1: 1.3}))) == []


def advised(answer):
    """The advice, except to measure again, which every answer with low confidence gives."""
    return [sentence for sentence in answer.advice if not sentence.startswith("Measure again")]


def test_a_ratio_needs_both_ends_of_one_toolchain():
    assert access_of([cell("memory.strided", 2e-9, op="read", stride=1)]) is None
    apart = [
        cell("memory.strided", 2e-9, op="read", stride=1, toolchain="a"),
        cell("memory.strided", 3e-9, ppn=4, op="read", stride=1, toolchain="b"),
    ]
    assert access_of(apart) is None


def access_of(cells):
    return find_access(cells, memory_levels(make_run(cells)))


def test_random_rates_and_their_ratio():
    def random(mode, access, ppn=1, pages="huge"):
        return cell("memory.random", ppn / access, ppn=ppn, mode=mode, pages=pages)

    cells = [random(mode, 10e-9) for mode in ("read", "update")]
    cells += [random(mode, 12.5e-9, ppn=4) for mode in ("read", "update")]
    found = rows(speed(cells))
    assert found["Random reads, 4 cores"].value == pytest.approx(4 / 12.5e-9)
    assert speed(cells).verdict == "Random reads run at 320.0 Mop/s on 4 cores."
    assert found["Random updates, 4 cores"].note == "4 ranks; 0.32 GUPS, one table per rank"


def test_times_of_random_access_are_set_against_one_core():
    """The access time itself, which make_summary plants for the headline metric alone."""
    import msgspec

    from report_builder import make_metric

    def random(mode, access, ppn):
        summary = cell("memory.random", ppn / access, ppn=ppn, mode=mode, pages="huge")
        metrics = {**summary.metrics, "access": make_metric(access, "s", better="less")}
        return msgspec.structs.replace(summary, metrics=metrics)

    cells = [random(mode, *of) for mode in ("read", "update") for of in ((10e-9, 1), (17e-9, 2))]
    found = rows(speed(cells))
    assert found["Random reads, time on 2 cores over 1"].value == pytest.approx(1.7)
    assert "Xeon 1.7, Opteron 1.06" in found["Random reads, time on 2 cores over 1"].note
    assert found["Random updates, time on 2 cores over 1"].note == ""


def numa_cells(kernel, near, far, **parameters):
    return [
        cell(kernel, near if core == memory else far + core * 1e-9 * far, ppn=2,
             binding=f"numa:{core}", memory_node=memory, **parameters)
        for core in (0, 1) for memory in (0, 1)
    ]  # fmt: skip


def test_near_and_far_memory_of_numa_nodes():
    cells = numa_cells("memory.stream", 50e9, 20e9, op="triad")
    cells += numa_cells("memory.latency", 100e-9, 180e-9, bytes=1 << 27, pages="huge")
    assert len(numa_matrix(cells, "memory.stream", "bandwidth")) == 4
    found = rows(speed(cells))
    stream = found["STREAM, memory of a remote NUMA node over the local one"]
    assert stream.value == pytest.approx(0.4)
    assert stream.note == (
        "cores of node 0, memory of node 1: 20.0 GB/s, of 4 pairs; 2 remote pairs are comparable"
    )
    assert found["STREAM, memory of the local NUMA node"].value == 50e9
    far = found["Latency of a load, memory of a remote NUMA node over the local one"]
    assert far.value == pytest.approx(1.8)
    assert far.note.startswith("cores of node 1, memory of node 0: 180 ns")


def test_the_local_node_is_local_even_if_a_remote_one_is_faster():
    cells = numa_cells("memory.latency", 100e-9, 50e-9, bytes=1 << 27, pages="huge")
    found = rows(speed(cells))
    assert found["Latency of a load, memory of the local NUMA node"].value == 100e-9


def test_either_name_of_a_numa_node_counts():
    free = cell("memory.latency", 1e-9, bytes=64)
    bound = cell("memory.latency", 1e-9, bytes=64, binding="numa:0")
    placed = cell("memory.latency", 1e-9, bytes=64, memory_node=0)
    found = on_any_memory(points([free, bound, placed], "memory.latency", "latency"))
    assert [point.summary for point in found] == [free]


def test_cells_of_one_numa_node_do_not_represent_the_machine():
    whole = cell("memory.stream", 90e9, ppn=4, op="triad", memory_node=-1)
    far = cell("memory.stream", 10e9, ppn=8, binding="numa:0", op="triad", memory_node=1)
    assert speed([whole, far]).verdict.startswith("4 cores sustain 90.0 GB/s")
    far = cell("memory.latency", 3e-7, binding="numa:0", bytes=1 << 28, pages="huge", memory_node=1)
    assert speed([*hierarchy(), far]).verdict == "A load from main memory takes 100 ns."


def test_what_failed_lowers_the_confidence():
    answer = speed([*hierarchy(), make_failure(hierarchy()[0].cell, wrong=True)])
    assert answer.confidence == "low"
    assert any("its result was wrong" in caveat for caveat in answer.caveats)


def test_a_run_without_these_kernels_says_nothing_of_them():
    assert access_of(quick_cells()) is None
    ids = {figure.id for figure in figures_of("speed", quick_cells(), make_run(quick_cells()))}
    assert not ids & {"saturation", "strided", "strided-ratio", "hierarchy"}


def saturating():
    rates = {1: 10e9, 2: 19e9, 4: 36e9, 8: 37e9}
    return [
        cell("memory.stream", rate * (1.0 if binding == "compact" else 0.9), ppn=ppn,
             binding=binding, op="triad", memory_node=-1)
        for ppn, rate in rates.items() for binding in ("compact", "spread")
    ]  # fmt: skip


def test_figures_hold_the_planted_numbers_and_can_be_drawn():
    cells = saturating() + strided({1: 1.2, 8: 1.5}) + strided({1: 1.1}, op="copy") + hierarchy()
    figures = {f.id: f for f in figures_of("speed", cells, make_run(cells))}
    curve = figures["saturation"]
    assert [(row["cores"], row["binding"]) for row in curve.rows] == [
        (cores, binding) for binding in ("compact", "spread") for cores in (1, 2, 4, 8)
    ]
    assert "it saturates at 4 cores" in curve.alt
    assert "saturates at 4" in svg(curve)
    times = {
        (r["operation"], r["stride"], r["cores"]): r["median"] for r in figures["strided"].rows
    }
    assert times == {
        ("read", 1, 1): 2e-9, ("read", 1, 4): 2.4e-9, ("read", 8, 1): 16e-9,
        ("read", 8, 4): pytest.approx(24e-9), ("copy", 1, 1): 2e-9,
        ("copy", 1, 4): pytest.approx(2.2e-9),
    }  # fmt: skip
    ratios = [(r["operation"], r["stride"], r["median"]) for r in figures["strided-ratio"].rows]
    assert ratios == [
        ("read", 1, pytest.approx(1.2)), ("read", 8, pytest.approx(1.5)),
        ("copy", 1, pytest.approx(1.1)),
    ]  # fmt: skip
    assert all(r["low"] < r["median"] < r["high"] for r in figures["strided-ratio"].rows)
    drawn = svg(figures["hierarchy"])
    for rule in ("L1 48 KiB", "L2 1.25 MiB", "L3 48 MiB"):
        assert drawn.count(f">{rule}<") == 1
    assert [row["median"] for row in figures["hierarchy"].rows] == [
        latency_of(1 << power) for power in range(12, 28)
    ]
    for figure in figures.values():
        svg(figure, "dark")
        assert {field.name for field in figure.fields} == set(figure.rows[0])


def json_of(cells):
    """The findings on memory as a program reads them."""
    import json

    found = findings_json(reply_to("speed", cells, make_run(cells)).findings)
    return json.loads(json.dumps(found, allow_nan=False))["memory"]


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = saturating() + strided({1: 1.2, 8: 1.5}) + hierarchy()
    cells += numa_cells("memory.latency", 100e-9, 180e-9, bytes=1 << 27, pages="huge")
    found = json_of(cells)
    assert set(found) == {"bandwidth", "access", "levels", "loaded", "cores"}  # no curves
    assert found["loaded"] is found["cores"] is None
    bandwidth = found["bandwidth"]
    assert (bandwidth["operation"], bandwidth["saturated"]) == ("triad", 4)
    assert list(bandwidth["by_cores"]) == ["1", "2", "4", "8"]
    by_id = {cell.id: cell for cell in cells}
    assert by_id[bandwidth["by_cores"]["8"]["cell"]].metrics["bandwidth"].median == 37e9
    assert bandwidth["by_cores"]["8"]["metric"] == "bandwidth"
    assert bandwidth["speedup"]["value"] == pytest.approx(3.7)
    assert bandwidth["speedup"]["efficiency"] == pytest.approx(3.7 / 8)
    assert bandwidth["ceiling"]["bandwidth"] > 37e9
    access = found["access"]
    assert [level["level"]["size"] for level in access["plateaus"]] == [
        48 * KIB, 1280 * KIB, 48 * MIB, None,
    ]  # fmt: skip
    assert access["strided"]["read"]["8"]["value"] == pytest.approx(1.5)
    low, high = access["strided"]["read"]["8"]["ci95"]
    assert low < 1.5 < high
    numa = access["numa"]["memory.latency"]
    assert (numa["cores_node"], numa["memory_node"], numa["pairs"]) == (1, 0, 4)
    assert numa["ratio"]["value"] == pytest.approx(1.8)
    assert json_of(quick_cells())["access"] is None


def test_answer_and_figures_share_one_search_for_plateaus_and_ratios(monkeypatch):
    calls = []

    def counting(name, function):
        def call(*arguments, **named):
            calls.append(name)
            return function(*arguments, **named)

        monkeypatch.setattr(access, name, call)

    for name in ("plateaus", "strided_pairs", "random_pairs", "find_numa"):
        counting(name, getattr(access, name))
    cells = strided({1: 1.2, 8: 1.5}) + hierarchy()
    reply = reply_to("speed", cells, make_run(cells))
    assert {"strided", "strided-ratio", "hierarchy"} <= {figure.id for figure in reply.figures()}
    assert sorted(calls) == ["find_numa", "plateaus", "random_pairs", "strided_pairs"]
