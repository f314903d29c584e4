"""Findings about steadiness: the findings of each topic."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.again import command_again
from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured
from assay.questions.steadiness.arrivals.findings import ArrivalFindings
from assay.questions.steadiness.arrivals.findings import find as find_arrivals
from assay.questions.steadiness.causes.findings import CauseFindings
from assay.questions.steadiness.causes.findings import find as find_causes
from assay.questions.steadiness.factors.findings import FactorFindings
from assay.questions.steadiness.factors.findings import find as find_factors
from assay.questions.steadiness.host_effects.findings import HostEffectFindings
from assay.questions.steadiness.host_effects.findings import find as find_host_effects
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.noise.findings import find as find_noise
from assay.questions.steadiness.variation.findings import (
    MIN_RESULTS,
    TooFewResults,
    VariationFindings,
)
from assay.questions.steadiness.variation.findings import find as find_variation
from assay.records.model import RunData
from assay.stats.core.model import CellSummary
from assay.stats.noise.detours import BARRIER, FTQ, FWQ

SUITE = "assay run steadiness"
_NOISE_KERNELS = (FWQ, FTQ, BARRIER)


@dataclass(frozen=True)
class SteadinessFindings:
    """How steady a run is.

    ``variation``: how results of a cell differ from run to run. ``factors``: factors that change
    the spread. ``host_effects``: hosts that slow the sets they are part of. ``causes``: covariates
    that the variance is associated with. ``noise``: the noise within a run. ``arrivals``: ranks
    that are late at barriers. All but ``variation`` are None without measurements. ``broken``:
    cells of noise kernels without usable results. ``complete``: whether the run is complete.
    ``command``: measures how results vary, with enough launches.
    """

    variation: VariationFindings
    factors: FactorFindings | None
    host_effects: HostEffectFindings | None
    causes: CauseFindings | None
    noise: NoiseFindings | None
    arrivals: ArrivalFindings | None
    broken: tuple[CellSummary, ...]
    complete: bool
    command: str = SUITE


def find(measured: Measured) -> SteadinessFindings:
    """Analyse the variation of cells over launches, sessions and runs, and the noise of the run."""
    own = measured.without_candidates()
    variation = find_variation(measured)
    noise = find_noise(own)
    return SteadinessFindings(
        variation=variation,
        factors=find_factors(variation),
        host_effects=find_host_effects(variation.repeats),
        causes=find_causes(variation.repeats, measured.run, noise),
        noise=noise,
        arrivals=find_arrivals(own),
        broken=tuple(
            cell for cell in own.cells if cell.kernel in _NOISE_KERNELS and is_broken(cell)
        ),
        complete=measured.run.complete,
        command=_command(measured.run, variation.few),
    )


def _command(run: RunData, few: TooFewResults | None) -> str:
    """The run's own command with more launches if it was made for this question, else the suite."""
    plan = run.manifest.plan
    asked = plan.question == "steadiness" or plan.replication.repeated
    if few is None or not (asked or plan.replication.unbroken):
        return SUITE
    return command_again(run, needed=MIN_RESULTS, fewest=few.least, otherwise=SUITE.split())
