"""Predicts, before a build or a measurement, which parts of a plan other processes affect.

``questions/common/contention.py`` judges by the kernels' records during measurements; this is a
forecast with the same limits.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from assay.model.plan import Plan
from assay.questions.common.contention import busy_text, level_under
from assay.questions.placement.best.disturbance import OtherLoad
from assay.stats.cells.contention import Contention
from assay.system.doctor.probe import busy_ticks
from assay.system.files import Tree
from assay.system.surroundings import cpu_times
from assay.units import capitalised, counted

# Seconds of observation (the message names this time); 1% of a CPU is then less than one tick of
# /proc/stat.
WATCHED = 0.5
# Maximum share of its CPU that a rank may lack.
FRACTION = 0.25


def watch_others(
    seconds: float = WATCHED,
    tree: Tree = Tree(Path("/")),  # noqa: B008 - it only holds the path
) -> Contention | None:
    """The CPUs that other processes keep busy while this one sleeps; None if unknown."""
    before, began = _busy_seconds(tree), time.monotonic()
    if before is None:
        return None
    time.sleep(seconds)
    after, gone = _busy_seconds(tree), time.monotonic() - began
    if after is None or gone <= 0.0:
        return None
    taken = max(after - before, 0.0)
    return Contention(taken / gone, taken, os.cpu_count(), machines=1, spans=1)


def forecast_under(found: Contention | None, plan: Plan) -> str:
    """What a plan can and can't answer while other processes run; empty if they leave enough CPUs.

    Other processes slow ranks and widen intervals, but don't change checks or counts.
    """
    if found is None or not found.noticeable or not found.cpus or not found.possible:
        return ""
    level = level_under(found, 0.0)
    if plan.search is not None and OtherLoad(found.busy, found.cpus).substantial:
        lost = "No placement is named as the best."
    elif level == "low":
        lost = "Comparisons with other runs and between placements stay undecided."
    else:
        lost = "Small differences from other runs stay undecided."
    return (
        f"{capitalised(busy_text(found))} in the last half second. As long as this continues, "
        f"confidence can't exceed {level}. {lost} Times are upper limits and rates are lower "
        f"limits. {_slowed(found.cpus - found.busy, plan)} Checks of results, counts of work and "
        "messages, and facts about the machine are not affected."
    )


def _slowed(free: float, plan: Plan) -> str:
    """A sentence on the cells that fit on the free CPUs. ``free``: number of free CPUs."""
    cells = len(plan.cells)
    needed = [cell.placement.ppn * cell.placement.threads for cell in plan.cells]
    fitting = sum(number <= free + FRACTION for number in needed)
    if fitting == 0:
        return "No cell fits on the free CPUs." if cells > 1 else "The cell shares CPUs with them."
    if fitting == cells:
        return "Every cell fits on the free CPUs and is slowed little."
    return f"{fitting} of {counted(cells, 'cell')} fit on the free CPUs and are slowed little."


def _busy_seconds(tree: Tree) -> float | None:
    """CPU time (s) that this machine has spent on processes and interrupts since boot.

    Steal time is excluded, as in the kernels' records.
    """
    times = cpu_times(tree).get("cpu")
    return None if times is None else busy_ticks(times) / os.sysconf("SC_CLK_TCK")
