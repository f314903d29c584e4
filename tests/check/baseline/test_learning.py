"""Baselines learned from simulated checks with planted effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from assay.check.baseline.exceedance import GRID, exceeded_with
from assay.check.baseline.file import why_unusable
from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.baseline.runs import RunSpread, run_spread
from assay.check.baseline.samples import LearningCheck
from assay.check.model import CheckRecord, Reading
from assay.errors import AssayError
from check_fleets import NAMES, FleetShape, draw_nodes, learning_checks

HOUR = 3600.0


def fleet(shape: FleetShape, seed: int = 901) -> list[LearningCheck]:
    rng = np.random.default_rng(seed)
    return learning_checks(rng, shape, draw_nodes(rng, shape))


def learned(checks: Sequence[LearningCheck], **changes: object) -> Baseline:
    return learn(Learning(kind="k", program="p", checks=checks, **changes))  # type: ignore[arg-type]


def slower(check: LearningCheck, name: str, factor: float) -> LearningCheck:
    rounds = []
    for each in check.rounds:
        values = [value * factor for value in each[name].values]
        rounds.append({**each, name: msgspec.structs.replace(each[name], values=values)})
    return replace(check, rounds=rounds)


def stream_check(host: str, utc: float, value: float, rounds: int = 3) -> LearningCheck:
    one = {"stream": Reading(component="stream", values=[value])}
    return LearningCheck(host=host, utc=utc, rounds=[one] * rounds)


def test_scatter_is_separated() -> None:
    found = learned(fleet(FleetShape("normal", nodes=400, between=0.006, checks=0.01)))
    assert list(found.components) == list(NAMES)
    for name, each in found.components.items():
        if name != "core":  # the slowest of 16 CPUs
            assert each.node_scatter == pytest.approx(0.006, rel=0.35)
            assert each.check_scatter == pytest.approx(0.01, rel=0.15)
            assert each.round_scatter == pytest.approx(0.002, rel=0.1)
            assert not each.has_modes
        assert (each.nodes, each.checks) == (400, 1200)
        assert why_unusable(each) == ""
    assert found.core_gap is not None
    assert 0.0 < found.core_gap.level < 0.02


def test_the_level_is_the_usual_value() -> None:
    found = learned(fleet(FleetShape("normal", nodes=400)))
    assert math.exp(-found.components["stream"].level) == pytest.approx(222e9, rel=0.005)
    assert math.exp(found.components["latency"].level) == pytest.approx(98e-9, rel=0.005)


@pytest.mark.long
def test_modes_stay_modes() -> None:
    shape = FleetShape("modes", nodes=200, between=0.003, checks=0.01, lasting=10.0)
    found = learned(fleet(shape))
    for name in ("product", "stream", "latency"):
        each = found.components[name]
        assert each.gap == pytest.approx(0.0237, rel=0.12)
        assert each.slow_share == pytest.approx(0.2, abs=0.07)
        assert each.check_scatter < 0.006
        # A check in the slower mode is usual for every node.
        assert each.within[GRID.index(0.2)] > 0.02


def test_slow_nodes_are_left_out() -> None:
    checks = [
        slower(each, "stream", 0.9) if each.host == "n7" else each
        for each in fleet(FleetShape("normal", nodes=60))
    ]
    found = learned(checks)
    assert found.left_out == {"n7": "10.9% slower than the other nodes in memory bandwidth"}
    assert found.components["stream"].nodes == 59
    clean = learned([each for each in checks if each.host != "n7"])
    assert found.components == clean.components


def test_known_slow_nodes_are_left_out() -> None:
    found = learned(fleet(FleetShape("normal", nodes=20)), slow={"n3": "why", "elsewhere": "why"})
    assert dict(found.left_out) == {"n3": "why"}


def test_wrong_results_and_failures_are_left_out() -> None:
    checks = fleet(FleetShape("normal", nodes=20))
    broken = [
        replace(
            each,
            rounds=[
                {
                    name: msgspec.structs.replace(reading, verified=False, values=[1.0])
                    for name, reading in one.items()
                }
                for one in each.rounds
            ],
            host="broken",
        )
        for each in checks[:3]
    ]
    assert learned([*checks, *broken]).components == learned(checks).components


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_numbers_that_are_none_are_refused(value: float) -> None:
    with pytest.raises(AssayError, match="no checks of k to learn from"):
        learned([stream_check("n1", 1.0, value)])


def test_nothing_to_learn_from() -> None:
    with pytest.raises(AssayError, match="no checks of k to learn from"):
        learned([])


def test_all_nodes_slow() -> None:
    with pytest.raises(AssayError, match="All 1 nodes"):
        learned([stream_check("n1", 1.0, 1e9)], slow={"n1": "why"})


@pytest.mark.parametrize(
    "checks",
    [
        [stream_check("n1", 1.0, 1e9, rounds=1)],
        [stream_check("n1", 1.0, 1e9), stream_check("n1", 2.0, 1.1e9)],
        [stream_check(f"n{n}", 1.0, 1e9) for n in range(12)],
        [stream_check(f"n{n}", 100.0 * n, 1e9 + 1e6 * n) for n in range(12)],
    ],
)
def test_little_data_makes_a_usable_baseline(checks: list[LearningCheck]) -> None:
    found = learned(checks)
    assert why_unusable(found.components["stream"]) == ""
    assert msgspec.json.decode(msgspec.json.encode(found), type=Baseline) == found
    # One node tells nothing about others, and the sentences say so.
    assert any("uncertain" in each for each in found.learned)


def test_it_says_how_much_is_missing() -> None:
    found = learned(fleet(FleetShape("normal", nodes=12)))
    assert (
        "With 12 nodes and 36 checks, the deviation that one in 200 checks exceeds is "
        "extrapolated; 14 more checks per node would observe it." in found.learned
    )
    assert any(each.startswith("Checks cover 3 of 24 hours") for each in found.learned)


def records(shape: FleetShape, days: int = 3, start: float = 10.0) -> dict[str, list[CheckRecord]]:
    """Healthy checks of stream at all hours."""
    rng = np.random.default_rng(17)
    nodes = draw_nodes(rng, shape)
    found: dict[str, list[CheckRecord]] = {}
    for node in range(shape.nodes):
        for number in range(24 * days):
            utc = HOUR * (24.0 * start + number + rng.random())
            day = shape.rhythm * np.sin(2.0 * np.pi * utc / (24.0 * HOUR))
            cost = nodes.levels[node, 2] + shape.checks * rng.standard_normal() + day
            values = {"stream": float(222e9 * np.exp(-cost))}
            record = CheckRecord(utc=utc, outcome="healthy", seconds=1.0, values=values)
            found.setdefault(f"n{node}", []).append(record)
    return found


def test_the_day_is_learned_from_records_at_all_hours() -> None:
    shape = FleetShape("day", nodes=30, rhythm=0.01)
    found = learned([], records=records(shape)).components["stream"]
    angle = 2.0 * np.pi * (np.arange(24) + 0.5) / 24.0
    assert np.array(found.hours) == pytest.approx(0.01 * np.sin(angle), abs=0.0012)
    assert found.check_scatter == pytest.approx(0.005, rel=0.15)
    assert exceeded_with(found.movement, 0.005) < 0.003
    assert not found.moving and found.covers_time
    # Without the hours, the day is what sessions add.
    calm = learned(fleet(shape)).components["stream"]
    assert calm.hours == []
    assert exceeded_with(calm.movement, 0.005) > 0.02


def test_records_of_unhealthy_checks_are_left_out() -> None:
    healthy = records(FleetShape("x", nodes=10))
    bad = CheckRecord(utc=0.0, outcome="unhealthy", seconds=1.0, values={"stream": 1e9})
    both = {host: [bad, *each] for host, each in healthy.items()}
    assert learned([], records=both).components == learned([], records=healthy).components


def test_versions_count_up_and_own_levels_stay_with_the_program() -> None:
    checks = fleet(FleetShape("normal", nodes=8))
    first = learned(checks)
    second = learned(checks, before=first)
    third = learn(Learning(kind="k", program="other", checks=checks, before=second))
    assert [(each.version, each.anchored) for each in (first, second, third)] == [
        (1, 1),
        (2, 1),
        (3, 3),
    ]


def test_runs_of_more_nodes_widen_nodes_levels() -> None:
    checks = fleet(FleetShape("normal", nodes=20))
    usual = learned(checks).components["stream"]
    wide = RunSpread(node_scatter=3.0 * usual.node_scatter, launch_scatter=0.01, nodes=100)
    found = learned(checks, spreads={"stream": wide}).components["stream"]
    assert np.array(found.between) == pytest.approx(3.0 * np.array(usual.between), abs=1e-5)
    for other in (replace(wide, nodes=10), replace(wide, node_scatter=1e-4)):
        assert learned(checks, spreads={"stream": other}).components["stream"] == usual


def test_the_spread_of_a_run() -> None:
    rng = np.random.default_rng(2)
    costs = {
        f"n{n}": np.exp(rng.normal(0.0, 0.02) + rng.normal(0.0, 0.01, 6)).tolist()
        for n in range(300)
    }
    costs["slow"] = [9.0] * 6
    found = run_spread(costs, {"slow"})
    assert found is not None
    assert found.nodes == 300
    assert found.node_scatter == pytest.approx(0.02, rel=0.15)
    assert found.launch_scatter == pytest.approx(0.01, rel=0.1)
    assert run_spread({"n1": [1.0]}, set()) is None


def test_the_file_stays_small_for_a_large_fleet() -> None:
    found = learned(fleet(FleetShape("normal", nodes=500)))
    assert len(msgspec.json.encode(found)) < 30_000
