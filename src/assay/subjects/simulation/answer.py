"""The answer on how long a program would take on a described cluster."""

from __future__ import annotations

from assay.questions.common.answer import Answer
from assay.questions.common.ratios import range_text
from assay.questions.common.selection import quantity_text, scaled
from assay.questions.common.tables import Table, TableBuilder, fact_table, quantity
from assay.simulation.simgrid import HOW
from assay.stats.compare.directions import compared
from assay.subjects.simulation.model import SimulationFindings
from assay.units import counted, format_duration, format_minute, format_quantity, format_share

TITLE = "How long would the program take on this cluster?"
# Relative difference of simulation and closed form above which both are doubtful.
_FAR = 0.15
# Least ratio of the mean over draws to the time with steady nodes that is worth a sentence.
_SEEN = 1.01


def answer(found: SimulationFindings) -> Answer:
    """The answer: verdict, caveats and method."""
    return Answer(
        question="design",
        title=TITLE,
        status="answered",
        verdict=_verdict(found),
        confidence=None,
        confidence_why="",
        advice=[*([] if found.simulator else [HOW]), *found.remedies],
        caveats=[*_caveats(found), *found.left_out, *found.unknown],
        method=_method(found),
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
            text += f", {format_quantity(found.closed_form, 's')} by the closed form"
    elif found.closed_form is not None:
        text += (
            f"{format_quantity(found.closed_form, 's')} by the closed form; not simulated, because "
        )
        text += "SimGrid was not found"
    if found.recorded is not None:
        text += f" (recorded: {format_duration(found.recorded)})"
    if found.doubt:
        text += f"; doubtful, because {found.doubt}"
    return f"{text}."


def _caveats(found: SimulationFindings) -> list[str]:
    sentences = []
    if found.simulated and found.closed_form:
        off = found.closed_form / found.simulated - 1.0
        if abs(off) > _FAR:
            sentences.append(
                f"The closed form differs from the simulation by {format_share(abs(off))}: "
                "waiting and shared links matter here, and the closed form models them only "
                "roughly."
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
            f" The interval contains the middle 95% of {found.draws} draws (seed {found.seed}) "
            "of the nodes' speeds and the network's latency and bandwidth."
        )
    return [text]


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
        ("simulated, equal and steady nodes", found.simulated, None),
        ("simulated, with variability", found.mean, found.interval),
        ("closed form", found.closed_form, None),
        ("recorded", found.recorded, None),
        ("computing of a rank", found.computing, None),
    ]
    table = TableBuilder([row for row in rows if row[1] is not None])
    table.text("what", "What", lambda row: row[0])
    table.numbers("time", "Time [95% interval]", lambda row: quantity(row[1], "s", row[2]))
    return table.table("simulation-times", "Run times")
