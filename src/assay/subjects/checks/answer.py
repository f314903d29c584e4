"""The answer on which nodes of a fleet may not take jobs."""

from __future__ import annotations

from assay.check.fleet.decline import FALSE_DISCOVERIES, FEWEST_CHECKS, LEAST
from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.checks.model import CheckedNode, ChecksFindings
from assay.subjects.checks.words import kind_text, named, state_text, title_of, verdict_of
from assay.units import (
    counted,
    format_change,
    format_duration,
    format_limit,
    format_minute,
    format_share,
)

QUESTION = "checks"
TITLE = "Which nodes are unhealthy?"
# Most nodes in recommendations, and the share of undecided checks from which advice is given.
_MOST_NAMED = 5
_MANY_UNDECIDED = 0.05


def answer(found: ChecksFindings) -> Answer:
    """The verdict on the fleet; unmeasured before its first check."""
    checks = found.healthy + found.unhealthy + found.undecided
    answered = checks > 0
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered" if answered else "unmeasured",
        verdict=verdict_of(found),
        confidence=confidence if answered else None,
        confidence_why=why if answered else "",
        evidence=_evidence(found, checks) if answered else [],
        advice=_advice(found, checks),
        caveats=_caveats(found),
        method=[
            "A node fails if its last decided check did. Undecided checks count neither way. "
            "`assay check` decides each check by the fleet's baseline, with the rate of false "
            "drains that --false-drains sets.",
            "A node becomes slower if the values of a component fall against those of its kind "
            f"over at least {FEWEST_CHECKS} checks, by at least {format_limit(LEAST)} in total, by "
            "Mann's test for a trend with the fleet's common course removed, or if its present "
            "level lies below its own first checks. Of the nodes named, on average at most "
            f"{format_limit(FALSE_DISCOVERIES)} are named by chance.",
            "Trends, days and reasons cover the recent checks that the nodes' files still have in "
            "full. Numbers of checks cover all.",
        ],
        limits=_limits(found),
    )


def _confidence(found: ChecksFindings) -> tuple[Confidence, str]:
    decided = [node.healthy + node.unhealthy for node in found.nodes]
    enough = sum(number >= FEWEST_CHECKS for number in decided)
    share = enough / len(decided) if decided else 0.0
    why = (
        f"{enough:,} of {counted(len(decided), 'node')} have the {FEWEST_CHECKS} decided checks "
        "that a trend takes."
    )
    return ("high" if share >= 0.95 else "medium" if share >= 0.5 else "low"), why


def _evidence(found: ChecksFindings, checks: int) -> list[Evidence]:
    since = f"since {format_minute(found.since)} UTC" if found.since else ""
    rows = [
        Evidence("Nodes", "nodes", "", len(found.nodes)),
        Evidence("Nodes that fail", "failing", "", len(found.of("failing"))),
        Evidence("Nodes that become slower", "declining", "", len(found.of("declining"))),
        Evidence("Checks", "checks", "", checks, note=since),
        Evidence("Unhealthy checks", "unhealthy", "1", found.unhealthy / checks),
        Evidence("Undecided checks", "undecided", "1", found.undecided / checks),
    ]
    return [row for row in rows if row.value or row.metric in ("nodes", "failing")]


def _advice(found: ChecksFindings, checks: int) -> list[str]:
    advice = [
        f"{node.host}: {_found_text(node)}. Repair it, and return it to service by hand."
        for node in found.of("failing")[:_MOST_NAMED]
    ]
    left = len(found.of("failing")) - _MOST_NAMED
    if left > 0:
        advice.append(f"{state_text('failing', left)} besides these; the table names all.")
    advice += [
        f"Look for a common cause of {format_change(each.change, each.interval)} in "
        f"{title_of(each.component)} on all nodes of kind {each.kind}, such as the room's "
        "temperature, a new kernel or new firmware."
        for each in found.declining_kinds[:_MOST_NAMED]
    ]
    silent = found.of("silent")
    if silent:
        advice.append(
            f"See whether {named([node.host for node in silent])} should be in service: no check "
            f"for more than {format_duration(found.silent_after)}."
        )
    if checks and found.undecided / checks > _MANY_UNDECIDED and found.reasons:
        most = found.reasons[0]
        advice.append(
            f"{format_share(found.undecided / checks)} of the checks were undecided. The most "
            f"frequent reason is: {most.example} ({counted(most.checks, 'check')} on "
            f"{counted(most.nodes, 'node')})."
        )
    return advice


def _found_text(node: CheckedNode) -> str:
    since = f" since {format_minute(node.since)} UTC" if node.since else ""
    return f"{node.text or 'no reason recorded'}{since}, {counted(node.times, 'check')}"


def _caveats(found: ChecksFindings) -> list[str]:
    caveats = []
    failed = found.of("failed")
    if failed:
        caveats.append(
            f"{state_text('failed', len(failed))}: repaired, or a fault that comes and goes."
        )
    if found.kinds.get("") and len(found.nodes) > found.kinds[""]:
        caveats.append(
            f"{counted(found.kinds[''], 'node')} had no baseline at the last check, so nothing was "
            "compared there."
        )
    if found.divided:
        facts = ", ".join(sorted({each.fact for each in found.divided})[:_MOST_NAMED])
        caveats.append(
            f"Nodes of one kind differ in {counted(len(found.divided), 'fact')} ({facts}): no node "
            "fails for these, and the table shows the groups."
        )
    caveats += [f"{each.kind}: {each.why}" for each in found.without_baseline]
    caveats += [f"{each.kind}: {each.why}" for each in found.waiting]
    return caveats


def _limits(found: ChecksFindings) -> list[str]:
    few = [kind for kind, nodes in found.kinds.items() if kind and nodes < 5]
    limits = []
    if few:
        limits.append(
            f"Kinds with fewer than 5 nodes ({', '.join(map(kind_text, few))}) have no common "
            "course of their own: a trend there may be one of the room."
        )
    return limits
