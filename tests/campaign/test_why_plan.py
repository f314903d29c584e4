"""Which launches `assay why` makes within its budget."""

from __future__ import annotations

from assay.campaign.explaining.plan import LaunchPlan


def _run(plan: LaunchPlan, wall: float, *, turns: bool) -> list[str]:
    """The kinds of all launches if each takes ``wall`` s as usual."""
    while (todo := plan.next()) is not None:
        plan.done(todo.kind, wall + todo.turns)
        plan.turns_wanted = turns and "in turn" not in plan.kinds
    return list(plan.kinds)


def test_a_short_program_is_launched_as_often_as_is_useful() -> None:
    plan = LaunchPlan(None)
    assert _run(plan, 5.0, turns=True) == ["plain", "in turn", "plain", "plain", "plain", "plain"]
    assert plan.left_out == []
    assert sum(plan.walls) <= plan.budget == 70.0


def test_a_long_program_keeps_its_budget() -> None:
    for wall in (30.0, 100.0, 1e4):
        plan = LaunchPlan(None)
        _run(plan, wall, turns=True)
        assert sum(plan.walls) <= plan.budget == 2 * wall + 60.0
    assert _run(LaunchPlan(None), 1e4, turns=False) == ["plain"]


def test_what_has_no_time_is_said() -> None:
    plan = LaunchPlan(12.0)
    assert _run(plan, 10.0, turns=True) == ["plain"]
    assert "ranks of a node compute in turn" in plan.left_out[0]
    assert "There was no time for launch 2" in plan.left_out[1]
    assert _run(LaunchPlan(1.0), 10.0, turns=False) == ["plain"]
    assert _run(LaunchPlan(1e4, most=2), 1.0, turns=False) == ["plain", "plain"]
