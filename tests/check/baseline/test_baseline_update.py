"""Updates by healthy checks: levels move within what was learned, a decline is reported."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.check.baseline.model import Baseline
from assay.check.baseline.update import update
from assay.check.model import CheckRecord, Outcome
from check_baselines import USUAL, baseline


def usual(nodes: int = 20) -> Baseline:
    found = baseline("stream", "latency", changes={"nodes": nodes})
    return msgspec.structs.replace(found, nodes=nodes)


def records(
    shift: float, nodes: int = 20, outcome: Outcome = "healthy", seed: int = 4
) -> dict[str, list[CheckRecord]]:
    rng = np.random.default_rng(seed)
    return {
        f"n{node}": [
            CheckRecord(
                utc=1e9 + 3600.0 * number,
                outcome=outcome,
                seconds=1.0,
                values={
                    "stream": USUAL["stream"] * float(np.exp(-shift + 0.002 * rng.normal())),
                    "latency": USUAL["latency"] * float(np.exp(0.002 * rng.normal())),
                },
            )
            for number in range(16)
        ]
        for node in range(nodes)
    }


def levels(found: Baseline) -> dict[str, float]:
    return {name: each.level for name, each in found.components.items()}


def test_a_small_change_of_all_is_followed() -> None:
    found = update(usual(), records(0.003), now=2e9)
    before, after = usual().components["stream"], found.baseline.components["stream"]
    assert after.level - before.level == pytest.approx(0.003, abs=0.0005)
    assert after.learned_level == before.learned_level
    assert found.declines == []
    assert (found.baseline.version, found.baseline.created) == (4, 2e9)
    assert found.baseline.anchored == usual().anchored


def test_a_slow_decline_of_all_is_reported_and_not_absorbed() -> None:
    current, reported = usual(), []
    for week in range(40):
        found = update(current, records(0.001 * week, seed=week), now=1e9)
        current = found.baseline
        reported.append([each.component for each in found.declines])
    moved = current.components["stream"].level - usual().components["stream"].level
    assert moved == pytest.approx(usual().components["stream"].drift)
    assert reported[3] == []
    assert all(each == ["stream"] for each in reported[10:])
    decline = found.declines[0]
    assert decline.interval[0] < 0.039 < decline.interval[1]
    assert decline.nodes == 20


def test_a_faster_fleet_moves_the_level_as_far_and_isnt_a_decline() -> None:
    found = update(usual(), records(-0.05), now=1e9)
    part = found.baseline.components["stream"]
    assert part.level == pytest.approx(part.learned_level - part.drift)
    assert found.declines == []


@pytest.mark.parametrize("outcome", ["unhealthy", "undecided"])
def test_only_healthy_checks_count(outcome: Outcome) -> None:
    found = update(usual(), records(0.1, outcome=outcome), now=1e9)
    assert found.baseline.components == usual().components


def test_a_few_nodes_dont_move_a_fleets_level() -> None:
    found = update(usual(nodes=100), records(0.003), now=1e9)
    assert levels(found.baseline) == levels(usual(nodes=100))


def test_one_slow_node_doesnt_move_a_level() -> None:
    healthy = records(0.0)
    slow = records(0.2, nodes=1)
    one = update(usual(), healthy, now=1e9).baseline.components["stream"].level
    two = update(usual(), {**healthy, **slow}, now=1e9).baseline.components["stream"].level
    assert two == pytest.approx(one, abs=0.0005)


def test_scatter_and_tails_stay_as_they_were_learned() -> None:
    part = update(usual(), records(0.0), now=1e9).baseline.components["stream"]
    before = usual().components["stream"]
    assert (part.fleet, part.within, part.between) == (before.fleet, before.within, before.between)
    assert part.check_scatter == before.check_scatter
