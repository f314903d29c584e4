"""The answer on why a program isn't faster."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.why.costs import FEW, LEAST
from assay.subjects.why.model import NODE_REASONS, WhyFindings, WhyReason
from assay.subjects.why.reasons import code_text
from assay.units import capitalised, counted, format_duration, format_quantity, format_share, listed

QUESTION = "why"
TITLE = "Why isn't it faster, and what should I change first?"


def answer(found: WhyFindings) -> Answer:
    """The first reason with its cost, the place, the change, and what stays undecided."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=_verdict(found),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=[*_undecided(found), *_doubtful(found), *found.unknown],
        method=[
            "A library preloaded into the unmodified program records every MPI call, and on each "
            "rank's node the time without a CPU, the CPU quota, the CPUs that it may use and the "
            "speed of its CPU.",
            "The run time is divided by replays of the execution graph: without what the nodes "
            "take, without the time of messages, without waiting. The parts add up to the run "
            "time. Waiting is divided by its origins (delay costs, Böhme et al. 2016).",
            "In a further launch the ranks of a node compute in turn for some time. The same "
            "computing is compared with the other launches.",
        ],
        limits=[
            f"A reason stands out if it costs at least {format_share(LEAST)} of the run time in "
            "most launches. Costs of the memory and of too many ranks overlap with others.",
            "Work that all ranks repeat looks like work that they share.",
        ],
    )


def first_reason(found: WhyFindings) -> WhyReason | None:
    """The first reason; None if none stands out, or if the question is undecided."""
    return next((one for one in found.reasons if found.first and one.name == found.first), None)


def cost_text(reason: WhyReason) -> str:
    """The cost in s with its interval; "unknown" without one."""
    if reason.seconds is None or reason.low is None or reason.high is None:
        return "unknown"
    if reason.low == reason.high == 0.0:
        return "0 s"
    return format_quantity(reason.seconds, "s", (reason.low, reason.high))


def _verdict(found: WhyFindings) -> str:
    run = f"{format_duration(found.seconds)} with {counted(found.ranks, 'rank')}"
    if found.undecided:
        return f"Undecided: {found.undecided}. The program takes {run}."
    first = first_reason(found)
    if first is None:
        rest = _open(found)
        said = "Nothing"
        if rest:
            said = f"Undecided: {listed([one.name for one in rest])}. No other reason"
        return (
            f"{said} stands out: of {run}, {format_share(_useful(found))} is computing that no "
            f"reason explains.{_hottest(found)}"
        )
    place = f" Look first at {first.where}." if first.where else ""
    return (
        f"{capitalised(first.name)}: it costs {cost_text(first)}, {format_share(first.share)} of "
        f"{run}. {first.evidence}{_busiest(found)}{place}"
    )


def _hottest(found: WhyFindings) -> str:
    """The line with most of the computing time; "" without samples."""
    if found.hottest is None:
        return ""
    share = format_share(found.hottest.share)
    return f" {capitalised(share)} of it is in {code_text(found.hottest)}."


def _busiest(found: WhyFindings) -> str:
    """The busiest other process of the host on which assay ran; "" if it isn't the question."""
    if found.first != "other processes" or not found.others:
        return ""
    one = found.others[0]
    return f" The busiest where assay ran was {one.name} with {one.cpus:.2g} CPUs."


def _useful(found: WhyFindings) -> float:
    return found.computing / found.seconds if found.seconds > 0.0 else 0.0


def _open(found: WhyFindings) -> list[WhyReason]:
    return [one for one in found.reasons if one.outcome == "undecided"]


def _advice(found: WhyFindings) -> list[str]:
    """The change to try, then the other reasons that stand out."""
    if found.undecided:
        return ["Ask again on nodes that have nothing else to do, or with a longer run."]
    first = first_reason(found)
    if first is None:
        return []
    advice = [_try(first)]
    if first.name not in NODE_REASONS:
        others = [one for one in found.reasons if one.outcome == "stands out" and one is not first]
        others.sort(key=lambda one: -(one.seconds or 0.0))
        advice += [f"Then, for {one.name}: {_try(one)}" for one in others]
    return advice


def _try(one: WhyReason) -> str:
    gain = "" if one.gain is None else f" It would save up to {format_duration(one.gain)} per run."
    return f"{one.change}{gain}"


def _undecided(found: WhyFindings) -> list[str]:
    """Why reasons are undecided: one sentence per reason why."""
    by_why: dict[str, list[str]] = {}
    for one in _open(found):
        if one.seconds is None:
            by_why.setdefault(one.evidence, []).append(one.name)
    sentences = [f"Undecided for {listed(names)}: {why}" for why, names in by_why.items()]
    wide = [one for one in _open(found) if one.seconds is not None]
    if wide and not found.undecided and found.first not in NODE_REASONS:
        costs = ", ".join(f"{one.name} {cost_text(one)}" for one in wide)
        sentences.append(f"More launches would decide (`--budget`, `--launches`): {costs}.")
    return sentences


def _doubtful(found: WhyFindings) -> list[str]:
    if found.first in NODE_REASONS:
        return [
            "The node changes all other times. Ask again after the change, before another reason "
            "is looked at."
        ]
    return []


def _confidence(found: WhyFindings) -> tuple[Confidence, str]:
    plain = sum(1 for one in found.launches if one.kind == "plain")
    many = counted(plain, "plain launch")
    if found.undecided:
        return "low", capitalised(f"{found.undecided}.")
    if plain < FEW:
        return "low", f"There was time for {many} only."
    spread = (found.high - found.low) / 2.0 / found.seconds if found.seconds > 0.0 else 1.0
    agree = f"{many} agree to within {format_share(spread)} of the run time."
    if spread > LEAST or found.unknown:
        return "low", found.unknown[0] if found.unknown else agree
    return "medium", agree


def _evidence(found: WhyFindings) -> list[Evidence]:
    rows = [
        Evidence("Run time", "run_time", "s", found.seconds, (found.low, found.high)),
        Evidence("Computing that no reason explains", "computing", "s", found.computing),
    ]
    rows += [
        Evidence(
            capitalised(one.name), one.name.replace(" ", "_"), "s", one.seconds,
            None if one.low is None or one.high is None else (one.low, one.high),
            note=one.outcome,
        )
        for one in found.reasons
        if one.seconds is not None
    ]  # fmt: skip
    return rows
