"""The programs and the noise of a stored run, for what-ifs of a load."""

from __future__ import annotations

from assay.questions.common.question import Measured
from assay.questions.steadiness.noise.findings import find as find_noise
from assay.questions.steadiness.variation.findings import find as find_variation
from assay.usage.queue.walltimes import RunSteadiness, VariedProgram


def steadiness_of(measured: Measured) -> RunSteadiness:
    """The programs of a run that have enough results for a spread, and the run's noise.

    Programs are cells of NPB, Linpack and external commands, otherwise all cells. A coordinated
    heartbeat interrupts all ranks at the same time. A step then takes 1 + ``alone`` of its work
    instead of 1 + ``together`` (``stats.noise.detours.Slowdown``). The share that it saves is
    computed for the coarsest steps that were evaluated.
    """
    varied = find_variation(measured)
    requested = {each.label for each in varied.walltimes}
    programs = [
        VariedProgram(
            each.label or each.cell.kernel, each.times, each.spread.cov or 0.0, each.cell.kernel
        )
        for each in varied.varied
        if each.label in requested
    ]
    noise = find_noise(measured)
    share = None
    if noise is not None and noise.slowdowns:
        coarse = max(noise.slowdowns, key=lambda each: each.step)
        share = 1.0 - (1.0 + coarse.alone) / (1.0 + coarse.together)
    return RunSteadiness(tuple(sorted(programs, key=lambda each: -each.cov)), share, named=True)
