"""The decision of a check: measure again, or a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from assay.check.baseline.costs import reading_cost
from assay.check.baseline.coverage import why_undecided
from assay.check.components import BY_NAME, WITH_PARTNER
from assay.check.decision.evidence import evidence_limit
from assay.check.decision.judgement import (
    judge_check,
    readings_of,
    rounds_of,
    series_count,
)
from assay.check.decision.model import Given, SeriesJudgement
from assay.check.decision.words import busy_text, failure_finding, reason_of, slow_finding
from assay.check.model import CheckRecord, CheckVerdict, MeasureAgain, NodeFinding
from assay.check.quietness import is_quiet

# Rounds in which a component may give no value or a wrong result before that is final.
_CONFIRMED = 2
# Time that a further round takes beside its measurements, s.
_ROUND = 0.2
# How many checks before this one may have found the same.
_BEFORE = 2


def decide(given: Given) -> MeasureAgain | CheckVerdict:
    """What a check concludes from its measurements so far.

    Facts that fail the node do so at once. Otherwise it asks for a first round, then for the
    components that are slow, disturbed or failed, until they are confirmed or time is up. It never
    raises for absurd values: what can't be judged is undecided.
    """
    if given.findings:
        return _verdict(list(given.findings), [], [])
    components = [name for name in given.components if name in given.baseline.components]
    if not components:
        return CheckVerdict(outcome="undecided", reason="the baseline has none of the components")
    missing = [name for name in components if not readings_of(given, name)]
    if len(missing) == len(components) and not given.rounds:
        return MeasureAgain(components=tuple(components), why="first round")
    return _decide(given, components, missing)


def slow_components(verdict: CheckVerdict) -> list[str]:
    """The components that a check found slow, for its record."""
    found = [*verdict.findings, *verdict.suspected]
    slow = (each.about for each in found if each.deviation is not None and each.about in BY_NAME)
    return list(dict.fromkeys(slow))


def check_values(given: Given) -> dict[str, float]:
    """The values for the check's record, in SI units: of each component the best of its rounds."""
    values = {}
    for name in given.components:
        found = rounds_of(readings_of(given, name)) if name in BY_NAME else None
        if found is not None:
            more = BY_NAME[name].better == "more"
            values[name] = math.exp(-found.cost if more else found.cost)
    return values


def _decide(
    given: Given, components: Sequence[str], missing: Sequence[str]
) -> MeasureAgain | CheckVerdict:
    again: dict[str, str] = dict.fromkeys(missing, "not measured yet")
    undecided: dict[str, str] = {}
    failing: list[NodeFinding] = []
    suspected: list[NodeFinding] = []
    waiting: list[SeriesJudgement] = []
    for name in components:
        readings = readings_of(given, name)
        wrong = sum(not each.verified for each in readings)
        lost = [each for each in readings if reading_cost(each) is None and each.verified]
        if wrong >= _CONFIRMED:
            failing.append(failure_finding(name, "wrong result", readings))
        elif wrong and len(readings) <= _CONFIRMED:
            again[name] = f"{BY_NAME[name].title}: wrong result"
        elif wrong:
            suspected.append(failure_finding(name, "wrong result", readings))
        elif len(lost) == len(readings) > 0:
            if len(lost) < _CONFIRMED:
                again[name] = f"{BY_NAME[name].title}: no value"
            elif _is_lost(given, name, components):
                failing.append(failure_finding(name, "no value", readings))
            else:
                undecided[name] = f"no value of {BY_NAME[name].title}"
    failed = {each.about for each in failing}
    for each in judge_check(given):
        if not each.suspicious or each.component in failed:
            continue
        if each.quiet_rounds < _CONFIRMED:
            again.setdefault(each.component, _why(each))
            undecided.setdefault(each.component, _why_open(given, each))
        elif each.slow or each.creeping:
            finding = slow_finding(each)
            (failing if _fails(given, each) else suspected).append(finding)
            if not each.usual.covers_time:
                waiting.append(each)
    # A broken node needs no further measurements.
    if not failing and again and _has_time(given, again):
        return MeasureAgain(components=tuple(again), why="; ".join(dict.fromkeys(again.values())))
    for name in missing:
        undecided.setdefault(name, f"no time to measure {BY_NAME[name].title}")
    for name, why in again.items():
        undecided.setdefault(name, f"no time to confirm {why}")
    if waiting:
        worst = max(waiting, key=lambda each: each.from_fleet)
        undecided = {**undecided, "": f"{_why(worst)}; {why_undecided(worst.usual)}"}
    return _verdict(failing, suspected, list(dict.fromkeys(undecided.values())))


def _fails(given: Given, judged: SeriesJudgement) -> bool:
    """Whether a finding fails the node: one of the two checks before had it as well, and the
    evidence of all checks suffices. It never does before the baseline covers enough time."""
    if not judged.usual.covers_time:
        return False
    limit = evidence_limit(given.policy.false_drains, series_count(given.baseline))
    return max(judged.evidence) >= limit and _found_before(given, judged.component)


def _found_before(given: Given, component: str) -> bool:
    before = [each for each in given.records if component in each.values][-_BEFORE:]
    return any(component in each.slow and _other_partner(given, component, each) for each in before)


def _other_partner(given: Given, component: str, record: CheckRecord) -> bool:
    if component not in WITH_PARTNER:
        return True
    return bool(record.partner) and record.partner != given.partner


def _is_lost(given: Given, name: str, components: Sequence[str]) -> bool:
    """Whether a node has lost a component: nothing else ran beside it, and others have values.

    Messages may fail because of the partner.
    """
    quiet = all(is_quiet(each.quiet) for each in readings_of(given, name))
    others = [each for each in components if each != name]
    return (
        quiet
        and name not in WITH_PARTNER
        and any(rounds_of(readings_of(given, each)) is not None for each in others)
    )


def _has_time(given: Given, again: Iterable[str]) -> bool:
    if len(given.rounds) >= given.policy.rounds:
        return False
    seconds = [
        max((each.seconds for each in readings_of(given, name)), default=0.0) for name in again
    ]
    return _ROUND + sum(seconds) <= given.time_left


def _why(judged: SeriesJudgement) -> str:
    percent = 100.0 * abs(math.expm1(-judged.from_fleet))
    title = BY_NAME[judged.component].title
    if judged.quiet_rounds < judged.rounds:
        return f"{title} {percent:.0f}% slow beside other processes"
    return f"{title} {percent:.0f}% slow"


def _why_open(given: Given, judged: SeriesJudgement) -> str:
    if judged.quiet_rounds < judged.rounds:
        return busy_text(readings_of(given, judged.component))
    return f"no time to confirm {_why(judged)}"


def _verdict(
    failing: list[NodeFinding], suspected: list[NodeFinding], undecided: list[str]
) -> CheckVerdict:
    failing.sort(key=lambda each: each.probability)
    if failing:
        return CheckVerdict(
            outcome="unhealthy",
            findings=_one_per_component(failing),
            suspected=_one_per_component(suspected),
            reason=reason_of([each.text for each in failing]),
        )
    if undecided:
        return CheckVerdict(
            outcome="undecided",
            suspected=_one_per_component(suspected),
            reason=reason_of(undecided),
        )
    return CheckVerdict(outcome="healthy", suspected=_one_per_component(suspected))


def _one_per_component(findings: Iterable[NodeFinding]) -> list[NodeFinding]:
    """The first finding about each component or fact: the slowest CPU has two series."""
    return list({each.about: each for each in reversed(list(findings))}.values())[::-1]
