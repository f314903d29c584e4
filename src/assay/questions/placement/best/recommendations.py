"""Recommended placements for speed, cost and energy, their launch lines, and crossovers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from assay.kernels import known_kernel
from assay.kernels.naming import cell_name, layout_text, where_text
from assay.model.cell import Cell
from assay.model.command import command_words, environment, placement_values
from assay.model.placement import Placement
from assay.questions.common.selection import quantity_text, scaled
from assay.questions.placement.best.choices import PlacementChoice
from assay.questions.placement.best.crossovers import Axis, Crossover, CrossoverSeries
from assay.questions.placement.best.findings import BestFindings, NodePrice
from assay.questions.placement.best.launch_lines import job_lines, launch_lines
from assay.stats.core.intervals import Estimate
from assay.units import counted, format_quantity, listed

_HOUR = 3600.0


def recommendations(found: BestFindings) -> list[str]:
    """The recommended placements, their gains, and where another placement is best."""
    groups: dict[tuple[str, str], list[str]] = {}
    for of_work in found.choices:
        placements: dict[str, list[PlacementChoice]] = {}
        for choice in of_work.choices:
            placements.setdefault(choice.point.summary.id, []).append(choice)
        for choices in placements.values():
            cell = choices[0].point.summary.cell
            lines = "; ".join(_lines(cell, found.threads_per_core))
            use = f"{where_text(cell.placement)}. {lines}"
            gains = ", ".join([*_gains(choices[0]), *_amounts(choices, found.price)])
            name = cell_name(of_work.work)
            aims = listed([choice.aim for choice in choices])
            groups.setdefault((aims, use), []).append(f"{name} ({gains})" if gains else name)
    if not groups:
        return []
    return [
        *(f"For {aims}: {', '.join(names)}: {use}" for (aims, use), names in groups.items()),
        *crossover_sentences(found.series),
    ]


def _lines(cell: Cell, threads_per_core: int) -> list[str]:
    """The launch lines of a placement, or the user's command with the lines of job scripts."""
    placement = cell.placement
    kernel = known_kernel(cell.kernel)
    if kernel is not None and kernel.outside:
        jobs = job_lines(placement, threads_per_core)
        return [_code(own_line(cell)), *(f"{name}: {_code(line)}" for name, line in jobs.items())]
    lines = launch_lines(placement, threads_per_core)
    adapter = f"over {placement.adapter}, as in the recorded launch commands"
    return [
        *(f"{name}: {_code(line)}" for name, line in lines.items()),
        *([adapter] if placement.adapter else []),
    ]


def _code(line: str) -> str:
    """A line to be copied, marked as code; a line that contains backticks is unchanged."""
    return line if "`" in line else f"`{line}`"


def own_line(cell: Cell) -> str:
    """The user's command at a placement, with the environment variables that it ran with."""
    placement = cell.placement
    command, shell = str(cell.parameters["command"]), bool(cell.parameters.get("shell", 0))
    values = placement_values(placement, "HOSTFILE", "RANKFILE")
    words = command_words(command, values, shell=shell)
    line = words[-1] if shell else shlex.join(words)
    variables = environment(placement, command)
    return " ".join([*(f"{name}={value}" for name, value in variables.items()), line])


def _gains(choice: PlacementChoice) -> list[str]:
    """Performance over one rank per node and over one rank per core, on the same nodes."""
    return [
        f"{quantity_text(ratio.value, '', ratio.interval)} the speed of {name}"
        for ratio, name in (
            (choice.over_one, "one rank per node"),
            (choice.over_full, "one rank per core"),
        )
        if ratio is not None
    ]


def _amounts(choices: Sequence[PlacementChoice], price: NodePrice | None) -> list[str]:
    """Cost and energy of one execution, and the time against the fastest placement."""
    texts = []
    for choice in choices:
        if choice.aim == "speed":
            continue
        text = _cost(choice.amount, price)
        if choice.aim == "energy":
            text = format_quantity(choice.amount.value, "J", choice.amount.interval)
        if choice.over is not None:
            over = quantity_text(choice.over.value, "", choice.over.interval)
            text += f", {over} the {choice.aim} of the fastest placement"
        texts.append(text)
    metric, slower = choices[0].point.metric, choices[0].slower
    if slower is not None:
        time = quantity_text(slower.value, "", slower.interval)
        texts.append(f"{time} the time of the fastest placement")
    if texts and metric.ci95 is None:
        texts.append(f"{counted(metric.n, 'launch')}, too few for intervals")
    return texts


def _cost(amount: Estimate, price: NodePrice | None) -> str:
    """Cost as money if the site sets a price, else as node time."""
    if price is None:
        return f"{format_quantity(amount.value, 's', amount.interval)} of node time"
    each = price.per_hour / _HOUR
    return format_quantity(amount.value * each, price.currency or "", scaled(amount.interval, each))


def crossover_sentences(series: Sequence[CrossoverSeries]) -> list[str]:
    """Where the best placement changes along each axis; works without a change are combined."""
    axes: tuple[Axis, ...] = ("sizes", "nodes")
    sentences = []
    for axis in axes:
        unchanged: dict[str, list[str]] = {}
        for one in series:
            if one.axis != axis:
                continue
            changes = [*_crossovers(one), *_lead(one)]
            if changes:
                sentences.append(f"{one.name}: {'; '.join(changes)}")
            else:
                unchanged.setdefault(_no_change(one), []).append(one.name)
        sentences += [
            f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in unchanged.items()
        ]
    return sentences


def _crossovers(series: CrossoverSeries) -> Iterator[str]:
    """Sentences on significant changes of the best placement."""
    for one in series.crossovers:
        if one.sure:
            yield _crossover(one, series)


def _crossover(found: Crossover, series: CrossoverSeries) -> str:
    at = "at" if series.axis == "sizes" else "on"
    there = found.after.name
    onward = f"{at} {there}" if found.after is series.stages[-1] else f"from {there} on"
    speed = quantity_text(found.gain.value, "", found.gain.interval)
    estimated = ", by the search's estimate" if found.estimated else ""
    return (
        f"{_layout(found.old)} {at} {found.before.name}, {onward} {_layout(found.new)} "
        f"({speed} the speed of {_layout(found.old)} there{estimated})"
    )


def _lead(series: CrossoverSeries) -> Iterator[str]:
    lead = series.lead
    if lead is not None:
        first = quantity_text(lead.first.value, "", lead.first.interval)
        last = quantity_text(lead.last.value, "", lead.last.interval)
        yield (
            f"{_layout(lead.best)} leads {_layout(lead.other)} by {first} on "
            f"{series.stages[0].name} and by {last} on {series.stages[-1].name}; by extrapolation, "
            f"the lead ends at about {lead.end:.0f} nodes, which were not measured"
        )


def _no_change(series: CrossoverSeries) -> str:
    """A clause: the best placement is the same, or doesn't change significantly."""
    first, last = series.stages[0], series.stages[-1]
    sizes = series.axis == "sizes"
    span = f"{first.name if sizes else format(first.level, 'g')} to {last.name}"
    if series.crossovers:
        what = "problem size" if sizes else "number of nodes"
        return f"no significant change of the best placement with the {what} ({span})"
    where = "at each size" if sizes else "on each number of nodes"
    return f"{_layout(series.best)} is the best {where} measured ({span})"


def _layout(placement: Placement) -> str:
    """``2 ranks per node``: the layout, independent of the number of nodes."""
    return layout_text(msgspec.structs.replace(placement, nodes=2))
