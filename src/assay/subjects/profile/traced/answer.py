"""The answer on waiting and on networks, from a trace."""

from __future__ import annotations

from assay.models.program.prediction import BETWEEN_LAUNCHES
from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.profile.advice import advice_of, sure_evidence
from assay.subjects.profile.doubts import (
    LEAVES_RANGE,
    Doubts,
    ProgramStatement,
    left_out,
    trace_doubts,
    with_prediction,
)
from assay.subjects.profile.launches import doubtful_sentence, launches_sentence
from assay.subjects.profile.traced.model import NetworkSensitivity, RunTimeOn, TraceFindings
from assay.subjects.profile.traced.savings import named, savings
from assay.units import (
    counted_verb,
    format_change,
    format_duration,
    format_quantity,
    format_share,
    listed,
)

QUESTION = "trace"
TITLE = "Where does the program wait, for which ranks, and what would another network change?"
# Share of the run time that the network may cost in the verdict.
_COST = 0.05
# Share of the waiting without an origin above which confidence is low.
_MUCH = 0.05
_MOST_FOLLOWED = 0.99
# Share of the run time below which waiting isn't worth a sentence. Share of the run time in MPI
# that wasn't analysed above which the absence of waiting isn't certain. Share of the time in MPI
# that counts as all of it. Maximum number of named functions.
_NOTHING, _HARDLY, _ALL, _MOST_SKIPPED = 0.0005, 0.01, 0.9995, 3
# Maximum number of the user's networks that the verdict names.
_MOST_OWN = 2
_SLOW = "Gigabit Ethernet"
# Statements that a doubt may remove, in the order of the report.
_LEFT_OUT: tuple[ProgramStatement, ...] = (
    "efficiency", "ideal", "computing", "path", "origin", "need", "run time", "link", "saving",
    "model saving",
)  # fmt: skip


def answer(found: TraceFindings) -> Answer:
    """The verdict: waiting and its main origin, and what network the program needs."""
    doubts = trace_doubts(found)
    confidence, why = _confidence(found, doubts)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=f"{_waiting(found, doubts)} {_needs(found, doubts)}".strip(),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found, doubts),
        advice=advice_of(doubts, savings(found)),
        caveats=_caveats(found, doubts),
        method=[
            "Waiting is the time from the begin of a call to the begin of the call of another "
            "rank that it needs (Scalasca's wait states). Its origin is the place where the "
            "late rank spent more time than the waiting rank since both were last at the same "
            "point. Waiting for a rank that itself waited is handed on (delay costs, Böhme et "
            "al. 2016).",
            "Serialisation and transfer follow from the longest path of the execution graph on "
            "a network where messages take no time (POP Centre of Excellence).",
            "A run time on another network is the longest path of the execution graph with "
            "LogGP costs (LLAMP, SC24).",
            "For other numbers of ranks and problem sizes, computation is divided among the "
            "ranks. Bytes between neighbours grow as the surface of a rank's part (exponent "
            "2/3; range 1/2 to 1). Trees grow with log2 of the number of ranks, and exchanges "
            "of all data grow with the number of ranks.",
        ],
        limits=_limits(found),
    )


def _waiting(found: TraceFindings, doubts: Doubts) -> str:
    if not found.causes or found.waiting < _NOTHING:
        if _unseen(found) > _HARDLY:
            return f"No waiting was found, but not all was analysed: {_analysed(found)}"
        return f"The ranks don't wait for each other: {_analysed(found)}"
    main = found.causes[0]
    least = "At least " if doubts.about("waiting") else ""
    text = f"{least}{format_share(found.waiting)} of the time is waiting, most of it {main.cause}"
    text += f"; {_analysed(found)}"
    if found.origins and not doubts.about("origin"):
        origin = found.origins[0]
        text += f" {format_share(origin.share)} of the waiting is caused by {named(origin)}."
    return text


def _unseen(found: TraceFindings) -> float:
    """The time in MPI that wasn't analysed, as a share of all ranks' wall time."""
    return (1.0 - found.analysed) * found.inside / (found.wall * found.ranks)


def _analysed(found: TraceFindings) -> str:
    text = f"of the {format_duration(found.inside)} in MPI"
    if found.analysed >= _ALL:
        return f"{text}, all were analysed."
    rest = ", ".join(one.function for one in found.skipped[:_MOST_SKIPPED])
    return (
        f"{text}, {format_share(found.analysed)} were analysed; waits in the rest"
        f"{f' ({rest})' if rest else ''} are unknown."
    )


def _needs(found: TraceFindings, doubts: Doubts) -> str:
    network = found.network
    if network is None:
        return ""
    needed = next(one for one in network.needed if one.share == _COST)
    if needed.latency is None and needed.bandwidth is None:
        # What isn't analysed keeps its time in the model, whatever the network.
        sure = _unseen(found) <= _HARDLY and not doubts.about("need")
        return "It doesn't need a network between hosts." if sure else ""
    doubt = doubts.because("need")
    if doubt:
        unknown = (
            f"The network that it needs and its run time on other networks are unknown: {doubt}."
        )
        return f"{unknown}{_on_own(network, doubts)}"
    parts = []
    if needed.latency is not None:
        parts.append(f"a latency under {format_quantity(needed.latency, 's')}")
    if needed.bandwidth is not None:
        parts.append(f"{format_quantity(needed.bandwidth, 'B/s')} per rank")
    slow = _prediction(network, _SLOW)
    each = "each costs" if len(parts) > 1 else "this costs"
    text = (
        f"It needs {' and '.join(parts)}, so that {each} at most {format_share(_COST)} of the run "
        "time"
    )
    if slow is not None:
        text += f"; on Gigabit Ethernet {_longer(slow, with_prediction(doubts, slow))}"
    return f"{text}.{_on_own(network, doubts)}"


def _own(network: NetworkSensitivity) -> list[RunTimeOn]:
    """The predictions for the user's networks."""
    return [one for one in network.predictions if one.own]


def _on_own(network: NetworkSensitivity, doubts: Doubts) -> str:
    """Sentences on the run times on the user's networks."""
    return "".join(
        f" On {one.interconnect} {_longer(one, with_prediction(doubts, one))}."
        for one in _own(network)[:_MOST_OWN]
    )


def _prediction(network: NetworkSensitivity, name: str) -> RunTimeOn | None:
    return next((one for one in network.predictions if one.interconnect.startswith(name)), None)


def _longer(of: RunTimeOn, doubts: Doubts) -> str:
    """A clause on the change of the run time: ``it would take z ± w% longer``.

    If in doubt, its range, or why it is unknown.
    """
    doubt = doubts.about("run time")
    if doubt is not None and doubt.kind not in LEAVES_RANGE:
        return f"its run time is unknown because {doubt.reason}"
    if doubt is not None:
        span = f"{format_duration(of.low)} to {format_duration(of.high)}"
        return f"it may take {span}; this is doubtful because {doubt.reason}"
    recorded = of.seconds / of.ratio if of.ratio > 0.0 else 0.0
    if of.low <= recorded <= of.high and of.high > of.low:
        low, high = (format_change(end / recorded - 1.0) for end in (of.low, of.high))
        return f"its run time is not distinguishable from this one ({low} to {high})"
    change = 100.0 * (of.ratio - 1.0)
    width = 50.0 * (of.high - of.low) / of.seconds * of.ratio if of.seconds > 0.0 else 0.0
    digits = 0 if max(abs(change), width) >= 10.0 else 1
    way = "longer" if change >= 0.0 else "less"
    return f"it would take {abs(change):.{digits}f} ± {width:.{digits}f}% {way}"


def _confidence(found: TraceFindings, doubts: Doubts) -> tuple[Confidence, str]:
    if found.unknown:
        return "low", "The trace has gaps."
    if doubts.found:
        return "low", doubtful_sentence(doubts, found.launches)
    if found.unexplained > _MUCH:
        return "low", f"{format_share(found.unexplained)} of the waiting has no origin."
    return "medium", f"The trace is complete. {launches_sentence(found.launches)}"


def _evidence(found: TraceFindings, doubts: Doubts) -> list[Evidence]:
    of = found.efficiencies
    rows: list[tuple[ProgramStatement | None, Evidence]] = [
        ("efficiency", Evidence("Parallel efficiency", "parallel", "1", of.parallel)),
        ("efficiency", Evidence("Load balance", "load_balance", "1", of.load_balance)),
    ]
    if of.serialisation is not None and of.transfer is not None:
        order = Evidence("Serialisation efficiency", "serialisation", "1", of.serialisation)
        transfer = Evidence("Transfer efficiency", "transfer", "1", of.transfer)
        rows += [("ideal", order), ("ideal", transfer)]
    least = ", at least" if doubts.about("waiting") else ""
    label = f"Waiting, share of wall time{least}"
    rows.append((None, Evidence(label, "waiting", "1", found.waiting)))
    network = found.network
    if network is not None:
        messages = Evidence("Messages in a row between hosts", "messages", "1", network.messages)
        size = Evidence("Bytes in a row between hosts", "bytes", "B", network.bytes)
        misfit = Evidence("Model ÷ measured run", "misfit", "1", 1.0 + network.misfit)
        rows += [("need", messages), ("need", size), (None, misfit)]
        rows += [
            (None, Evidence(f"Run time on {one.interconnect}", f"run_time_{number}", "s",
                            one.seconds,
                            note=f"{format_duration(one.low)} to {format_duration(one.high)}"))
            for number, one in enumerate(_own(network), 1)
            if not with_prediction(doubts, one).about("run time")
        ]  # fmt: skip
    return sure_evidence(doubts, rows)


def _doubts(network: NetworkSensitivity) -> list[str]:
    """Which predictions are doubtful, and why."""
    reasons: dict[str, list[str]] = {}
    for one in network.predictions:
        if one.doubt:
            reasons.setdefault(one.doubt, []).append(one.interconnect)
    return [f"The run time on {listed(names)} is doubtful. {why}" for why, names in reasons.items()]


def _caveats(found: TraceFindings, doubts: Doubts) -> list[str]:
    caveats = [*found.unknown, *left_out(doubts, _LEFT_OUT)]
    network = found.network
    if network is not None:
        if network.doubt:
            caveats.append(f"{network.doubt} Predictions of run times are doubtful.")
        caveats += _doubts(network)
        if len(found.launches) < 2:
            caveats.append(
                "Ranges of run times on other networks assume that launches differ by "
                f"{format_share(BETWEEN_LAUNCHES)}. If launches differ more, the ranges are too "
                "narrow; `--launches 3` measures it."
            )
        if network.spread:
            caveats.append(
                "The program ran on one host. Other networks are modelled with each rank on its "
                "own host, computing as fast as in this run."
            )
        between = next(one for one in network.links if one.link == "between hosts")
        if not network.spread and between.observations and between.bandwidth is None:
            caveats.append("Message sizes differ too little to separate latency and bandwidth.")
    if found.iterations is not None and found.iterations.ranks < found.ranks:
        odd = found.ranks - found.iterations.ranks
        caveats.append(
            f"{counted_verb(odd, 'rank', 'repeat')} calls in a different pattern than the rest, so "
            "phases are approximate."
        )
    return caveats


def _limits(found: TraceFindings) -> list[str]:
    limits = [
        "Waiting shorter than the clock error between hosts "
        f"({format_duration(found.clock_error)}) isn't detected."
    ]
    if found.cut > 0.0:
        limits.append(
            "All times cover only the regions in which the program has the trace switched on "
            f"(MPI_Pcontrol); {format_duration(found.cut)} between them are left out."
        )
    if found.followed < _MOST_FOLLOWED:
        limits.append(
            f"Origins were searched only for the longest waits, {format_share(found.followed)} "
            "of all waiting."
        )
    if found.network is not None:
        limits.append(found.network.algorithms)
        if found.network.iterations is not None and found.iterations is not None:
            limits.append(
                f"Other networks are modelled with {found.network.iterations:,} of the "
                f"{found.iterations.times:,} iterations. The time before and after these is as "
                "measured."
            )
        limits.append(
            "Ratios at more than 4 times the run's ranks or size, or less than a quarter, are "
            "extrapolated by the laws above."
        )
    return limits
