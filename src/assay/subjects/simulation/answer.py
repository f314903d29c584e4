"""The answer on how long a program would take on a described cluster."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence
from assay.questions.common.confidence import WIDE
from assay.questions.common.ratios import range_text
from assay.questions.common.selection import quantity_text, scaled
from assay.questions.common.tables import Table, TableBuilder, fact_table, quantity
from assay.simulation.calibration import FAR
from assay.simulation.simgrid import HOW
from assay.stats.compare.directions import compared
from assay.stats.core.intervals import relative_half_width
from assay.subjects.right_rates import RIGHT
from assay.subjects.simulation.model import SimulationFindings
from assay.units import (
    capitalised,
    counted,
    format_duration,
    format_half_width,
    format_minute,
    format_quantity,
    format_share,
)

TITLE = "How long would the program take on this cluster?"
# Relative difference of simulation and closed form above which both are doubtful.
_FAR = 0.15
# Least ratio of the mean over draws to the time with steady nodes that is worth a sentence.
_SEEN = 1.01


def answer(found: SimulationFindings) -> Answer:
    """The answer: verdict, confidence, caveats and method."""
    confidence, why = _confidence(found)
    return Answer(
        question="design",
        title=TITLE,
        status="answered",
        verdict=_verdict(found),
        confidence=confidence,
        confidence_why=why,
        advice=[*([] if found.simulator else [HOW]), *found.remedies],
        caveats=[*_caveats(found), *found.left_out, *found.unknown],
        method=[*_method(found), *_interval_text(found)],
        limits=[
            "Computing times come from the measured machine, scaled by the relative speed in "
            "the description. Closed form: docs/methods/program.md, docs/methods/machine.md.",
        ],
    )


def _verdict(found: SimulationFindings) -> str:
    text = f"{found.program} with {counted(found.ranks, 'rank')} on {found.cluster}: "
    if found.simulated is not None:
        seconds = found.simulated if found.mean is None else found.mean
        text += format_quantity(seconds, "s", found.interval)
        text += f" by {found.simulator}"
        if found.closed_form is not None:
            text += f", {_closed(found)} by the closed form"
    elif found.closed_form is not None:
        text += f"{_closed(found)} by the closed form; not simulated, because SimGrid was not found"
    if found.recorded is not None:
        text += f" (recorded: {format_duration(found.recorded)})"
    if found.doubt:
        text += f"; doubtful, because {found.doubt}"
    return f"{text}."


def _closed(found: SimulationFindings) -> str:
    assert found.closed_form is not None
    return format_quantity(found.closed_form, "s", found.closed_interval)


def _confidence(found: SimulationFindings) -> tuple[Confidence, str]:
    """Medium if intervals like this one hold for 90% of measured runs, else low."""
    if found.error_runs is None:
        return "low", (
            "No run of such a program was compared with a simulation, so the error of the "
            "time is unknown."
        )
    simulated = found.simulated is not None
    seconds = (found.mean or found.simulated) if simulated else found.closed_form
    interval = found.interval if simulated else found.closed_interval
    runs = f"{counted(found.error_rows, 'run')} ({found.error_runs})"
    reasons = []
    if found.doubt:
        reasons.append(f"the trace is doubtful, because {found.doubt}")
    if found.ranks > FAR * found.error_ranks:
        reasons.append(
            f"the largest of {runs} has {counted(found.error_ranks, 'rank')}, the simulated "
            f"program {found.ranks}"
        )
    width = relative_half_width(interval, seconds or 0.0)
    if width is not None and width > WIDE:
        reasons.append(f"the interval is wider than {format_half_width(WIDE)}")
    if found.error_held < RIGHT["medium"]:
        reasons.append(f"such intervals hold for {_held(found)}")
    if reasons:
        return "low", f"{capitalised('; '.join(reasons))}."
    of_kind = (
        f", with {found.error_rows} of this kind" if found.error_rows < found.error_held_of else ""
    )
    return "medium", (
        f"Such intervals hold for {_held(found)}{of_kind}: {found.error_runs}. Each was left out "
        "of the calibration of its interval."
    )


def _held(found: SimulationFindings) -> str:
    return f"{found.error_held:.0%} of {counted(found.error_held_of, 'run')}"


def _caveats(found: SimulationFindings) -> list[str]:
    sentences = []
    if found.simulated and found.closed_form:
        off = found.closed_form / found.simulated - 1.0
        if abs(off) > _FAR:
            longer = off > 0.0
            sentences.append(
                f"The closed form is {format_share(abs(off))} {'longer' if longer else 'shorter'} "
                "than the simulation with equal, steady nodes "
                f"({format_quantity(found.closed_form, 's')} instead of "
                f"{format_quantity(found.simulated, 's')}): {_why_apart(found, longer=longer)}."
            )
    if found.mean and found.simulated and found.mean > _SEEN * found.simulated:
        ends = scaled(found.mean_ci95, 1.0 / found.simulated)
        # The draws are one group: one more degree of freedom than two groups.
        over = compared(found.mean / found.simulated, ends, launches=found.draws + 1)
        times = quantity_text(over.value, "", ends)
        sentences.append(
            f"With the nodes' variability, the run takes {times} as long on average as with equal, "
            "steady nodes, because ranks wait for the slowest node."
            if over.direction == "more"
            else f"The mean of {counted(found.draws, 'draw')} of the nodes' speeds is not "
            "distinguishable from the time with equal, steady nodes "
            f"({range_text(over, ends)} times)."
        )
    return sentences


def _method(found: SimulationFindings) -> list[str]:
    if found.simulator is None:
        return []
    text = f"{found.simulator} replayed the calls of all ranks on the described network."
    if found.factor != 1.0:
        text += (
            f" Only part of the iterations was replayed; the whole run takes {found.factor:.4g} "
            "times as long."
        )
    if found.draws:
        text += (
            f" {capitalised(counted(found.draws, 'draw'))} (seed {found.seed}) vary the nodes' "
            "speeds and the network's latency and bandwidth."
        )
    if found.drawn_interval is not None:
        low, high = (format_quantity(end, "s") for end in found.drawn_interval)
        text += f" The middle 95% of the draws is from {low} to {high}, without the model's error."
    return [text]


def _interval_text(found: SimulationFindings) -> list[str]:
    """What the intervals contain; nothing without one."""
    if found.error_runs is None:
        return []
    draws = " and the spread of the draws" if found.draws else ""
    return [
        f"Intervals are 90% intervals. They contain the error of the model{draws}. The error comes "
        f"from {counted(found.error_rows, 'run')}: {found.error_runs}."
    ]


def _why_apart(found: SimulationFindings, *, longer: bool) -> str:
    """Why the closed form is longer, or shorter, than the simulation."""
    if found.graph:
        return "the two treat links that messages share differently"
    if longer:
        return (
            "it adds up the messages of a rank as if all ranks of a node sent at the same time, "
            "and some of them overlap in the simulation"
        )
    return "waiting and shared links take time, and it models them only roughly"


def facts(found: SimulationFindings) -> Table:
    """The program, the cluster and the simulator."""
    return fact_table(
        "system",
        "Simulation",
        [
            ("Program", found.program),
            ("Cluster", f"{found.cluster} ({found.file})"),
            ("Topology", found.topology),
            ("Ranks", f"{found.ranks} on {counted(found.nodes, 'node')}, {found.per_node} on each"),
            ("Simulated", format_minute(found.utc)),
        ],
    )


def times(found: SimulationFindings) -> Table:
    """Run times by method."""
    rows = [
        (
            "simulated, equal and steady nodes",
            found.simulated,
            None if found.mean else found.interval,
        ),
        ("simulated, with variability", found.mean, found.interval),
        ("closed form", found.closed_form, found.closed_interval),
        ("recorded", found.recorded, None),
        ("computing of a rank", found.computing, None),
    ]
    table = TableBuilder([row for row in rows if row[1] is not None])
    table.text("what", "What", lambda row: row[0])
    table.numbers("time", "Time [90% interval]", lambda row: quantity(row[1], "s", row[2]))
    return table.table("simulation-times", "Run times")
