"""``assay watch --steps``: uses iterations found in a trace as the steps of a running program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.campaign.commands.preloading import preload_of
from assay.config import Config
from assay.errors import AssayError
from assay.models.program.repetition import IterationTimes, iterations
from assay.subjects.profile.places import place_name
from assay.trace.events import RankTrace, Trace
from assay.trace.model import SourcePlace
from assay.trace.reading_trace import read_trace
from assay.units import format_quantity
from assay.watch.folder import FOLDER_VARIABLE

if TYPE_CHECKING:
    from rich.console import Console


def marked_steps(
    folder: Path, command: Sequence[str], config: Config, console: Console
) -> tuple[list[str], dict[str, str]]:
    """The command, and the variables that make it mark the iterations found in its trace.

    ``folder``: the folder of the trace. A message names the call site that ends a step. Raises
    AssayError if there is no trace, if no calls repeat in it, or if `profile_program` does.
    """
    trace = read_trace(folder)
    site, times, median = step_site(trace)
    preload = preload_of(
        command, config, lambda text: console.print(text, style="dim", markup=False)
    )
    console.print(
        f"A step ends with each call from {place_name(site)}. The trace has {times:,} "
        f"steps, with a median time of {format_quantity(median, 's')}.",
        markup=False,
        soft_wrap=True,
    )
    mine = {"ASSAY_STEP_SITE": f"{site.offset} {site.image}", "ASSAY_PROFILE_START": "off"}
    found = preload.variables(mine, command, os.environ)
    return preload.told(command, [*mine, FOLDER_VARIABLE], os.environ), found


def step_site(trace: Trace) -> tuple[SourcePlace, int, float]:
    """The first call site in an iteration that every iterating rank calls from once per iteration;
    the number of iterations, and their median time (s).

    Raises AssayError if there is none.
    """
    found = [(rank, one) for rank in trace.ranks if (one := iterations(rank)) is not None]
    sites: list[int] = []
    for number, (rank, one) in enumerate(found):
        mine = _once(rank, one)
        sites = mine if number == 0 else [site for site in sites if site in mine]
    if not sites:
        raise AssayError(
            "No calls in the trace repeat, or no call occurs once per iteration.",
            where=trace.run.folder,
            fix="Follow output lines with --step, or mark steps with assay_heartbeat().",
        )
    first = found[0][1]
    return trace.sites[sites[0]], first.repetition.times, float(np.median(first.seconds))


def _once(rank: RankTrace, found: IterationTimes) -> list[int]:
    """Sites with one call per iteration and few other calls, in the order of an iteration."""
    of = found.repetition
    every = rank.events.site
    inside = np.bincount(every[of.first : of.end], minlength=int(every.max()) + 1)
    whole = np.bincount(every, minlength=len(inside))
    one = every[of.first : of.first + of.period].tolist()
    return [
        site
        for site in dict.fromkeys(one)
        if inside[site] == of.times and whole[site] <= of.times + 2
    ]
