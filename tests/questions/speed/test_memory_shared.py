"""Latency under load, transfers between CPUs, NUMA matrices: planted on the fake executor."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from asking import reply_to
from assay.charts.drawing import svg
from assay.kernels import find_kernel
from assay.launch.fake.scenario import Behaviour, NoiseModel, Scenario
from assay.launch.fake.transfers import TransferModel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.records.model import Measurement
from assay.stats.cells.summarise import summarise_cells
from fake_launches import entry, order, run
from report_builder import make_run

CORES, LOADED = "memory.core_to_core", "memory.loaded_latency"
LAUNCHES = 6
NOISE = NoiseModel(sigma=0.002, launch_sigma=0.002)


def measured(folder, machine, kernel, *, placement=None, launches=LAUNCHES, **given):
    """What that many launches of one cell wrote on the fake machine."""
    placement = placement or Placement()
    parameters = {p.name: p.default for p in find_kernel(kernel).parameters} | given
    cell = Cell(kernel, parameters, placement, "fake")
    before = len(list(folder.iterdir()))
    found = []
    for k in range(launches):
        one = entry(f"m{before}-{k}", kernel=kernel, parameters=parameters,
                    max_samples=8)  # fmt: skip
        work = order(folder, one, placement=placement, launch=f"{one.measurement}")
        work = replace(work, job=msgspec.structs.replace(work.job, seed=k))
        _, stream = run(machine, work)
        assert stream.finished
        (record,) = stream.measurements
        found.append(Measurement(cell, k, f"l{k}", 1e9, record, None, tuple(stream.ranks)))
    return found


def replied(*measurements):
    """The reply on speed, and its figures by id, each of which can be drawn."""
    given = make_run([], measurements=[m for many in measurements for m in many])
    reply = reply_to("speed", summarise_cells(given), given)
    figures = {figure.id: figure for figure in reply.question.figures(reply.findings)}
    for figure in figures.values():
        assert figure.rows and {field.name for field in figure.fields} == set(figure.rows[0])
        svg(figure)
    return reply, figures


def cores(tmp_path, cpus, launches=LAUNCHES, most=8192, **model):
    machine = Scenario(transfers=TransferModel(**model), kernel=(Behaviour(time=1e-3),))
    return measured(tmp_path, machine, CORES, placement=Placement(threads=cpus), most=most,
                    launches=launches)  # fmt: skip


def test_groups_of_two_eight_and_sixty_four_are_found_and_compared_with_the_system(tmp_path):
    cases = [
        (16, 2, {"cores": 2}, ["core"]),
        (32, 8, {"shared_caches": 8, "numa_nodes": 16}, ["last-level cache"]),
        (128, 64, {"packages": 64, "numa_nodes": 64}, ["NUMA node", "package"]),
    ]
    for cpus, size, named, shared in cases:
        reply, figures = replied(
            cores(tmp_path, cpus, within={str(size): 20e-9}, between=90e-9, named=named)
        )
        found = reply.findings.memory.cores
        (level,) = found.found
        assert [list(group) for group in level.groups] == [
            list(range(first, first + size)) for first in range(0, cpus, size)
        ]
        assert level.within == pytest.approx(20e-9, rel=0.02)
        assert level.between == pytest.approx(90e-9, rel=0.02)
        assert level.shared == shared
        assert {each.shared: each.seen for each in found.named} == {
            name: name in shared for name in {"core": "cores", "last-level cache": "shared_caches",
            "NUMA node": "numa_nodes", "package": "packages"}
            if {"core": "cores", "last-level cache": "shared_caches", "NUMA node": "numa_nodes",
                "package": "packages"}[name] in named
        }  # fmt: skip
        (advice,) = [a for a in reply.answer.advice if a.startswith("Transfers take")]
        assert f"within groups of {size} CPUs" in advice and shared[0] in advice
        figure = figures["core-to-core"]
        assert len(figure.rows) == cpus * (cpus - 1)
        assert f"{cpus // size} groups" in figure.alt
        hidden = [c for c in reply.answer.caveats if "don't show" in c]
        assert bool(hidden) == any(each.seen is False for each in found.named)


def test_nested_groups_are_found_at_each_level(tmp_path):
    reply, _ = replied(
        cores(tmp_path, 64, within={"2": 10e-9, "16": 30e-9}, between=100e-9,
              named={"cores": 2, "shared_caches": 16})
    )  # fmt: skip
    found = reply.findings.memory.cores.found
    assert [(len(level.groups), level.shared) for level in found] == [
        (4, ["last-level cache"]), (32, ["core"]),
    ]  # fmt: skip


def test_no_groups_are_found_in_noise_and_what_the_system_names_is_a_caveat(tmp_path):
    for sigma in (0.02, 0.2):
        reply, figures = replied(
            cores(tmp_path, 32, between=60e-9, sigma=sigma, named={"packages": 16})
        )
        found = reply.findings.memory.cores
        assert found.found == [] and found.searched
        assert [(each.shared, each.seen) for each in found.named] == [("package", False)]
        assert found.named[0].within == pytest.approx(found.named[0].between, rel=0.2)
        assert any("packages that the times of transfers don't show" in c
                   for c in reply.answer.caveats)  # fmt: skip
        assert not any(a.startswith("Transfers take") for a in reply.answer.advice)
        assert "no groups were found" in figures["core-to-core"].alt


def test_groups_that_the_system_does_not_name_are_advice(tmp_path):
    reply, _ = replied(cores(tmp_path, 32, within={"8": 20e-9}, between=80e-9))
    assert reply.findings.memory.cores.found[0].shared == []
    (advice,) = [a for a in reply.answer.advice if a.startswith("Transfers take")]
    assert "which the operating system doesn't name" in advice


def test_a_part_of_the_pairs_is_said_and_still_shows_groups(tmp_path):
    reply, figures = replied(
        cores(tmp_path, 128, most=2080, launches=2, within={"64": 60e-9}, between=180e-9,
              named={"packages": 64})
    )  # fmt: skip
    found = reply.findings.memory.cores
    assert found.pairs_in_all == 8128 and found.pairs == 2 * 32 * 64
    assert [len(level.groups) for level in found.found] == [2]
    assert found.found[0].shared == ["package"]
    (limit,) = [limit for limit in reply.answer.limits if "at random" in limit]
    assert "4,096 of 8,128 pairs" in limit
    assert "4,096 of 8,128 pairs were measured" in figures["core-to-core"].caption


def test_two_cpus_have_a_time_and_no_groups(tmp_path):
    reply, figures = replied(cores(tmp_path, 2, between=122e-9, sigma=0.0))
    found = reply.findings.memory.cores
    assert (found.pairs, found.searched, found.found) == (1, False, [])
    assert "core-to-core" not in figures
    assert "A cache line moves between two CPUs in 122 ns" in reply.answer.verdict
    assert any("at least 6 CPUs" in limit for limit in reply.answer.limits)


# The planted curve: 100 ns idle, 10% more at half of 200 GB/s, and then twice and four times.
CURVE = {0: (0, 100e-9), 25: (50e9, 103e-9), 50: (100e9, 110e-9), 75: (150e9, 130e-9),
         90: (180e9, 200e-9), 100: (200e9, 400e-9)}  # fmt: skip


def curve(tmp_path, planted=None, **given):
    found = []
    for load, (rate, time) in (planted or CURVE).items():
        behaviour = Behaviour(time=time, rates={"traffic": rate}, noise=NOISE,
                              resolved={"bytes": 1 << 28, "stores": "nontemporal"})  # fmt: skip
        found += measured(tmp_path, Scenario(kernel=(behaviour,)), LOADED,
                          placement=Placement(threads=8), load=load, **given)  # fmt: skip
    return found


def test_the_curve_its_knee_and_its_ends(tmp_path):
    latency = Behaviour(time=100e-9, noise=NOISE, resolved={"bytes": 1 << 28})
    work = find_kernel("memory.stream").work({"op": "triad", "elements": 10**8}, 7, 1)["bytes"]
    stream = Behaviour(time=work / 198e9, noise=NOISE, max_batch=1,
                       resolved={"elements": 10**8, "stores": "nontemporal"})  # fmt: skip
    reply, figures = replied(
        curve(tmp_path),
        measured(tmp_path, Scenario(kernel=(latency,)), "memory.latency"),
        measured(tmp_path, Scenario(kernel=(stream,)), "memory.stream",
                 placement=Placement(ppn=7)),
    )  # fmt: skip
    found = reply.findings.memory.loaded
    assert [point.load for point in found.curve] == list(CURVE)
    assert [point.rate for point in found.curve] == [rate for rate, _ in CURVE.values()]
    assert found.streaming == 7
    assert found.growth.value == pytest.approx(4.0, rel=0.02)
    # Farthest below the chord: 0.75 - 0.1, before 0.9 - 0.33.
    assert found.knee is not None and found.knee.load == 75
    assert found.idle_over_latency.value == pytest.approx(1.0, rel=0.01)
    assert found.full_over_stream.value == pytest.approx(200 / 198, rel=0.01)
    rows = {row.label: row for row in reply.answer.evidence}
    knee = rows["Latency of a load at the knee of the curve"]
    assert knee.note == "streams move 150 GB/s, a load of 75%"
    assert any("below 150 GB/s" in advice for advice in reply.answer.advice)
    figure = figures["loaded-latency"]
    assert [row["traffic"] for row in figure.rows] == [rate / 1e9 for rate, _ in CURVE.values()]
    assert "its knee is at 150 GB/s" in figure.alt and ">knee<" in svg(figure)
    found_json = json.loads(json.dumps(findings_json(reply.findings), allow_nan=False))
    assert found_json["memory"]["loaded"]["knee"]["load"] == 75


def test_flat_and_straight_curves_have_no_knee(tmp_path):
    flat = {load: (rate, 100e-9) for load, (rate, _) in CURVE.items()}
    straight = {load: (rate, 100e-9 * (1 + rate / 100e9)) for load, (rate, _) in CURVE.items()}
    for planted in (flat, straight):
        reply, _ = replied(curve(tmp_path, planted))
        assert reply.findings.memory.loaded.knee is None
        assert not any("knee" in row.label for row in reply.answer.evidence)
    three = {load: CURVE[load] for load in (0, 50, 100)}
    reply, figures = replied(curve(tmp_path, three))
    assert reply.findings.memory.loaded.knee is None and "loaded-latency" not in figures


def test_a_curve_needs_idle_memory(tmp_path):
    reply, _ = replied(curve(tmp_path, {load: CURVE[load] for load in (50, 90, 100)}))
    assert reply.findings.memory is None or reply.findings.memory.loaded is None


def test_programs_stand_on_the_curve_by_their_bytes(tmp_path):
    parameters = {"class": "S"}
    moved = find_kernel("npb.mg").work(
        {p.name: p.default for p in find_kernel("npb.mg").parameters} | parameters, 8, 1
    )["traffic"]
    programs = []
    for rate, name in ((190e9, "npb.mg"),):
        behaviour = Behaviour(time=moved / rate, max_batch=1, noise=NOISE)
        programs += measured(tmp_path, Scenario(kernel=(behaviour,)), name,
                             placement=Placement(ppn=8), **parameters)  # fmt: skip
    reply, _ = replied(curve(tmp_path), programs)
    (standing,) = reply.findings.memory.loaded.programs
    assert standing.traffic == pytest.approx(190e9, rel=0.01)
    assert standing.latency == pytest.approx(300e-9, rel=0.03)  # between 200 and 400 ns
    assert standing.beyond_knee is True
    (row,) = [row for row in reply.answer.evidence if row.label.startswith("Memory traffic of")]
    assert "beyond the knee" in row.note
    assert any("beyond the knee" in advice for advice in reply.answer.advice)


def test_a_matrix_of_numa_nodes_is_drawn_with_its_planted_bandwidths(tmp_path):
    found = []
    for near in range(4):
        for far in range(4):
            hops = 0 if near == far else 1 if near // 2 == far // 2 else 2
            rate = (50e9, 30e9, 20e9)[hops]
            work = find_kernel("memory.stream").work({"op": "triad", "elements": 10**7}, 4, 1)
            behaviour = Behaviour(time=work["bytes"] / rate, noise=NOISE, max_batch=1,
                                  resolved={"elements": 10**7})  # fmt: skip
            found += measured(tmp_path, Scenario(kernel=(behaviour,), domains=4, cores=16),
                              "memory.stream", memory_node=far,
                              placement=Placement(ppn=4, binding=f"numa:{near}"))  # fmt: skip
    reply, figures = replied(found)
    figure = figures["numa-bandwidth"]
    drawn = {(row["cores"], row["memory"]): row["bandwidth"] for row in figure.rows}
    assert len(drawn) == 16
    assert drawn["node 1", "node 1"] == pytest.approx(50e9, rel=0.01)
    assert drawn["node 0", "node 1"] == pytest.approx(30e9, rel=0.01)
    assert drawn["node 3", "node 0"] == pytest.approx(20e9, rel=0.01)
    assert "4 NUMA nodes of cores and 4 of memory" in figure.alt
    ratio = reply.findings.memory.access.numa["memory.stream"].ratio
    assert ratio.value == pytest.approx(0.4, rel=0.01)


def streams(tmp_path, **rates):
    """STREAM on 4 ranks by requested stores; "auto" resolves to non-temporal stores."""
    found = []
    for stores, rate in rates.items():
        work = find_kernel("memory.stream").work({"op": "triad", "elements": 10**7}, 4, 1)
        behaviour = Behaviour(time=work["bytes"] / rate, noise=NOISE, max_batch=1,
                              resolved={"elements": 10**7, "stores": "nontemporal"})  # fmt: skip
        found.append(measured(tmp_path, Scenario(kernel=(behaviour,)), "memory.stream",
                              stores=stores, placement=Placement(ppn=4)))  # fmt: skip
    return replied(*found)[0]


def test_non_temporal_stores_are_set_against_ordinary_ones(tmp_path):
    reply = streams(tmp_path, auto=80e9, ordinary=60e9)
    bandwidth = reply.findings.memory.bandwidth
    assert bandwidth.nontemporal.value == pytest.approx(4 / 3, rel=0.01)
    assert bandwidth.headline.metric.median == pytest.approx(80e9, rel=0.01)
    assert any("1.33 times that with non-temporal stores" in a for a in reply.answer.advice)
    reply = streams(tmp_path, auto=80e9, ordinary=79e9)
    assert not any("non-temporal" in advice for advice in reply.answer.advice)
    assert streams(tmp_path, auto=80e9).findings.memory.bandwidth.nontemporal is None


def test_named_stores_are_no_second_chance_for_the_headline(tmp_path):
    found = streams(tmp_path, auto=80e9, nontemporal=90e9, ordinary=60e9).findings
    assert found.memory.bandwidth.headline.metric.median == pytest.approx(80e9, rel=0.01)
    assert found.memory.bandwidth.headline.among == 1
