"""The answer on the network under load: which pattern hurts whom, and what that allows to say."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import Point, choice_note, measured_text, quantity_text
from assay.questions.network.congestion.findings import (
    TO_ONE,
    UNAFFECTED,
    CongestionFindings,
    Declined,
    JudgedImpact,
)
from assay.questions.network.congestion.impacts import BEYOND, Impact, direction
from assay.questions.network.congestion.losses import EXAMPLE, ProgramLoss, VictimLoss
from assay.units import (
    Interval,
    counted,
    counted_verb,
    format_memory,
    format_quantity,
    format_share,
    format_size,
    listed,
)

_METHOD = (
    "Network under load: victims and aggressors have nodes of their own, drawn by a seed. Blocks "
    "of quiet and loaded operations take turns within a launch. The impact is a quantile of a "
    "launch's loaded operations over the same of its quiet ones. Its interval comes from the order "
    "statistics of the launches. The patterns follow Chunduri et al. (2019), whose factors compare "
    "means and 99th percentiles of a single run."
)
_CANT_SAY = (
    "MPI doesn't report which traffic class or route a message takes. Whether one of them isolates "
    "follows from two runs, with and without it: `assay compare`."
)
_LOSS_METHOD = (
    "Run time under load ÷ quiet run time = 1 + sum of share × (ratio of means - 1), over kinds of "
    "calls. It assumes messages of about the victim's size, calls that don't overlap computing, "
    "and a load that lasts. Waiting for late ranks is part of a call's time but doesn't grow with "
    "load, so the result is an upper limit."
)
_MOST_NAMED = 4  # pairs in a sentence


def part(found: CongestionFindings) -> Part | None:
    """The part on the network under load."""
    part = Part(headline=[found.worst_ratio], method=[_METHOD])
    part.evidence += _evidence(found)
    part.remark = _remark(found)
    part.advice += [*_isolation(found), *_growth(found), *_costs(found)]
    part.caveats += [*_controls(found), *_faster(found.judged)]
    part.limits += [*map(_declined, found.declined), _CANT_SAY]
    if found.losses:
        part.method.append(_LOSS_METHOD)
    return part


# ---- verdict ---------------------------------------------------------------------------------


def _remark(found: CongestionFindings) -> str:
    """Which pattern hurts whom most, and how many pairs it concerns."""
    worst, point = found.worst, found.worst_ratio
    pairs = len(found.judged)
    compared = direction(point, found.comparisons, found.equal(worst.victim))
    shown = quantity_text(point.metric.median, "", point.metric.ci95)
    if compared.direction == "more":
        clause = (
            f"{_title(worst)} has {shown} the quiet network's {found.worst_of}, the largest of "
            f"{counted(pairs, 'pair')}"
        )
        return f"under load, {clause}; {_slower_text(found)}"
    if found.slower:
        return f"under load, {_slower_text(found)}"
    if point.metric.ci95 is None:
        return (
            f"under load, {_title(worst)} has {shown} the quiet network's {found.worst_of} "
            "(too few launches for an interval)"
        )
    return (
        f"no load is seen to slow a victim: the largest ratio of {found.worst_of}s is "
        f"{shown} ({_title(worst)})"
    )


def _slower_text(found: CongestionFindings) -> str:
    slower, pairs = found.slower, len(found.judged)
    text = f"load slows victims in {len(slower)} of {counted(pairs, 'pair')}"
    return text if len(slower) > 1 or pairs > 1 else "load slows the victim"


def _title(impact: Impact) -> str:
    """``allreduce (8 B) beside incast``."""
    setting = f", {impact.setting}" if impact.setting else ""
    return f"{impact.victim} ({format_size(impact.bytes)}) beside {impact.aggressor}{setting}"


# ---- evidence --------------------------------------------------------------------------------


def _evidence(found: CongestionFindings) -> list[Evidence]:
    """The ratios of each victim beside the aggressor with its largest ratio, and the loss."""
    rows = []
    for victim in dict.fromkeys(each.impact.victim for each in found.judged):
        own = [each.impact for each in found.judged if each.impact.victim == victim]
        top = max(own, key=lambda each: each.worst.metric.median)
        most = f"largest of {counted(len(own), 'aggressor')}" if len(own) > 1 else ""
        for quantile, point in top.ratios().items():
            chosen = top is found.worst and quantile == found.worst_of
            rows.append(
                _row(f"{_title(top)}, {quantile}", found.worst_ratio if chosen else point, most)
            )
    if found.program is not None:
        rows += _program_rows(found.program)
    return rows


def _row(label: str, point: Point, note: str) -> Evidence:
    chosen = choice_note(point.among, "largest of {} comparable ratios")
    return Evidence(
        label=label,
        metric="slowdown",
        unit="",
        value=point.metric.median,
        ci95=point.metric.ci95,
        cells=[point.summary.id],
        note="; ".join(filter(None, (note, chosen))),
    )


def _program_rows(program: ProgramLoss) -> list[Evidence]:
    return [
        Evidence(
            label=f"Run time added by load, {each.victim} calls of the profiled program",
            metric="lost",
            unit="1",
            value=each.lost,
            ci95=each.lost_ci95,
            note=f"{format_share(each.share)} of its run time; beside {each.aggressor}",
        )
        for each in program.calls
    ]


# ---- advice ----------------------------------------------------------------------------------


def _isolation(found: CongestionFindings) -> list[str]:
    """What follows on the isolation of jobs from each other, and what doesn't."""
    if all(each.unaffected for each in found.judged):
        return [
            f"All 95% intervals end below {UNAFFECTED:.1f}× "
            f"({counted(len(found.judged), 'pair')}): these victims are isolated from this load"
            f"{_load_text(found)}. Whether spare bandwidth, routing or traffic classes isolate "
            "them isn't shown, nor what other placements or more aggressors do."
        ]
    spreading = [each.impact for each in found.slower if each.impact.aggressor in TO_ONE]
    if spreading:
        return [
            f"{_names(spreading)}. An incast overloads the link of one node, which no victim uses, "
            "so its congestion spreads to other traffic. Routing and traffic classes, as this run "
            "had them, don't isolate these victims. Congestion control of the network, or a "
            "traffic class for small messages, is worth a test."
        ]
    contained = [
        each for each in found.judged if each.impact.aggressor in TO_ONE and each.unaffected
    ]
    shared = [each.impact for each in found.slower]
    if contained and shared:
        victims = listed([each.impact.victim for each in contained])
        return [
            f"An incast among other nodes leaves {victims} within {UNAFFECTED:.1f}×, so its "
            f"congestion stays where it is. {_names(shared)}. These patterns compete for links "
            "between switches. Jobs on as few switches as possible, or more such links, lessen it."
        ]
    return []


def _names(impacts: Sequence[Impact]) -> str:
    """``Load slows allreduce beside incast, halo beside incast and 2 more``."""
    named = [each.name for each in impacts[:_MOST_NAMED]]
    more = len(impacts) - len(named)
    return f"Load slows {listed([*named, *([f'{more} more'] if more else [])])}"


def _load_text(found: CongestionFindings) -> str:
    """The rate of the aggressors at their largest share; "" if unknown."""
    loads = [
        each.impact.load / each.impact.aggressors
        for each in found.judged
        if each.impact.load and each.impact.aggressors
    ]
    if not loads:
        return ""
    low, high = (format_quantity(end, "B/s") for end in (min(loads), max(loads)))
    return (
        f" (received by each aggressor in the mean: {low if low == high else f'{low} to {high}'})"
    )


def _growth(found: CongestionFindings) -> list[str]:
    """From which share of the aggressors on the worst pair is slower."""
    ramp = next((each for each in found.ramps if each.steps[-1] is found.worst), None)
    if ramp is None or ramp.slower_from is None:
        return []
    top = ramp.steps[-1]
    start = {
        ramp.steps[0].share: f"already with {_share(ramp.slower_from)} of the aggressors active",
        top.share: f"with {_share(ramp.slower_from)} of the aggressors active",
    }.get(ramp.slower_from, f"with {_share(ramp.slower_from)} or more of the aggressors active")
    grows = ""
    if ramp.grows:
        grown = quantity_text(ramp.growth.value, "", ramp.growth.ci95)
        grows = (
            f"; from {_share(ramp.steps[0].share)} to {_share(top.share)} its ratio grows {grown}"
        )
    setting, size = f", {top.setting}" if top.setting else "", format_size(top.bytes)
    return [f"Beside {top.aggressor}{setting}, {top.victim} ({size}) is slower {start}{grows}."]


def _share(share: float) -> str:
    return "all" if share == 1.0 else f"{share:.0%}"


def _costs(found: CongestionFindings) -> list[str]:
    """What load costs the profiled program, else an application with a given share of calls."""
    if found.program is not None and found.program.calls:
        return [_program_text(found.program)]
    costly = [
        each
        for each in found.losses
        if direction(each.mean, len(found.losses), found.equal(each.impact.victim)).direction
        == "more"
    ]
    if not costly:
        return []
    top = max(costly, key=lambda each: each.mean.metric.median)
    return [
        f"An application that spends {EXAMPLE:.0%} of its quiet run time in {_calls(top)} takes up "
        f"to {_added(*top.lost(EXAMPLE))} longer beside {top.impact.aggressor}. `assay report "
        "--profile FOLDER` says it for a program that `assay profile` measured."
    ]


def _calls(loss: VictimLoss) -> str:
    plural = {"pingpong": "blocking messages", "halo": "halo exchanges"}
    what = plural.get(loss.impact.victim, f"{loss.impact.victim} calls")
    return f"{what} of {format_size(loss.impact.bytes)}"


def _program_text(program: ProgramLoss) -> str:
    parts = [
        f"{format_share(each.share)} of its run time is in {listed(list(each.functions))} (beside "
        f"{each.aggressor})"
        for each in program.calls
    ]
    unlike = [each for each in program.calls if not each.alike and each.bytes is not None]
    text = (
        f"Beside the worst load the profiled program takes up to "
        f"{_added(program.lost, program.lost_ci95)} longer: {'; '.join(parts)}."
    )
    if unlike:
        sizes = [
            f"{each.victim} calls send {format_memory(each.bytes or 0.0)} and were measured with "
            f"{format_size(each.measured_bytes)}"
            for each in unlike
        ]
        text += f" Its messages differ from the victims': {'; '.join(sizes)}."
    if program.other > 0.005:
        text += (
            f" Calls that no measured victim stands for, {format_share(program.other)} of its run "
            "time, are left out."
        )
    return f"{text}{f' The profile is doubtful: {program.doubt}.' if program.doubt else ''}"


def _added(value: float, interval: Interval | None) -> str:
    """A share that is added to the run time, at least 0."""
    ends = None if interval is None else (max(interval[0], 0.0), max(interval[1], 0.0))
    return format_share(max(value, 0.0), ends)


# ---- caveats and limits ----------------------------------------------------------------------


def _controls(found: CongestionFindings) -> list[str]:
    """Controls that differ from 1."""
    said = [f"{victim} {measured_text(found.controls[victim].worst)}" for victim in found.refuted]
    if not said:
        return []
    return [
        f"Without aggressors both blocks should take as long, but their ratio is {listed(said)}: "
        "something else differs between them. Only ratios above it count as slower."
    ]


def _faster(judged: Sequence[JudgedImpact]) -> list[str]:
    faster = [each.impact.name for each in judged if each.faster and not each.slower]
    if not faster:
        return []
    names = listed(faster[:_MOST_NAMED])
    return [
        f"{counted_verb(len(faster), 'pair', 'are')} faster beside load ({names}): links or cores "
        "may save power on a quiet network, so that its times aren't the fastest ones."
    ]


def _declined(declined: Declined) -> str:
    """Why ratios of a quantile are missing."""
    fewest = "" if declined.operations is None else f"; the fewest are {declined.operations:,}"
    return (
        f"No ratio of {declined.quantile}s is given for {declined.pairs} of "
        f"{counted(declined.of, 'pair')}: it needs {declined.needed:,} operations per launch and "
        f"phase, {BEYOND} beyond the quantile{fewest}."
    )
