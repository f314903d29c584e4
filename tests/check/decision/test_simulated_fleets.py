"""Small simulated fleets from learning to decisions; ``benchmarks/rates`` has the large ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.model import Given, NodeState
from assay.check.decision.next_state import next_state
from assay.check.model import CheckRecord, CheckVerdict, Reading
from check_fleets import (
    ENOUGH_SESSIONS,
    NAMES,
    FleetDraw,
    FleetShape,
    draw_checks,
    draw_nodes,
    learning_checks,
)

DAY = 86400.0
SHAPE = FleetShape("small", nodes=24, checks=0.005)


def times(count: int) -> np.ndarray:
    return 5.0 * DAY + DAY / 20.0 * np.arange(SHAPE.nodes * count).reshape(SHAPE.nodes, count)


def outcomes(baseline: Baseline, drawn: FleetDraw, node: int) -> tuple[list[str], list[list[str]]]:
    """The outcome of each check of a node, and the components found slow in it."""
    state = NodeState()
    records: list[CheckRecord] = []
    slow: list[list[str]] = []
    for number in range(drawn.utc.shape[1]):
        rounds: list[dict[str, Reading]] = []
        while True:
            given = Given(
                baseline=baseline,
                state=state,
                records=records,
                rounds=rounds,
                components=NAMES,
                partner=f"p{number}",
                utc=float(drawn.utc[node, number]),
            )
            found = decide(given)
            if isinstance(found, CheckVerdict):
                break
            readings = drawn.readings(node, number, len(rounds) % 2)
            rounds.append({name: readings[name] for name in found.components})
        state = next_state(given)
        slow.append(slow_components(found))
        records = [
            *records,
            CheckRecord(
                utc=given.utc,
                outcome=found.outcome,
                seconds=1.0,
                values=check_values(given),
                slow=slow[-1],
                partner=given.partner,
            ),
        ]
    return [each.outcome for each in records], slow


@pytest.fixture(scope="module", params=["normal", "t with 3", "lasting modes"])
def fleet(request: pytest.FixtureRequest) -> tuple[Baseline, FleetDraw]:
    tail = request.param if request.param != "lasting modes" else "normal"
    lasting = 10.0 if request.param == "lasting modes" else 0.0
    shape = replace(SHAPE, tail=tail, lasting=lasting)
    rng = np.random.default_rng(4711)
    nodes = draw_nodes(rng, shape)
    checks = learning_checks(rng, shape, nodes, ENOUGH_SESSIONS)
    baseline = learn(Learning(kind="k", program="p", checks=checks))
    return baseline, draw_checks(rng, shape, nodes, times(40))


@pytest.mark.long
def test_good_nodes_stay(fleet: tuple[Baseline, FleetDraw]) -> None:
    baseline, drawn = fleet
    suspected = 0
    for node in range(SHAPE.nodes):
        found, slow = outcomes(baseline, drawn, node)
        assert set(found) == {"healthy"}
        suspected += sum(map(bool, slow))
    assert suspected < 0.1 * SHAPE.nodes * 40


@pytest.mark.parametrize("place", range(len(NAMES)))
def test_a_node_that_becomes_7_percent_slower_is_found_and_drained(
    fleet: tuple[Baseline, FleetDraw], place: int
) -> None:
    baseline, drawn = fleet
    deviations = drawn.deviations.copy()
    deviations[place, 20:, place] += 0.07
    found, slow = outcomes(baseline, replace(drawn, deviations=deviations), place)
    assert set(found[:20]) == {"healthy"}
    assert "unhealthy" in found[20:]
    assert sum(NAMES[place] in each for each in slow[20:]) >= 18
    assert not any(NAMES[place] in each for each in slow[:20]) or slow[:20].count([]) >= 18
