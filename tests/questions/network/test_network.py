"""The network's answer: planted messages appear in its verdict, evidence and advice."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import msgspec
import pytest

import prepared_assay
from asking import answer_all, figures_of, reply_to
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.parts import Part
from assay.questions.common.question import Measured, Topic
from assay.questions.common.topics import TopicQuestion
from assay.questions.network import answer as network
from assay.questions.network.findings import find
from assay.questions.network.messages.message_limits import published_text
from assay.questions.network.messages.sweeps import sweeps
from assay.questions.network.messages.topic import TOPIC as MESSAGES
from assay.records.schema import RankRecord
from assay.system.model import Adapter
from report_builder import (
    SYSTEM,
    make_cell,
    make_failure,
    make_measurement,
    make_metric,
    make_run,
    make_summary,
    quick_cells,
)

POWERS = [0, *(1 << power for power in range(23))]


def eager_and_rendezvous(size):
    return 1e-6 + size / 5e9 if size < 16384 else 3e-6 + size / 10e9


def cells_of(time, sizes=POWERS, *, nodes=1, toolchain="embedded", adapter=None, **parameters):
    placement = Placement(nodes=nodes, ppn=2 // nodes, adapter=adapter)
    return [
        make_summary(
            Cell("network.pingpong", {"bytes": size, **parameters}, placement, toolchain),
            time(size),
        )
        for size in sizes
    ]


def answer(cells, **options):
    return reply_to("network", cells, make_run(cells, **options)).answer


def rows(found):
    return {row.label: row for row in found.evidence}


def adapters(*fitted):
    return msgspec.structs.replace(SYSTEM, adapters=list(fitted)).to_dict()


# --- What counts as an answer ---


def test_planted_values_are_in_the_verdict():
    truth = eager_and_rendezvous
    found = answer(cells_of(lambda s: truth(s) * (1.3 if s == 131072 else 1)))
    assert found.verdict == (
        "Within a node a message of 0 B takes 1.000 µs [0.994, 1.006] and bandwidth at 4 MiB is "
        "9.93 GB/s [9.86, 9.99]; half of the bandwidth is reached at 29.3 KiB; the protocol "
        "changes at 16 KiB; bandwidth dips by 23% at 128 KiB."
    )
    assert found.confidence == "low"  # eight launches
    assert found.status == "answered"


def test_one_size_alone_stays_context():
    found = answer(cells_of(eager_and_rendezvous, [8]))
    assert found.status == "unmeasured"
    assert "except for ping-pong within one node, which" in found.verdict
    assert answer(cells_of(eager_and_rendezvous, [8, 64, 512])).status == "answered"
    assert answer([make_summary(make_cell("compute.dgemm", n=100), 1e9)]).status == "unmeasured"


def test_it_is_the_second_of_the_five_answers():
    cells = quick_cells()
    speed, found, *_ = answer_all(make_run(cells), cells)
    assert (speed.question, found.question) == ("speed", "network")
    assert found.status == "answered"
    # Values shown here are not repeated.
    assert "Barrier, 2 ranks" in rows(found) and "Latency within a node, 0 B" in rows(found)
    assert not [label for label in rows(speed) if "Ping-pong" in label or "Barrier" in label]


def test_a_run_of_messages_alone_says_nothing_of_speed():
    cells = cells_of(eager_and_rendezvous)
    assert answer_all(make_run(cells), cells)[0].status == "unmeasured"
    one = cells_of(eager_and_rendezvous, [8])
    assert answer_all(make_run(one), one)[0].status == "answered"


def test_other_parts_are_combined():
    part = Part(
        remark="eight pairs at once get half each", advice=["Send less."], limits=["Rings."]
    )
    one = Topic("concurrency", find=lambda measured: None, part=lambda found: part)
    none = Topic("fabric", find=lambda measured: None, part=lambda found: None)
    question = TopicQuestion(
        name="network",
        topics=(MESSAGES, one, none),
        find=find,
        verdict=network.verdict,
        unmeasured=network.unmeasured,
        arranged=network.arranged,
    )

    def answer(cells):
        found = find(Measured(make_run(cells), cells))
        return question.answer(replace(found, concurrency=object(), fabric=object()))

    found = answer(cells_of(eager_and_rendezvous))
    assert found.verdict.endswith("16 KiB; eight pairs at once get half each.")
    assert "Send less." in found.advice and "Rings." in found.limits
    # A part is an answer of its own; a single size of ping-pong is then part of the answer.
    alone = answer(cells_of(eager_and_rendezvous, [8]))
    assert alone.status == "answered"
    assert "8 B" in alone.verdict and "eight pairs" in alone.verdict


def test_failed_cells_of_the_family_lower_the_confidence():
    cells = cells_of(eager_and_rendezvous)
    broken = make_failure(make_cell("network.barrier", ppn=2), "no such rank")
    found = answer([*cells, broken])
    assert found.confidence == "low"
    assert "network.barrier: no such rank" in found.caveats
    assert found.advice[0].startswith("Measure again")


# --- The model's evidence and advice ---


def test_the_model_is_evidence():
    found = rows(answer(cells_of(eager_and_rendezvous)))
    assert found["L + 2o within a node, 0 B to 8 KiB"].value == pytest.approx(1e-6)
    assert found["L + 2o within a node, 16 KiB to 4 MiB"].value == pytest.approx(3e-6)
    assert found["Asymptotic bandwidth within a node"].value == pytest.approx(10e9)
    assert found["n½ within a node"].value == pytest.approx(3e-6 * 10e9)
    threshold = found["Protocol change within a node"]
    assert (threshold.value, threshold.ci95) == (16384, (8192, 16384))


def test_a_dip_is_evidence_against_the_expectation_from_its_neighbours():
    found = answer(cells_of(lambda s: (1e-6 + s / 10e9) * (1.3 if s == 131072 else 1)))
    dip = rows(found)["Dip within a node at 128 KiB"]
    assert dip.share == pytest.approx(1 / 1.3)
    assert dip.value == pytest.approx(dip.share * dip.limit)
    (sentence,) = [text for text in found.advice if text.startswith("Avoid")]
    assert "128 KiB" in sentence and "64 KiB and 256 KiB" in sentence


def test_intervals_of_the_model_are_across_launches():
    cells = cells_of(eager_and_rendezvous)
    measurements = []
    for launch, factor in enumerate((0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03)):
        for cell in cells:
            time = eager_and_rendezvous(cell.parameters["bytes"]) * factor
            measurements.append(make_measurement(cell.cell, [time] * 5, launch))
    row = rows(answer(cells, measurements=measurements))["Asymptotic bandwidth within a node"]
    low, high = row.ci95
    # Of seven launches the 95% interval of the median is a little less than their range.
    assert 10e9 / 1.03 < low < 10e9 / 1.02 < 10e9 < 10e9 / 0.98 < high < 10e9 / 0.97


@pytest.mark.parametrize(
    ("flavour", "nodes", "variable"),
    [
        ("mpich", 1, "UCX_RNDV_THRESH (MPICH over UCX)"),
        ("openmpi", 1, "OMPI_MCA_btl_sm_eager_limit"),
        ("openmpi", 2, "OMPI_MCA_btl_tcp_eager_limit"),
        ("other", 1, "manual"),
    ],
)
def test_the_library_s_variable_is_named(flavour, nodes, variable):
    found = answer(
        cells_of(eager_and_rendezvous, nodes=nodes),
        toolchains={"embedded": {"mpi_flavour": flavour}},
    )
    (sentence,) = [text for text in found.advice if "protocol" in text]
    assert variable in sentence and "between 8 KiB and" in sentence


def test_g_comes_from_a_message_rate_alone():
    cells = cells_of(eager_and_rendezvous)
    assert any("can't separate o and g from L" in sentence for sentence in answer(cells).limits)
    windowed = cells_of(eager_and_rendezvous, [8], mode="nonblocking", window=64)
    windowed = [
        msgspec.structs.replace(cell, metrics={"rate": make_metric(4e6, "1/s")})
        for cell in windowed
    ]
    found = answer([*cells, *windowed])
    assert "mode" not in found.verdict
    gap = rows(found)["Gap g between messages of 8 B"]
    assert gap.value == pytest.approx(1 / 4e6)
    assert gap.ci95[0] < gap.value < gap.ci95[1]
    assert not any("can't separate o and g from L" in sentence for sentence in found.limits)


def test_other_ways_of_sending_are_evidence_and_not_the_verdict():
    plain = cells_of(eager_and_rendezvous)
    posted = cells_of(lambda s: 0.8 * eager_and_rendezvous(s), mode="preposted")
    both = cells_of(lambda s: s / 16e9, [65536, 1 << 20, 1 << 22], direction="bidirectional")
    both = [
        msgspec.structs.replace(cell, metrics={"bandwidth": cell.metrics["bandwidth"]})
        for cell in both
    ]
    found = answer([*both, *posted, *plain])
    assert found.verdict == answer(plain).verdict
    row = rows(found)["Latency within a node at 0 B, mode=preposted / the blocking ping-pong"]
    assert row.value == pytest.approx(0.8)
    wide = next(row for row in found.evidence if "bidirectional" in row.note)
    assert wide.value == pytest.approx(16e9)
    run = make_run([*both, *posted, *plain])
    latency, bandwidth = figures_of("network", [*both, *posted, *plain], run)
    assert not any("bidirectional" in row["placement"] for row in latency.rows)
    assert any("bidirectional" in row["placement"] for row in bandwidth.rows)
    # A latency comes first, however wide the other interval is.
    assert "a message of 0 B takes 800 ns" in answer([*both, *posted]).verdict


# --- Where the ranks are, and what limits them ---


def placed(cells, hosts, cpus=(0, 1)):
    ranks = tuple(
        RankRecord(n, host, 100 + n, 0, [cpu], 0, True, False)
        for n, (host, cpu) in enumerate(zip(hosts, cpus, strict=True))
    )
    return [replace(make_measurement(cell.cell, []), ranks=ranks) for cell in cells]


def test_the_reach_is_what_the_rank_records_say():
    cells = cells_of(eager_and_rendezvous)
    threads = msgspec.structs.replace(SYSTEM.processor, siblings=[[0, 1], [2, 3]])
    system = msgspec.structs.replace(SYSTEM, processor=threads).to_dict()

    def reach(measurements):
        run = make_run(cells, measurements=measurements, system=system)
        return {sweep.reach for sweep in sweeps(cells, run)}

    assert reach(placed(cells, ("a", "b"))) == {"between nodes"}
    assert reach(placed(cells, ("a", "a"), (0, 1))) == {"within a core"}
    assert reach(placed(cells, ("a", "a"), (0, 2))) == {"within a node"}
    assert reach([]) == {"within a node"}


def test_between_nodes_comes_first_and_is_set_against_the_link():
    between = cells_of(lambda s: 24e-6 + s / 118e6, nodes=2)
    within = cells_of(eager_and_rendezvous)
    gigabit = Adapter(name="eth0", kind="ethernet", speed=125e6, state="up", physical=True)
    others = (
        Adapter(name="lo", kind="loopback", speed=9e9, state="up", physical=False),
        Adapter(name="br0", kind="virtual", speed=9e9, state="up", physical=False),
        Adapter(name="eth1", kind="ethernet", speed=9e9, state="down", physical=True),
    )
    found = answer([*within, *between], system=adapters(gigabit, *others))
    assert found.verdict.startswith("Between nodes a message of 0 B takes 24.0 µs")
    assert "94% of eth0's link speed" in found.verdict
    assert "within a node a message of 0 B takes 1.000 µs" in found.verdict
    row = rows(found)["Bandwidth between nodes, 4 MiB"]
    assert row.limit == 125e6
    assert row.share == pytest.approx(4194304 / (24e-6 + 4194304 / 118e6) / 125e6)
    assert published_text() in found.published
    assert published_text() not in found.limits
    assert not any("reach only" in sentence for sentence in found.advice)


def test_on_virtual_links_only_long_messages_are_set_against_the_limit():
    """A token bucket of 100 Mbit/s passes the first frames of a message at once."""

    def shaped(size):
        return 10e-6 + max(size - 3200, 0) / 11.9e6

    veth = Adapter(name="eth0", kind="virtual", speed=12.5e6, state="up", physical=False)
    lo = Adapter(name="lo", kind="loopback", speed=9e9, state="up", physical=False)
    assert 4096 / shaped(4096) > 3 * veth.speed
    found = answer(cells_of(shaped, nodes=2), system=adapters(lo, veth))
    row = rows(found)["Bandwidth between nodes, 64 KiB"]
    assert row.limit == veth.speed and row.share < 1.0


def test_a_bus_slower_than_the_link_is_the_limit():
    """Barczak, Messom & Johnson (2003), table 1: the bus, not the link, bounds the bandwidth."""
    cells = cells_of(lambda s: 24e-6 + s / 1.9e9, nodes=2)
    bus = {"bus": 1.969e9, "bus_width": 2, "bus_rate": 8e9}
    fast = Adapter(name="eth0", kind="ethernet", speed=12.5e9, state="up", physical=True, **bus)
    row = rows(answer(cells, system=adapters(fast)))["Bandwidth between nodes, 4 MiB"]
    assert row.limit == 1.969e9
    assert row.limit_source is not None and "2 lanes at 8 GT/s" in row.limit_source
    wide = msgspec.structs.replace(fast, bus=15.8e9)
    row = rows(answer(cells, system=adapters(wide)))["Bandwidth between nodes, 4 MiB"]
    assert row.limit == 12.5e9


def test_half_of_the_link_s_speed_brings_advice():
    cells = cells_of(lambda s: 24e-6 + s / 59e6, nodes=2)
    system = adapters(Adapter(name="eth0", kind="ethernet", speed=125e6, state="up"))
    (sentence,) = [s for s in answer(cells, system=system).advice if "reach only" in s]
    assert "47.2%" in sentence and "eth0's link speed" in sentence


def test_the_named_adapter_is_the_limit_and_an_unknown_one_is_none():
    two = adapters(
        Adapter(name="eth0", kind="ethernet", speed=125e6, state="up"),
        Adapter(name="mlx5_0:1", kind="infiniband", speed=12.5e9, state="active"),
    )
    for adapter, limit in (("eth0", 125e6), ("mlx5_0", 12.5e9), ("eth7", None), (None, 12.5e9)):
        cells = cells_of(lambda s: 24e-6 + s / 118e6, nodes=2, adapter=adapter)
        row = rows(answer(cells, system=two))["Bandwidth between nodes, 4 MiB"]
        assert row.limit == limit
        if adapter is None:
            assert "is unknown" in row.limit_source


def test_within_a_node_copying_is_the_limit():
    stream = make_summary(make_cell("memory.stream", op="copy"), 24e9, elements=1000)
    found = answer([*cells_of(eager_and_rendezvous), stream])
    row = rows(found)["Bandwidth within a node, 4 MiB"]
    assert row.limit == 12e9
    assert "83% of the bandwidth of one copy through memory" in found.verdict
    faster = make_summary(make_cell("memory.stream", op="copy"), 12e9, elements=1000)
    # From cache to cache: no share of memory's.
    assert "copy" not in answer([*cells_of(eager_and_rendezvous), faster]).verdict


# --- Comparisons ---


def test_gigabit_against_fast_ethernet():
    """The times of Barczak, Messom & Johnson (2003), 3.2: 6.7 times as long at 65 KB."""
    gigabit = cells_of(lambda s: 35e-6 + s / 73.75e6, nodes=2, adapter="eth0")
    fast = cells_of(lambda s: 47e-6 + s / 10.875e6, nodes=2, adapter="eth1")
    found = answer([*fast, *gigabit])
    short = rows(found)["Latency between nodes at 0 B, eth1 / eth0"]
    long = rows(found)["Time between nodes at 4 MiB, eth1 / eth0"]
    assert short.value == pytest.approx(47 / 35)
    assert long.value == pytest.approx(73.75 / 10.875, rel=0.01)
    assert long.ci95[0] < long.value < long.ci95[1]
    assert "eth1 takes 6.7" in found.verdict and "the time of eth0 for 4 MiB" in found.verdict


def test_toolchains_are_distinguished_by_their_names():
    one = cells_of(eager_and_rendezvous)
    other = cells_of(lambda s: 2 * eager_and_rendezvous(s), toolchain="site")
    found = answer([*other, *one])
    assert rows(found)["Latency within a node at 0 B, site / embedded"].value == pytest.approx(2)
    assert "site takes 2.0" in found.verdict
    alike = answer([*one, *cells_of(eager_and_rendezvous, toolchain="site")])
    assert "takes 1." not in alike.verdict.replace("takes 1.000 µs", "")


# --- Findings ---


def test_findings_are_plain_json_with_the_planted_numbers():
    truth = eager_and_rendezvous
    cells = cells_of(lambda s: truth(s) * (1.3 if s == 131072 else 1))
    cells += cells_of(lambda s: 2 * truth(s), toolchain="site")
    found = findings_json(find(Measured(make_run(cells), cells)))
    assert json.loads(json.dumps(found)) == found
    assert (found["concurrency"], found["collectives"], found["fabric"]) == (None, None, None)
    (within,) = found["messages"]["reaches"]
    model = within["lead"]["model"]
    assert model["bandwidth"]["value"] == pytest.approx(10e9)
    assert model["half_size"]["value"] == pytest.approx(30e3)
    assert [change["at"] for change in model["changes"]] == [16384]
    (dip,) = model["dips"]
    assert (dip["bytes"], dip["depth"]) == (131072, pytest.approx(1 - 1 / 1.3))
    assert within["lead"]["points"][0] == {"cell": cells[0].id, "metric": "latency"}
    assert within["limit"] is None
    (other,) = within["others"]
    assert (other["name"], other["lead_name"]) == ("site", "embedded")
    assert other["largest"]["value"] == pytest.approx(2)


def test_a_report_fits_each_sweep_once(monkeypatch):
    from assay.models.network import loggp

    fitted = []

    def fit(sweep, real=loggp.fit):
        fitted.append(sweep)
        return real(sweep)

    monkeypatch.setattr(loggp, "fit", fit)
    cells = [*cells_of(eager_and_rendezvous), *cells_of(eager_and_rendezvous, toolchain="site")]
    reply = reply_to("network", cells, make_run(cells))
    assert len(reply.figures()) == 2 and reply.tables() == []
    assert len(fitted) == 2


# --- Figures ---


def test_the_figures_show_lines_thresholds_and_dips():
    truth = eager_and_rendezvous
    cells = cells_of(lambda s: truth(s) * (1.3 if s == 131072 else 1))
    run = make_run(cells)
    latency, bandwidth = figures_of("network", cells, run)
    assert (latency.id, bandwidth.id) == ("latency", "bandwidth")
    assert "latency" not in {figure.id for figure in figures_of("speed", cells, run)}
    by_size = {row["bytes"]: row for row in latency.rows}
    assert by_size[1024]["model"] == pytest.approx(truth(1024))
    assert by_size[131072]["model"] == pytest.approx(truth(131072))
    assert [row["bytes"] for row in latency.rows if row["dip"] is not None] == [131072]
    (threshold,) = [row["threshold"] for row in latency.rows if row["threshold"] is not None]
    assert 8192 < threshold < 16384
    assert [row["piece"] for row in latency.rows] == [1 if s < 16384 else 2 for s in POWERS]
    rates = {row["bytes"]: row for row in bandwidth.rows}
    assert 0 not in rates
    assert rates[1024]["model"] == pytest.approx(1024 / truth(1024))
    assert "time steps at 16 KiB; bandwidth dips at 128 KiB" in latency.alt


# --- From the plan to the report ---

PLAN = """
schema = 1
seed = 5
[replication]
precision = "1%"
budget = "1000 s"
max_launches = 8
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = { from = 0, to = "4 MiB", steps = "powers of 2" }
"""
SCENARIO = """
schema = 1
seed = 3
clock_resolution = "1 ns"
[[kernel]]
match = "network.pingpong"
time = "(latency + bytes / slow) * (bytes < threshold) + \
(handshake + bytes / fast) * (bytes >= threshold) * (1 + 0.3 * (bytes == 131072))"
constants = { latency = "1 us", handshake = "3 us", slow = "5 GB/s", fast = "10 GB/s", \
threshold = "16 KiB" }
noise = { sigma = 0.01, launch_sigma = 0.002 }
"""


def test_the_report_shows_what_was_planted(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "machine.toml").write_text(SCENARIO)
    words = ["run", "plan.toml", "--fake", "machine.toml", "--no-report", "--json"]
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = prepared_assay.run(
        [sys.executable, "-m", "assay", "report", "--json"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert report.returncode == 0, report.stderr
    section = json.loads(report.stdout)["sections"][0]
    assert section["id"] == "network"
    assert section["status"] == "answered"
    assert "the protocol changes at 16 KiB" in section["verdict"]
    assert re.search(r"bandwidth dips by 2[234]% at 128 KiB", section["verdict"])
    found = {row["label"]: row for row in section["evidence"]}
    planted = {
        "L + 2o within a node, 0 B to 8 KiB": 1e-6,
        "L + 2o within a node, 16 KiB to 4 MiB": 3e-6,
        "Asymptotic bandwidth within a node": 10e9,
        "n½ within a node": 30e3,
    }
    for label, truth in planted.items():
        low, high = found[label]["ci95"]
        # Nearly always within the interval; five times its half-width cannot be by chance.
        assert abs(found[label]["value"] - truth) < 2.5 * (high - low)
        assert (high - low) / truth < 0.05
    assert [figure["id"] for figure in section["figures"]] == ["latency", "bandwidth"]
