"""Doubts about a measured program, and the statements that they make doubtful.

One table lists the statements that each doubt touches. All code that makes a statement (in a
verdict, advice, evidence, a table or a figure) asks here first. A touched statement is withheld, or
given as a range if the doubt leaves one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assay.models.program.prediction import DIFFERENT, MISFIT, SHORT
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.traced.model import RunTimeOn, TraceFindings
from assay.trace.model import NO_CPU, LaunchTime
from assay.units import counted, format_duration, format_share, listed

# What can be wrong with a measurement: ranks had no CPU; ranks or their calls are missing; part of
# the time in MPI isn't analysed; the run was short; launches differ; the model differs from the
# run; some calls have no call site. The last kind concerns a single prediction.
DoubtKind = Literal[
    "no cpu", "gaps", "not analysed", "short", "launches", "misfit", "no room", "prediction"
]  # fmt: skip
KINDS: tuple[DoubtKind, ...] = get_args(DoubtKind)

# Statements about a program:
#   computing: computing times of ranks, also between calls
#   path: the critical path
#   efficiency: parallel, load balance and communication efficiency
#   grain: computation ÷ communication, here
#   waiting: the share of waiting
#   origin: the delay that causes the waiting
#   ideal: serialisation and transfer efficiency, from the time on an ideal network
#   link: latency, overhead and bandwidth, estimated from the messages
#   need: the required network, messages and bytes in a row, run time against latency
#   run time: on another network, and the grain there
#   saving: what a change of the program would save, from measured times
#   model saving: what a change would save, from the execution graph
#   site: the call sites that take the most time
ProgramStatement = Literal[
    "computing", "path", "efficiency", "grain", "waiting", "origin", "ideal", "link", "need",
    "run time", "saving", "model saving", "site",
]  # fmt: skip
STATEMENTS: tuple[ProgramStatement, ...] = get_args(ProgramStatement)

_MODEL: frozenset[ProgramStatement] = frozenset(("ideal", "need", "run time", "model saving"))
TOUCHED: dict[DoubtKind, frozenset[ProgramStatement]] = {
    # The operating system's scheduling determines the times of ranks.
    "no cpu": frozenset(STATEMENTS) - {"waiting"},
    # Sums and paths lack the missing ranks and calls.
    "gaps": frozenset(STATEMENTS) - {"link"},
    # Calls that aren't analysed keep their time in the model; waits in them are unknown.
    "not analysed": _MODEL | {"waiting", "origin", "saving", "path"},
    # Times of short runs differ by tens of percent from run to run.
    "short": _MODEL | {"saving"},
    "launches": _MODEL | {"saving"},
    "misfit": _MODEL,
    "no room": frozenset(("site",)),
    "prediction": frozenset(("run time",)),
}
# Doubts that still permit a range of the run time on another network.
LEAVES_RANGE: frozenset[DoubtKind] = frozenset(("short", "launches", "misfit", "prediction"))

# Shares above which a doubt counts: run time that isn't analysed, calls without a partner, calls
# without a call site.
_NOT_ANALYSED, _UNMATCHED, _NO_ROOM = 0.05, 0.01, 0.05


@dataclass(frozen=True)
class Doubt:
    """A reason to doubt some of the statements, and its remedy."""

    kind: DoubtKind
    #: The reason as a clause without a full stop.
    reason: str
    #: What removes the doubt, as a sentence that ends with the reason; "" if the user can't remove
    #: it.
    remedy: str


@dataclass(frozen=True)
class Doubts:
    """The doubts about one profile or trace, the most serious first."""

    found: tuple[Doubt, ...]

    def about(self, statement: ProgramStatement) -> Doubt | None:
        """The most serious doubt that touches a statement; None if there is none."""
        return next((one for one in self.found if statement in TOUCHED[one.kind]), None)

    def because(self, statement: ProgramStatement) -> str:
        """Why a statement can't be made, as a clause; "" if it can be made."""
        doubt = self.about(statement)
        return "" if doubt is None else doubt.reason

    @property
    def remedies(self) -> list[str]:
        """What removes the doubts, as advice."""
        return [one.remedy for one in self.found if one.remedy]


# Names of statements that are left out.
_NAMES: dict[ProgramStatement, str] = {
    "computing": "computing times",
    "path": "the critical path",
    "efficiency": "efficiencies",
    "grain": "the ratio of computation to communication",
    "origin": "origins of waiting",
    "ideal": "serialisation and transfer",
    "link": "the network of the run",
    "need": "the network that it needs",
    "run time": "run times on other networks",
    "saving": "what changes of the program would save",
    "model saving": "what larger messages would save",
    "site": "the call sites to look at first",
}


def left_out(doubts: Doubts, statements: Sequence[ProgramStatement]) -> list[str]:
    """The statements that aren't made, and why: one sentence per reason."""
    by_reason: dict[str, list[str]] = {}
    for statement in statements:
        doubt = doubts.about(statement)
        if doubt is not None:
            by_reason.setdefault(doubt.reason, []).append(_NAMES[statement])
    return [f"Unknown, because {reason}: {listed(names)}." for reason, names in by_reason.items()]


def computing_label(doubts: Doubts) -> str:
    """Label of the measured time outside of MPI, which includes time without a CPU."""
    no_cpu = any(one.kind == "no cpu" for one in doubts.found)
    return "Computing, or without a CPU" if no_cpu else "Computing"


def profile_doubts(found: ProfileFindings) -> Doubts:
    """The doubts about a profile."""
    absent = f"{counted(len(found.absent), 'rank')} wrote no profile" if found.absent else ""
    lost = f"{format_share(found.lost)} of the calls have no call site"
    known = [
        _no_cpu(found.cpu_wait),
        _doubt("gaps", absent, "Profile the program again to its end, with all ranks: {}."),
        _short(found.wall),
        _launches(found.launches),
        _doubt(
            "no room",
            lost if found.lost > _NO_ROOM else "",
            "Profile again with room for more call sites (ASSAY_PROFILE_ENTRIES): {}.",
        ),
    ]
    return Doubts(tuple(one for one in known if one is not None))


def trace_doubts(found: TraceFindings) -> Doubts:
    """The doubts about a trace and the models built from it."""
    gaps = ""
    if found.incomplete:
        gaps = f"the trace of {counted(len(found.incomplete), 'rank')} ends early"
    elif found.unmatched > _UNMATCHED:
        gaps = f"{format_share(found.unmatched)} of the calls have no partner in the trace"
    rest = (1.0 - found.analysed) * found.inside / (found.wall * found.ranks)
    misfit = 0.0 if found.network is None else found.network.misfit
    known = [
        _no_cpu(found.cpu_wait),
        _doubt("gaps", gaps, "Trace the program to its end, with all ranks: {}."),
        _doubt(
            "not analysed",
            f"{format_share(1.0 - found.analysed)} of the time in MPI wasn't analysed"
            if rest > _NOT_ANALYSED
            else "",
        ),
        _short(found.wall),
        _launches(found.launches),
        _doubt(
            "misfit",
            f"the modelled run time is {format_share(abs(misfit))} "
            f"{'longer' if misfit > 0.0 else 'shorter'} than the measured one"
            if abs(misfit) > MISFIT
            else "",
        ),
    ]
    return Doubts(tuple(one for one in known if one is not None))


def with_prediction(doubts: Doubts, one: RunTimeOn) -> Doubts:
    """The doubts, including the doubt about a single prediction."""
    if not one.doubt:
        return doubts
    return Doubts((*doubts.found, Doubt("prediction", _clause(one.doubt), "")))


def _clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _doubt(kind: DoubtKind, reason: str, remedy: str = "") -> Doubt | None:
    """``remedy`` has a placeholder for the reason. None if there is no reason."""
    return Doubt(kind, reason, remedy.format(reason)) if reason else None


def _no_cpu(cpu_wait: float | None) -> Doubt | None:
    if cpu_wait is None or cpu_wait <= NO_CPU:
        return None
    return _doubt(
        "no cpu",
        f"ranks had no CPU for {format_share(cpu_wait)} of their time",
        "Give each rank a CPU of its own and profile again: {}.",
    )


def _short(wall: float) -> Doubt | None:
    return _doubt(
        "short",
        f"the program ran for {format_duration(wall)} only" if wall < SHORT else "",
        "Profile a longer run: {}.",
    )


def _launches(launches: Sequence[LaunchTime]) -> Doubt | None:
    if len(launches) < 2:
        return None
    seconds = sorted(one.seconds for one in launches)
    middle = seconds[len(seconds) // 2]
    spread = (seconds[-1] - seconds[0]) / middle if middle > 0.0 else 0.0
    return _doubt(
        "launches",
        f"launches differ by {format_share(spread)} of the run time" if spread > DIFFERENT else "",
        "Find out why launches differ, and profile again: {}.",
    )
