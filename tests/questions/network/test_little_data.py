"""Little data: nothing is fitted or advised, and one sentence says what is missing."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace

import msgspec
import numpy as np
import pytest

import prepared_assay
from asking import reply_to
from assay.charts.marks import Row
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.network.minimum import (
    DIPS,
    GROWTH,
    LAUNCHES,
    LOGGP,
    PROTOCOL_CHANGES,
    MinimumData,
)
from assay.questions.common.confidence import AGAIN
from assay.questions.common.figure_rows import intervals_text
from assay.questions.common.findings import findings_json
from assay.questions.network.missing import shortage
from assay.stats.core.model import CellSummary
from assay.system.model import Adapter
from report_builder import (
    SYSTEM,
    make_cell,
    make_failure,
    make_measurement,
    make_metric,
    make_run,
    make_summary,
)

POWERS = [0, *(1 << power for power in range(23))]
PLAN = {"min_launches": 1, "max_launches": 1}


def make(kernel, parameters, placement):
    return Cell(kernel, parameters, placement, "embedded")


def pingpong(size, seconds, n, nodes=2):
    placement = Placement(nodes=nodes, ppn=2 // nodes)
    return make_summary(make("network.pingpong", {"bytes": size}, placement), seconds, n=n)


def summary(cell, seconds, rates, n):
    """A cell with a time and bandwidths."""
    metrics = {name: make_metric(rate, "B/s", n=n) for name, rate in rates.items()}
    metrics["time"] = make_metric(seconds, "s", better="less", n=n)
    return CellSummary(
        cell.kernel, cell.id, cell, "ok", True, dict(cell.parameters), metrics, [], None
    )


def disturbed(size):
    """One sample of one launch of a 125 MB/s link: some sizes took up to 200 times as long."""
    draw = np.random.default_rng(size + 1)
    factor = 200.0 if size == 32 else np.exp(draw.exponential(1.0))
    return (50e-6 + size / 125e6 + 30e-6 * (size >= 8192)) * factor


def everything(n):
    """Cells of every topic, with ``n`` launches each."""
    cells = [pingpong(size, disturbed(size), n) for size in POWERS]
    cells += [pingpong(size, 1e-6 + size / 1e9, n, nodes=1) for size in POWERS]
    eight = Placement(nodes=2, ppn=4)
    for op, order, timing, seconds in (
        ("allreduce", "block", "appointed", 1e-5),
        ("allreduce", "cyclic", "appointed", 3e-5),
        ("allreduce", "block", "barrier", 2e-5),
    ):
        placement = Placement(nodes=2, ppn=4, order=order)
        parameters = {"op": op, "bytes": 8, "root": 0, "timing": timing}
        cells.append(make_summary(make("network.collective", parameters, placement), seconds, n=n))
    for nodes in (2, 4, 8, 16):
        parameters = {"op": "bcast", "bytes": 8, "root": 0, "timing": "appointed"}
        cell = make("network.collective", parameters, Placement(nodes=nodes, ppn=1))
        cells.append(make_summary(cell, 1e-6 * nodes, n=n))
    for senders in (1, 4):
        cell = make("network.concurrent", {"bytes": 1 << 20, "senders": senders}, eight)
        rates = {"bandwidth_each": 1e9 / senders, "bandwidth": 1e9}
        cells.append(summary(cell, 1e-3 * senders, rates, n))
    cell = make("network.multi_pingpong", {"bytes": 4096, "pairing": "halves"}, eight)
    cells.append(summary(cell, 1e-2, {"min_bandwidth": 4e5, "max_bandwidth": 4e5}, n))
    for active in (0, 1):
        parameters = {"bytes": 1 << 20, "cut": "worst", "pairs": active}
        rates = {"bandwidth": 2e8 if active else 4e8}
        cells.append(summary(make("network.bisection", parameters, eight), 1e-2, rates, n))
    return cells


def run_of(cells, command=("assay", "run", "network", "--launches", "1"), **rule):
    system = msgspec.structs.replace(
        SYSTEM, adapters=[Adapter(name="eth0", kind="ethernet", speed=125e6, state="up")]
    )
    run = make_run(cells, system=system.to_dict(), command=command)
    plan = run.manifest.plan
    plan = msgspec.structs.replace(
        plan, replication=msgspec.structs.replace(plan.replication, **{**PLAN, **rule})
    )
    return replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))


def answer(cells, **options):
    return reply_to("network", cells, run_of(cells, **options)).answer


# --- One launch ---


@pytest.mark.parametrize("n", [1, LAUNCHES - 1])
def test_too_few_launches_fit_and_advise_nothing_and_one_sentence_says_so(n):
    found = answer(everything(n))
    assert found.status == "answered" and found.confidence == "low"
    (only,) = found.advice
    launches = "1 launch" if n == 1 else f"{n} launches"
    assert only == (
        "Too few data for LogGP, n½, protocol changes, dips of bandwidth, shares of a single "
        "pair's bandwidth, slowdown of concurrent senders, growth with ranks, rank orders and "
        f"timing after a barrier ({launches}, 6 needed): measure with "
        "`assay run network --launches 6`."
    )
    labels = " ".join(row.label for row in found.evidence)
    for word in ("L + 2o", "n½", "Asymptotic", "Protocol change", "Dip"):
        assert word not in labels
    assert all(row.ci95 is None for row in found.evidence)
    # No statement that needs an interval.
    reported = " ".join([found.verdict, *found.method, *found.limits, *found.caveats])
    said_with_intervals = ("within the intervals", "exceeds the intervals", "contention")
    for words in (*said_with_intervals, "of a single pair"):
        assert words not in reported
    assert "grows with" not in " ".join(row.note for row in found.evidence)


def test_enough_launches_are_fitted_and_lack_nothing():
    found = answer(everything(8))
    assert not any("Too few data" in sentence for sentence in found.advice)
    labels = {row.label for row in found.evidence}
    assert "L + 2o within a node, 0 B to 4 MiB" in labels and "n½ within a node" in labels
    assert any("as long in cyclic as in block order" in sentence for sentence in found.advice)
    assert any("0 of 1 case" in sentence for sentence in found.method)
    notes = {row.label: row.note for row in found.evidence}
    assert notes["bcast of 8 B, 2 → 16 ranks"] == "grows with the number of ranks"


def test_figures_of_one_launch_promise_neither_intervals_nor_lines():
    cells = everything(1)
    figures = reply_to("network", cells, run_of(cells)).figures()
    assert len(figures) >= 4
    for figure in figures:
        assert "No 95% intervals: too few launches." in figure.caption
        for words in ("band is", "whiskers are", "LogGP", "Dashed: where the protocol"):
            assert words not in figure.caption


def test_the_findings_say_what_is_missing_and_are_plain_json():
    cells = everything(1)
    reply = reply_to("network", cells, run_of(cells))
    plain = json.loads(json.dumps(findings_json(reply.findings)))
    lack = plain["shortage"]["missing"][0]
    assert (lack["method"], lack["launches"], lack["least_launches"]) == ("LogGP", 1, 6)
    assert plain["shortage"]["command"] == "assay run network --launches 6"
    assert plain["messages"]["reaches"][0]["lead"]["model"] is None
    enough = everything(8)
    assert reply_to("network", enough, run_of(enough)).findings.shortage is None


def test_a_failed_cell_keeps_the_general_advice():
    cells = [*everything(1), make_failure(make_cell("network.barrier", ppn=2))]
    assert answer(cells).advice[1:] == [AGAIN]


# --- Few sizes ---


def test_few_sizes_are_no_sweep_and_the_suite_brings_more():
    cells = [pingpong(size, 1e-6 + size / 1e9, 8) for size in (8, 64, 512)]
    (only,) = answer(cells).advice
    assert "LogGP and n½ (3 message sizes, 5 needed)" in only
    assert "protocol changes and dips of bandwidth (3 message sizes, 8 needed)" in only
    assert only.endswith("`assay run network`.")
    near = [pingpong(size, 1e-6 + size / 1e9, 8) for size in range(1000, 2000, 100)]
    (only,) = answer(near).advice
    assert "message sizes over a factor of 1.9, 64 needed" in only


def test_a_line_needs_fewer_sizes_than_a_change_of_protocol():
    """Six sizes show a line; a step among them would be reported as a dip."""
    sizes = (64, 512, 4096, 32768, 1 << 18, 1 << 21)
    cells = [pingpong(s, (1e-6 + s / 1e9) * (2 if s == 32768 else 1), 8, nodes=1) for s in sizes]
    found = answer(cells)
    labels = [row.label for row in found.evidence]
    assert not any("Dip" in label or "Protocol" in label for label in labels)
    assert any("protocol changes and dips of bandwidth (6" in sentence for sentence in found.advice)


def test_sizes_with_too_few_launches_do_not_enter_the_fit():
    cells = [pingpong(size, 1e-6 + size / 1e9, 8, nodes=1) for size in POWERS]
    cells += [pingpong(3 * 4096, 1.0, 2, nodes=1)]  # one second, twice
    found = answer(cells)
    rows = {row.label: row for row in found.evidence}
    assert rows["Asymptotic bandwidth within a node"].value == pytest.approx(1e9)
    assert not any("Too few data" in sentence for sentence in found.advice)


# --- What is enough ---


def test_missing_data_are_counted_over_the_points_that_have_enough_launches():
    sizes = [1 << k for k in range(10)]
    assert LOGGP.missing(dict.fromkeys(sizes, 6)) is None
    assert LOGGP.missing({**dict.fromkeys(sizes, 6), 3: 1}) is None
    lack = LOGGP.missing(dict.fromkeys(sizes, 5))
    assert (lack.launches, lack.points, lack.span) == (5, 10, 512)
    assert lack.lacks_launches and not lack.lacks_points
    lack = LOGGP.missing(dict.fromkeys(sizes[:4], 6))
    assert lack.lacks_points and not lack.lacks_launches
    lack = LOGGP.missing({0: 6, 1: 6, 2: 6, 4: 6, 8: 6, 16: 6})
    assert lack.lacks_points and lack.span == 16
    # Enough sizes, but only some of them often enough.
    lack = LOGGP.missing({size: 6 if size < 8 else 2 for size in sizes})
    assert lack.launches == 2 and lack.lacks_launches
    assert LOGGP.missing({}).launches == 0


def test_each_minimum_allows_its_method_an_interval_and_a_test():
    for method in (LOGGP, PROTOCOL_CHANGES, DIPS, GROWTH):
        assert method.launches == LAUNCHES == 6
    assert PROTOCOL_CHANGES.points > LOGGP.points and DIPS.points == PROTOCOL_CHANGES.points


# --- The command ---


def lacking(launches):
    method = MinimumData("LogGP", 6, 1, "message size")
    return [method.missing({8: launches})]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["assay", "run", "network", "--launches", "1"], "assay run network --launches 6"),
        (
            ["assay", "run", "network", "--seed=3", "--lab", "two", "--json", "--budget", "9 s"],
            "assay run network --lab two --launches 6",
        ),
        (["__main__.py", "run", "my plan.toml"], "assay run 'my plan.toml' --launches 6"),
        (["assay", "run", "--resume", "x"], "assay run network --launches 6"),
        ([], "assay run network --launches 6"),
    ],
)
def test_the_command_is_the_run_s_own_with_enough_launches(command, expected):
    assert shortage(lacking(1), run_of([], command=command)).command == expected


def test_a_run_that_planned_enough_launches_needs_more_time():
    run = run_of([], command=["assay", "run", "network"], min_launches=6, max_launches=20)
    rule = msgspec.structs.replace(run.manifest.plan.replication, budget=230.0)
    plan = msgspec.structs.replace(run.manifest.plan, replication=rule)
    run = replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
    # 230 s · 1.2 · 6 / 2, in whole minutes.
    assert shortage(lacking(2), run).command == "assay run network --budget '14 min'"
    assert shortage([], run) is None


# --- Captions ---


def rows_with(*lows) -> list[Row]:
    return [{"median": 1.0, "low": low} for low in lows]


def test_a_caption_describes_the_intervals_that_are_drawn():
    assert intervals_text(rows_with(None, None), "band") == "No 95% intervals: too few launches."
    assert intervals_text(rows_with(0.9, 0.9), "band") == "The band is the 95% interval."
    assert (
        intervals_text(rows_with(0.9, None), "whiskers")
        == "The whiskers are 95% intervals, where there are enough launches."
    )


# --- Bandwidths that the link permits ---


def launches_of(rate, spread):
    """Cells of a sweep between nodes, with the measurements of seven launches."""
    cells = [pingpong(size, 50e-6 + size / rate, 8) for size in POWERS]
    measurements = [
        make_measurement(
            cell.cell, [(50e-6 + cell.parameters["bytes"] / rate) * (1 + spread * k / 3)] * 5, k
        )
        for k in range(-3, 4)
        for cell in cells
    ]
    return cells, measurements


@pytest.mark.parametrize(
    ("rate", "spread", "expected"),
    [
        (118e6, 0.01, "within"),
        (124e6, 0.03, "ends at the link"),
        (150e6, 0.03, "none"),
    ],
)
def test_no_asymptotic_bandwidth_exceeds_the_only_link(rate, spread, expected):
    cells, measurements = launches_of(rate, spread)
    run = replace(run_of(cells), measurements=measurements)
    found = reply_to("network", cells, run).answer
    row = {row.label: row for row in found.evidence}.get("Asymptotic bandwidth between nodes")
    if expected == "none":
        assert row is None
        assert any("above eth0's link speed" in sentence for sentence in found.limits)
        assert any("faster than eth0's link speed" in sentence for sentence in found.caveats)
        return
    assert row.value == pytest.approx(rate, rel=0.01)
    assert row.ci95[0] < rate < row.ci95[1] <= 125e6
    assert (row.ci95[1] == 125e6) == (expected == "ends at the link")


# --- From the command line ---

SCENARIO = """
schema = 1
seed = 7
cores = 2
nodes = 2
[[kernel]]
match = "network.pingpong"
time = "50e-6 + bytes / 125e6 + 3e-5 * (bytes >= 8192)"
noise = { sigma = 0.3, launch_sigma = 0.3, outliers = 0.2, outlier_factor = 50 }
"""


@pytest.mark.long
def test_the_command_of_the_sentence_brings_what_was_missing(tmp_path):
    (tmp_path / "busy.toml").write_text(SCENARIO)
    words = ["run", "network", "--fake", "busy.toml", "--nodes", "2", "--no-report", "--json"]
    words += ["kernel=network.pingpong"]

    def section(words):
        done = prepared_assay.run(
            [sys.executable, "-m", "assay", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def advice(printed):
        (found,) = [one for one in printed["sections"] if one["id"] == "network"]
        return found["advice"]

    (only,) = advice(section([*words, "--launches", "1", "--seed", "3"]))
    command = shlex.split(only.split("`")[1])
    assert command[0] == "assay" and "--launches" in command
    again = advice(section([*command[1:], "--no-report", "--json", "--seed", "4"]))
    assert not any("Too few data" in sentence for sentence in again)
