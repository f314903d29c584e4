"""Each series of a check against the fleet and against the node's own level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.check.baseline.costs import CORE_GAP, core_cost, core_costs, reading_cost
from assay.check.baseline.exceedance import GRID, exceeded_with, log_exceedance
from assay.check.baseline.model import APART, Baseline, ComponentBaseline
from assay.check.components import CORE, PER_UNIT
from assay.check.decision.evidence import (
    accumulate,
    evidence_limit,
    level_share,
    session_share,
)
from assay.check.decision.model import Given, SeriesJudgement, SeriesState
from assay.check.devices.slots import slot_shift
from assay.check.model import Reading
from assay.check.quietness import is_quiet

#: Share of healthy checks whose second measurement still makes one component a finding; and the
#: larger share that is measured again, which must exceed 1% (``learn``: the tables hold a single
#: round above 1% and the better of two rounds below).
FOUND, AGAIN = 0.005, 0.015
_LOG_FOUND, _LOG_AGAIN = math.log(FOUND), math.log(AGAIN)
#: A smaller deviation never matters, however certain it is.
LEAST = 0.01
#: Checks after which a node's own level is used, and after which it stays as it is.
OWN_FROM, OWN_UNTIL = 8, 40
# What a healthy node's own level may move in addition to the error of its estimate.
_MOVES, _ERRORS = 0.0025, 2.0
_HOUR, _DAY_HOURS = 3600.0, 24
# Of normal values, the share above one standard deviation.
_ONE_DEVIATION = 0.1587


class SeriesRounds(NamedTuple):
    """The costs of one series in the rounds of a check."""

    cost: float
    cpu: int | None
    rounds: int
    quiet_rounds: int


def series_count(baseline: Baseline) -> int:
    """The number of series among which the rate of false drains is divided."""
    return len(baseline.components) + (baseline.core_gap is not None)


def readings_of(given: Given, component: str) -> list[Reading]:
    """The readings of a component in the order of rounds."""
    return [each[component] for each in given.rounds if component in each]


def judge_check(given: Given) -> list[SeriesJudgement]:
    """Each series of the check that has a value."""
    limit = evidence_limit(given.policy.false_drains, series_count(given.baseline))
    shares = (
        level_share(given.policy.false_drains, series_count(given.baseline)),
        session_share(given.policy.false_drains, series_count(given.baseline)),
    )
    hour = int(given.utc // _HOUR) % _DAY_HOURS if math.isfinite(given.utc) else 0
    anchored = given.state.anchored == given.baseline.anchored
    states: Mapping[str, SeriesState] = given.state.series if anchored else {}
    judged = []
    for name, component, usual, found in _series(given):
        common = usual.hours[hour] if usual.hours else 0.0
        state = states.get(name) or SeriesState()
        judged.append(
            _judge(
                series=name,
                component=component,
                usual=usual,
                found=found,
                common=common,
                state=state,
                limit=limit,
                shares=shares,
                utc=given.utc,
            )._replace(slot=slot_shift(given.baseline.devices, name, found.cpu))
        )
    return judged


def _judge(
    *,
    series: str,
    component: str,
    usual: ComponentBaseline,
    found: SeriesRounds,
    common: float,
    state: SeriesState,
    limit: float,
    shares: tuple[float, float],
    utc: float,
) -> SeriesJudgement:
    cost = found.cost - common
    from_fleet = cost - usual.level
    allowed = exceeded_with(usual.movement, FOUND) if usual.covers_time else 0.0
    log_fleet = log_exceedance(usual.fleet, from_fleet - allowed)
    highest = exceeded_with(usual.between, shares[0])
    log_highest = log_chance(usual, from_fleet - highest, shares[1])
    from_own, log_own, own_evidence = None, 0.0, 0.0
    if state.checks >= OWN_FROM:
        from_own = cost - state.level
        moved = _ERRORS * own_scatter(usual) / math.sqrt(state.checks)
        moved += _MOVES + usual.wander
        log_own = log_exceedance(usual.within, from_own - allowed - moved)
        own_evidence = log_chance(usual, from_own - moved, shares[1])
    # All checks of a session share its movement, which therefore counts once.
    counts = found.quiet_rounds > 0 and not (usual.moving and abs(utc - state.counted) < APART)
    by_fleet = from_fleet - allowed >= LEAST and log_fleet <= _LOG_AGAIN
    by_own = from_own is not None and from_own - allowed >= LEAST and log_own <= _LOG_AGAIN
    evidence, creeping = state.evidence, False
    if counts and usual.covers_time:
        after = accumulate(evidence, log_highest, None if from_own is None else own_evidence, limit)
    else:
        after = evidence
    if found.quiet_rounds:
        creeping = (from_fleet >= LEAST and max(after[:2]) >= limit) or (
            from_own is not None and from_own >= LEAST and max(after[2:]) >= limit
        )
        # A slow value counts once a second measurement agrees.
        if found.quiet_rounds > 1 or not (by_fleet or by_own or creeping):
            evidence = after
        else:
            counts = False
    suspicious = by_fleet or by_own or creeping
    slow = (by_fleet and log_fleet <= _LOG_FOUND) or (by_own and log_own <= _LOG_FOUND)
    return SeriesJudgement(
        series=series,
        component=component,
        usual=usual,
        cost=found.cost,
        cpu=found.cpu,
        rounds=found.rounds,
        quiet_rounds=found.quiet_rounds,
        from_fleet=from_fleet,
        from_own=from_own,
        level_cost=cost,
        log_fleet=log_fleet,
        log_own=log_own,
        evidence=evidence,
        counts=counts,
        suspicious=suspicious,
        slow=slow,
        creeping=creeping,
    )


def log_chance(usual: ComponentBaseline, deviation: float, share: float) -> float:
    """The logarithm of the probability that a check of a healthy node is slower by this deviation.

    The deviation has the part of the session and that of the check. If sessions don't move, the
    session's part is at most what a ``share`` of sessions exceeds, less the scatter of checks: what
    a session adds by this much doesn't reach the limit while the session lasts. Otherwise each way
    to divide the deviation bounds the probability, and the least bound counts (Bonferroni); no
    session is known to be rarer than one among those that were seen and the new one.
    """
    if not usual.movement:
        return 0.0
    if not usual.moving:
        most = exceeded_with(usual.movement, share) - usual.check_scatter
        allowed = max(exceeded_with(usual.movement, FOUND), most)
        return log_exceedance(usual.within, deviation - allowed)
    least = min(
        probability + math.exp(log_exceedance(usual.within, deviation - moved))
        for probability, moved in zip(GRID, usual.movement, strict=True)
    )
    return math.log(min(max(least, 1.0 / (len(usual.sessions) + 1)), 1.0))


def own_scatter(usual: ComponentBaseline) -> float:
    """The standard deviation of the checks of which a node's own level is the mean."""
    if not (usual.moving and usual.movement):
        return usual.check_scatter
    return math.hypot(usual.check_scatter, exceeded_with(usual.movement, _ONE_DEVIATION))


def _series(given: Given) -> Iterator[tuple[str, str, ComponentBaseline, SeriesRounds]]:
    for name in given.components:
        usual = given.baseline.components.get(name)
        if usual is None:
            continue
        readings = readings_of(given, name)
        found = rounds_of(readings)
        if found is not None:
            yield name, name, usual, found
        if name == CORE and given.baseline.core_gap is not None:
            gap = gap_rounds(readings)
            if gap is not None:
                yield CORE_GAP, name, given.baseline.core_gap, gap


def rounds_of(readings: Sequence[Reading]) -> SeriesRounds | None:
    """The best of the rounds: a node can't be faster than it is. None without a value."""
    best, cpu, rounds, quiet_rounds = math.inf, None, 0, 0
    for reading in readings:
        cost = reading_cost(reading)
        if cost is None:
            continue
        rounds += 1
        quiet_rounds += is_quiet(reading.quiet)
        if cost < best:
            best = cost
            cpu = _slowest_cpu(reading) if reading.component in PER_UNIT else None
    return SeriesRounds(best, cpu, rounds, quiet_rounds) if rounds else None


def _slowest_cpu(reading: Reading) -> int | None:
    cores = core_costs(reading)
    return None if cores is None else cores.cpu


def gap_rounds(readings: Sequence[Reading]) -> SeriesRounds | None:
    """The gap of the CPU that was the slowest one in the first round: the least of the rounds.

    Another process disturbs another CPU in each round, a slow CPU is the same in all.
    """
    best, cpu, rounds, quiet_rounds = math.inf, None, 0, 0
    for reading in readings:
        cores = core_costs(reading)
        if cores is None or cores.usual is None:
            continue
        cpu = cores.cpu if cpu is None else cpu
        cost = cores.slowest if cpu == cores.cpu else core_cost(reading, cpu)
        if cost is None:
            continue
        rounds += 1
        quiet_rounds += is_quiet(reading.quiet)
        best = min(best, cost - cores.usual)
    return SeriesRounds(best, cpu, rounds, quiet_rounds) if rounds else None
