"""Which placement to use: for speed, for cost, for energy; the lines that do it; what it brings."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.answers.model import Evidence
from assay.answers.placement_data import (
    METRIC,
    Outcome,
    compare,
    failures,
    how_text,
    name_of,
)
from assay.answers.placement_energy import Energy, energies, why_no_energy
from assay.answers.placement_flips import flip_advice, flip_limits
from assay.answers.placement_lines import job_lines, launch_lines
from assay.answers.select import Point, points, quantity_text, scaled
from assay.errors import AssayError
from assay.kernels import known_kernel
from assay.plans.command import command_words, environment, placement_values
from assay.plans.model import Cell
from assay.records.model import RunData
from assay.stats.intervals import Estimate, ratio_interval
from assay.stats.model import CellSummary
from assay.units import counted, format_quantity

Aim = Literal["speed", "cost", "energy"]
AIMS: tuple[Aim, ...] = ("speed", "cost", "energy")
# The price of a node for an hour, in assay.toml.
PRICE = "node_hour"
_HOUR = 3600.0


@dataclass(frozen=True)
class Choice:
    """The best placement of a work for one aim.

    ``amount``: what it takes of that there: seconds, node-seconds or joules. ``over``: that over
    what the quickest placement takes of it, and ``slower``: its time over the quickest's; None for
    the quickest itself.
    """

    aim: Aim
    point: Point
    amount: Estimate
    over: Estimate | None
    slower: Estimate | None


def choices(
    found: Sequence[Outcome], cells: Sequence[CellSummary], run: RunData
) -> list[tuple[Outcome, list[Choice]]]:
    """For each work whose searches have all settled: the best for each aim that can be judged.

    Speed and cost are among what each search chose and what was measured on numbers of nodes that
    none searched; energy is among all that was measured, for a search goes by time. What failed is
    in neither. The outcome is that of the search on most nodes.
    """
    taken = energies(run)
    broken = failures(run, cells)
    made = []
    for outcomes in _by_work(found).values():
        if any(outcome.point is None or not outcome.finding.settled for outcome in outcomes):
            continue
        measured = _measured(outcomes[0].work, cells, broken)
        searched = {name for outcome in outcomes for name in outcome.search.ids}
        chosen = [outcome.point for outcome in outcomes if outcome.point is not None]
        placed = [*chosen, *(point for point in measured if point.summary.id not in searched)]
        quickest = min(placed, key=lambda point: point.metric.median)
        last = max(outcomes, key=lambda outcome: outcome.work.placement.nodes)
        among = {"speed": placed, "cost": placed, "energy": measured}
        picked = [_pick(aim, among[aim], quickest, taken) for aim in AIMS]
        made.append((last, [choice for choice in picked if choice is not None]))
    return made


def _pick(
    aim: Aim, among: Sequence[Point], quickest: Point, taken: Mapping[str, Energy]
) -> Choice | None:
    """The least of an aim's amount; None where it isn't known of all: any might be less."""
    amounts = [_amount(aim, point, taken) for point in among]
    known = [(a, point) for a, point in zip(amounts, among, strict=True) if a is not None]
    base = _amount(aim, quickest, taken)
    if len(known) < len(among) or base is None:
        return None
    amount, point = min(known, key=lambda pair: pair[0].value)
    if point.summary.id == quickest.summary.id:
        return Choice(aim, point, amount, None, None)
    slower = _ratio(_time(point), _time(quickest))
    return Choice(aim, point, amount, _ratio(amount, base), slower)


def _amount(aim: Aim, point: Point, taken: Mapping[str, Energy]) -> Estimate | None:
    """What one execution takes there of what the aim saves."""
    time = _time(point)
    if aim == "cost":
        nodes = point.summary.cell.placement.nodes
        return Estimate(nodes * time.value, scaled(time.interval, nodes))
    if aim == "energy":
        energy = taken.get(point.summary.id)
        return Estimate(energy.value, energy.interval) if energy else None
    return time


def _time(point: Point) -> Estimate:
    return Estimate(point.metric.median, point.metric.ci95)


def _ratio(above: Estimate, below: Estimate) -> Estimate:
    interval = None
    if above.interval is not None and below.interval is not None:
        interval = ratio_interval(above, below)
    return Estimate(above.value / below.value, interval)


def advice(found: Sequence[Outcome], cells: Sequence[CellSummary], run: RunData) -> list[str]:
    """What to write into job scripts, what it brings, and when to write something else."""
    told: dict[tuple[str, str], list[str]] = {}
    per_core = threads_per_core(run)
    broken = failures(run, cells)
    sound = [cell for cell in cells if cell.id not in broken]
    for outcome, own in choices(found, cells, run):
        placed: dict[str, list[Choice]] = {}
        for choice in own:
            placed.setdefault(choice.point.summary.id, []).append(choice)
        for same in placed.values():
            aims = _listed([choice.aim for choice in same])
            cell = same[0].point.summary.cell
            lines = f"{_where(cell)}. {'; '.join(_lines(cell, per_core))}"
            gains = ", ".join([*_gains(outcome, same[0].point), *_amounts(same, run)])
            name = name_of(outcome.work)
            told.setdefault((aims, lines), []).append(f"{name} ({gains})" if gains else name)
    sentences = [
        f"For {aims}: {', '.join(names)}: {lines}" for (aims, lines), names in told.items()
    ]
    return [*sentences, *(flip_advice(found, sound) if sentences else [])]


def limits(found: Sequence[Outcome], cells: Sequence[CellSummary], run: RunData) -> list[str]:
    """Where the advice ends, and which advice there is none of."""
    searched = {_work_of(outcome.work) for outcome in found}
    own = [cell for cell in cells if _work_of(cell.cell) in searched and cell.metrics]
    return [*flip_limits(found, own), *filter(None, [why_no_energy(run, own)])]


def energy_evidence(found: Sequence[Outcome], run: RunData) -> list[Evidence]:
    """For each work whose placements told it: the least energy that one execution takes."""
    taken = energies(run)
    made = []
    for outcomes in _by_work(found).values():
        failed = {cell.id for outcome in outcomes for cell, _ in outcome.failed}
        cells = {cell.id: cell for outcome in outcomes for cell in outcome.search.cells}
        known = {name: taken[name] for name in cells if name in taken and name not in failed}
        if not known:
            continue
        best, least = min(known.items(), key=lambda item: item[1].value)
        cell = cells[best]
        nodes = counted(cell.placement.nodes, "node")
        made.append(
            Evidence(
                label=f"{name_of(cell)}, least energy: {how_text(cell.placement)} on {nodes}",
                metric="energy",
                unit="J",
                value=least.value,
                ci95=least.interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[best],
                note="of processors and memory (RAPL), over all nodes, of one execution",
            )
        )
    return made


def _by_work(found: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The searches of the same work on several numbers of nodes together."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in found:
        groups.setdefault(_work_of(outcome.work), []).append(outcome)
    return groups


def _work_of(cell: Cell) -> str:
    """What the cells of a work have in common, wherever they run."""
    parameters = sorted((k, str(v)) for k, v in cell.parameters.items())
    return f"{cell.kernel}/{parameters}/{cell.toolchain}"


def _measured(work: Cell, cells: Sequence[CellSummary], broken: Collection[str]) -> list[Point]:
    """All placements of a work that were measured and never failed."""
    return [
        point
        for point in points(cells, work.kernel, METRIC)
        if point.summary.cell.parameters == work.parameters
        and point.summary.cell.toolchain == work.toolchain
        and point.summary.id not in broken
    ]


def _listed(words: Sequence[str]) -> str:
    """``speed``, ``speed and cost``, ``speed, cost and energy``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _where(cell: Cell) -> str:
    """``2 ranks a node, spread, on 4 nodes``."""
    return f"{how_text(cell.placement)} on {counted(cell.placement.nodes, 'node')}"


def _lines(cell: Cell, per_core: int) -> list[str]:
    """What to write for a placement: job scripts' lines, and the command that starts it."""
    placement = cell.placement
    kernel = known_kernel(cell.kernel)
    if kernel is not None and kernel.outside:
        jobs = [f"{who}: {line}" for who, line in job_lines(placement, per_core).items()]
        return [own_line(cell), *jobs]
    lines = [f"{who}: {line}" for who, line in launch_lines(placement, per_core).items()]
    if placement.adapter:
        lines.append(f"over {placement.adapter}, as the launches' commands have it")
    return lines


def own_line(cell: Cell) -> str:
    """The user's own command at a placement, with the variables that it was run with."""
    placement = cell.placement
    command, shell = str(cell.parameters["command"]), bool(cell.parameters["shell"])
    values = placement_values(placement, "HOSTFILE", "RANKFILE")
    words = command_words(command, values, shell=shell)
    line = words[-1] if shell else shlex.join(words)
    variables = environment(placement, command)
    return " ".join([*(f"{name}={value}" for name, value in variables.items()), line])


def _gains(outcome: Outcome, point: Point) -> list[str]:
    """Its speed over one rank a node and over a rank on every core, on as many nodes."""
    told = []
    for other, how in ((outcome.one, "one rank a node"), (outcome.full, "a rank on every core")):
        if (
            other is not None
            and other.summary.id != point.summary.id
            and other.summary.cell.placement.nodes == point.summary.cell.placement.nodes
        ):
            found = compare(point, other)
            told.append(f"{quantity_text(found.value, '', found.interval)} the speed of {how}")
    return told


def _amounts(same: Sequence[Choice], run: RunData) -> list[str]:
    """What one execution costs and what energy it takes there, beside the quickest placement."""
    told = []
    for choice in same:
        if choice.aim == "speed":
            continue
        words = _cost(choice.amount, run) if choice.aim == "cost" else ""
        if choice.aim == "energy":
            words = format_quantity(choice.amount.value, "J", choice.amount.interval)
        if choice.over is not None:
            words += f", {quantity_text(choice.over.value, '', choice.over.interval)} that of the "
            words += "quickest"
        told.append(words)
    metric, slower = same[0].point.metric, same[0].slower
    if slower is not None:
        told.append(f"{quantity_text(slower.value, '', slower.interval)} the quickest's time")
    if told and metric.ci95 is None:
        told.append(f"{counted(metric.n, 'launch')}, too few for intervals")
    return told


def _cost(amount: Estimate, run: RunData) -> str:
    """Money where the site named a price, else the time that nodes are charged for."""
    prices = run.manifest.prices
    price = prices.amounts.get(PRICE)
    if price is None:
        text = format_quantity(amount.value, "s", amount.interval)
        return f"{text} of node time"
    each = price / _HOUR
    return format_quantity(
        amount.value * each, prices.currency or "", scaled(amount.interval, each)
    )


def threads_per_core(run: RunData) -> int:
    """Hardware threads of a core of the run's first host; 1 where that isn't known."""
    from assay.system.model import System

    try:
        return System.from_dict(run.manifest.system).processor.threads_per_core or 1
    except AssayError:  # described by another version
        return 1
