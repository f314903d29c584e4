"""Searches in a campaign: made once and first; later cells use their results."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import msgspec
import pytest

import prepared_assay
from assay.campaign.engine.state import CampaignState
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.records.model import Measurement
from assay.records.reading import read_run
from assay.records.stream import read_stream
from campaign_lab import Lab, measurement_counts
from records_builder import make_cell, make_launch, make_plan, make_record
from waiting import wait_for

FACTS: dict[str, Value] = {
    "nb": 96,
    "p": 1,
    "broadcast": "ring",
    "swap": "spread",
    "depth": 1,
    "n": 3000,
    "rate": 1e11,
    "memory_available": 4e9,
}
SEARCH = make_cell("linpack.search", n=0)
HALF = make_cell("linpack", fraction=0.5)
WHOLE = make_cell("linpack")
OTHER = make_cell("network.barrier")
CELLS = [HALF, OTHER, SEARCH, WHOLE]


def make_state(cells=CELLS, **rule: float) -> CampaignState:
    return CampaignState(
        make_plan(cells, **{"budget": 900.0, **rule}),
        value_of=lambda m: m.record.series[0].values[0] if m.record.series else None,
        enough=lambda values: True,
    )


def done(cell: Cell, replicate: int = 0, wall: float = 1.0, **changes: object) -> Measurement:
    record = msgspec.structs.replace(make_record(cell, replicate, [1.0]), wall=wall, **changes)
    return Measurement(cell, replicate, "0000-a", 0.0, record, None, ())


def test_a_search_comes_first_and_once() -> None:
    state = make_state()
    assert state.next_block() == (0, [SEARCH])
    state.add(done(SEARCH, facts=FACTS))
    for replicate in range(6):
        assert state.next_block() == (replicate, [HALF, OTHER, WHOLE])
        for cell in (HALF, OTHER, WHOLE):
            state.add(done(cell, replicate))
    assert state.next_block() is None


def test_its_result_is_used_and_the_limit_of_the_order_is_stated() -> None:
    state = make_state()
    early = state.resolve(WHOLE)
    assert (early.resolved.parameters["n"], early.note) == (0, "")
    state.add(done(SEARCH, facts=FACTS))
    half, whole = state.resolve(HALF), state.resolve(WHOLE)
    # 45 s at 100 Gflop/s give order 18898 (tests/models/linpack/test_sizing.py).
    assert (half.resolved.parameters["n"], whole.resolved.parameters["n"]) == (9449, 18898)
    assert whole.resolved.parameters["nb"] == 96
    assert "N up to 18,898, limited by time" in whole.note
    assert "process grid 1 × 2" in whole.note
    assert state.resolve(OTHER).resolved.parameters == OTHER.parameters


@pytest.mark.parametrize(
    "outcome",
    [
        {"status": "failed", "error": "no room"},
        {"verified": False, "facts": FACTS},
        {"facts": {"nb": 96}},
    ],
)
def test_after_a_search_that_failed_the_kernel_chooses(outcome: dict[str, object]) -> None:
    state = make_state()
    state.add(done(SEARCH, **outcome))
    assert state.next_block() == (0, [HALF, OTHER, WHOLE])
    resolution = state.resolve(WHOLE)
    assert (resolution.resolved.parameters["n"], resolution.resolved.parameters["nb"]) == (0, 0)
    assert "the search failed" in resolution.note and "so the kernel chooses" in resolution.note


def test_a_launch_killed_in_the_search_does_not_end_it() -> None:
    state = make_state()
    name = f"{SEARCH.id}-0"
    state.blame(make_launch("a", outcome="crash", blamed=name), [SEARCH], progressed=False)
    assert state.next_block() == (0, [HALF, OTHER, WHOLE])
    assert "crash" in state.resolve(WHOLE).note


def test_a_second_search_counts_if_the_first_failed() -> None:
    second = make_cell("linpack.search", n=500)
    state = make_state([SEARCH, second, WHOLE])
    state.add(done(second, facts=FACTS))
    state.add(done(SEARCH, status="failed", error="no room"))
    assert state.resolve(WHOLE).resolved.parameters["nb"] == 96


LONG, SHORT = make_cell("npb.cg", ppn=1), [make_cell(bytes=size) for size in range(9)]


def long_run(budget: float, long: float, short: float = 0.1) -> dict[str, int]:
    """How often each cell is measured if one takes ``long`` per sample and nine ``short``.

    As kernels do: always one sample, more while there is time; saturated at ten samples.
    """
    state = make_state([LONG, *SHORT], budget=budget)
    while (block := state.next_block()) is not None:
        replicate, cells = block
        granted = state.measurement_budgets(replicate, cells)
        for cell in state.affordable(replicate, cells):
            sample = long if cell is LONG else short
            count = max(int(min(granted[cell.id], 10 * sample) / sample), 1)
            record = make_record(cell, replicate, [sample] * count)
            stop = "precision" if count == 10 else "budget"
            record = msgspec.structs.replace(record, stop=stop)
            state.add(Measurement(cell, replicate, "a", 0.0, record, None, ()))
            state.spent += record.wall
    assert state.spent <= 1.05 * budget or all(len(s.values) <= 1 for s in state.cells.values())
    return {cell.kernel: len(state.cells[cell.id].values) for cell in (LONG, SHORT[0])}


def test_one_long_cell_leaves_time_to_all_and_stays_in_the_budget() -> None:
    # Six of 60 s and six blocks of nine short ones fit; ten times the short ones' sample do not.
    assert long_run(budget=400.0, long=60.0) == {"npb.cg": 6, "network.barrier": 6}
    # Three of 60 s fit: the short ones get their six launches nevertheless.
    assert long_run(budget=200.0, long=60.0) == {"npb.cg": 3, "network.barrier": 6}
    # It takes more than the whole budget: once each, and no more is begun.
    assert long_run(budget=50.0, long=60.0) == {"npb.cg": 1, "network.barrier": 1}


def test_cells_after_the_long_one_in_its_block_get_as_much_as_those_before() -> None:
    state = make_state([LONG, *SHORT], budget=690.0, min_launches=8)
    for replicate in range(5):
        for cell, wall in ((LONG, 60.0), *((cell, 1.0) for cell in SHORT)):
            state.add(done(cell, replicate, wall=wall, stop="budget"))
            state.spent += wall
    # The remaining 345 s make three blocks of 115 s, of which the long one takes 60.
    before = state.measurement_budgets(5, SHORT)
    assert before[SHORT[0].id] == pytest.approx((115.0 - 60.0) / 9)
    state.add(done(LONG, 5, wall=60.0, stop="budget"))
    state.spent += 60.0
    assert state.measurement_budgets(5, SHORT) == pytest.approx(before)
    state.add(done(SHORT[0], 5, wall=before[SHORT[0].id], stop="budget"))
    state.spent += before[SHORT[0].id]
    assert state.measurement_budgets(5, SHORT[1:])[SHORT[1].id] == pytest.approx(55.0 / 9)


def test_the_expected_time_of_a_solution_is_reserved() -> None:
    state = make_state([WHOLE, *SHORT, SEARCH], budget=900.0)
    state.add(done(SEARCH, facts=FACTS))
    state.resolve(WHOLE)
    granted = state.measurement_budgets(0, SHORT)
    # Of a block's 150 s the solution takes 45.
    assert granted[SHORT[0].id] == pytest.approx((150.0 - 45.0) / 9, rel=1e-3)


PLAN = """
schema = 1
title = "Linpack"
seed = 5
[replication]
precision = "1%"
budget = "900 s"
max_launches = 7
[[measure]]
kernel = "linpack.search"
ppn = [1, 2]
[[measure]]
kernel = "linpack"
ppn = [1, 2]
fraction = [0.1, 0.5]
[[measure]]
kernel = "compute.peak"
"""

# The search finds another rate each time, so that a second result would show.
SCENARIO = """
schema = 1
delay = "{delay}"
[[kernel]]
match = "linpack.search"
time = "work_flops / 1e11"
resolved = {{ n = 3000 }}
max_batch = 1
setup = "20 s"
[kernel.facts]
nb = 96
p = 1
broadcast = "ring"
swap = "spread"
depth = 1
n = 3000
rate = {rate}
memory_available = 4e9
[[kernel]]
match = "linpack"
time = "work_flops / (1e11 * n / (n + 1000))"
max_batch = 1
noise = {{ sigma = 0.01 }}
{failures}
"""


class LinpackLab(Lab):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        (path / "plan.toml").write_text(PLAN)

    def scenario(self, delay: str = "0 s", failures: str = "", rate: str = "1e11") -> None:
        text = SCENARIO.format(delay=delay, failures=failures, rate=rate)
        (self.path / "scenario.toml").write_text(text)


@pytest.fixture
def lab(tmp_path: Path) -> LinpackLab:
    return LinpackLab(tmp_path)


def used(lab: Lab) -> dict[str, set[tuple[object, ...]]]:
    """The settings of each cell of linpack, over its launches."""
    found: dict[str, set[tuple[object, ...]]] = {}
    for m in read_run(lab.only_run().path).measurements:
        if m.cell.kernel == "linpack":
            settings = tuple(m.record.parameters[name] for name in ("n", "nb", "p", "depth"))
            key = f"{m.cell.parameters['fraction']}/{m.cell.placement.ppn}"
            found.setdefault(key, set()).add(settings)
    return found


EXPECTED = {
    f"{part}/{ppn}": {(int(part * 18898), 96, 1, 1)} for part in (0.1, 0.5) for ppn in (1, 2)
}


@pytest.mark.long
def test_all_launches_of_a_cell_use_the_result_of_the_search(lab: LinpackLab) -> None:
    finished = lab.run("plan.toml")
    assert finished.returncode == 0, finished.stderr
    assert used(lab) == EXPECTED
    names = measurement_counts(lab.only_run())
    searches = {
        m.cell.id
        for m in read_run(lab.only_run().path).measurements
        if m.cell.kernel[-6:] == "search"
    }
    assert [count for name, count in names.items() if name.partition("-")[0] in searches] == [1, 1]
    first = [read_stream(path).measurements for path in lab.only_run().streams()[:2]]
    assert {m.kernel for records in first for m in records} == {"linpack.search"}
    rates = {
        cell["cell"]["parameters"]["fraction"]: cell["metrics"]["rate"]["median"]
        for cell in json.loads(finished.stdout)["cells"]
        if cell["kernel"] == "linpack"
    }
    assert rates.keys() == {0.1, 0.5}
    for part, rate in rates.items():
        n = int(part * 18898)
        assert rate == pytest.approx(1e11 * n / (n + 1000), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams", [pytest.param(each, marks=pytest.mark.long) for each in (2, 3, 6)]
)
def test_killed_after_the_searches_it_resumes_with_their_results(
    lab: LinpackLab, streams: int
) -> None:
    lab.scenario(delay="60 ms")
    process = lab.start("plan.toml")
    wait_for(lambda: len(list(lab.runs.glob("*/raw/*.jsonl"))) > streams)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lab.scenario(rate="7e10")
    assert lab.run("--resume").returncode == 0
    assert used(lab) == EXPECTED
    assert set(measurement_counts(lab.only_run()).values()) == {1}


@pytest.mark.long
def test_killed_between_the_searches_each_applies_to_its_own_placement(lab: LinpackLab) -> None:
    lab.scenario(delay="300 ms")
    process = lab.start("plan.toml")
    wait_for(lambda: any(read_stream(p).measurements for p in lab.runs.glob("*/raw/*.jsonl")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    lab.scenario(rate="7e10")
    assert lab.run("--resume").returncode == 0
    settings = used(lab)
    assert {len(values) for values in settings.values()} == {1}
    halves = {settings["0.5/1"].pop()[0], settings["0.5/2"].pop()[0]}
    assert halves == {9449, 8389}  # at 70 Gflop/s, 16779 takes 45 s


@pytest.mark.long
def test_a_search_that_fails_leaves_the_choice_to_the_kernel(lab: LinpackLab) -> None:
    lab.scenario(
        failures="resolved = { n = 1000, nb = 64, p = 1 }\n"
        '[[failure]]\nkind = "error"\nmatch = "linpack.search"\nwhere = "ppn == 2"\n'
    )
    assert lab.run("plan.toml").returncode == 1  # the search failed, which is reported
    settings = used(lab)
    assert settings["0.5/1"] == EXPECTED["0.5/1"]
    assert settings["0.5/2"] == {(1000, 64, 1, 1)}


def test_a_single_cell_needs_no_search(lab: LinpackLab) -> None:
    lab.scenario(failures="resolved = { n = 1000, nb = 64, p = 1 }")
    words = ("measure", "linpack", "--fake", "scenario.toml", "--json")
    finished = prepared_assay.run(
        [sys.executable, "-m", "assay", *words], cwd=lab.path, capture_output=True, timeout=60
    )
    cell = json.loads(finished.stdout)
    assert (cell["parameters"]["n"], cell["parameters"]["depth"]) == (1000, 1)
    assert cell["metrics"]["rate"]["median"] == pytest.approx(0.5e11, rel=0.02)


@pytest.mark.long
def test_the_whole_suite_runs_in_its_budget_with_six_launches_of_all(lab: LinpackLab) -> None:
    finished = lab.run("linpack")
    assert finished.returncode == 0, finished.stderr
    run = read_run(lab.only_run().path)
    assert "linpack: n, nb, p, broadcast, swap and depth by linpack.search." in (
        run.manifest.plan.choices
    )
    launches: dict[str, int] = {}
    for m in run.measurements:
        if m.cell.kernel != "linpack.search":
            launches[m.cell.id] = launches.get(m.cell.id, 0) + 1
    assert len(launches) == 20
    assert min(launches.values()) >= 6
    assert sum(launch.wall for launch in run.launches) <= 900.0 * 1.07
