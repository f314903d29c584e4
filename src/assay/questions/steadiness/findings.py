"""Findings about steadiness: the findings of each topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.questions.common.again import command_again
from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured, Topic
from assay.questions.common.topics import find_topics
from assay.questions.steadiness.arrivals.findings import ArrivalFindings
from assay.questions.steadiness.arrivals.topic import TOPIC as ARRIVALS
from assay.questions.steadiness.causes.findings import CauseFindings
from assay.questions.steadiness.causes.topic import TOPIC as CAUSES
from assay.questions.steadiness.factors.findings import FactorFindings
from assay.questions.steadiness.factors.topic import TOPIC as FACTORS
from assay.questions.steadiness.host_effects.findings import HostEffectFindings
from assay.questions.steadiness.host_effects.topic import TOPIC as HOST_EFFECTS
from assay.questions.steadiness.noise.findings import NoiseFindings
from assay.questions.steadiness.noise.topic import TOPIC as NOISE
from assay.questions.steadiness.variation.findings import (
    MIN_RESULTS,
    TooFewResults,
    VariationFindings,
)
from assay.questions.steadiness.variation.topic import TOPIC as VARIATION
from assay.records.model import RunData
from assay.stats.core.model import CellSummary
from assay.stats.noise.detours import BARRIER, FTQ, FWQ

# Topics in the report's order.
TOPICS: tuple[Topic[Any], ...] = (VARIATION, FACTORS, HOST_EFFECTS, CAUSES, NOISE, ARRIVALS)
SUITE = "assay run steadiness"
_NOISE_KERNELS = (FWQ, FTQ, BARRIER)


@dataclass(frozen=True)
class SteadinessFindings:
    """How steady a run is."""

    #: Differences between the results of a cell from run to run.
    variation: VariationFindings
    #: Factors that change the spread; None without measurements.
    factors: FactorFindings | None
    #: Hosts that slow the sets that contain them; None without measurements.
    host_effects: HostEffectFindings | None
    #: Covariates with which the variance is associated; None without measurements.
    causes: CauseFindings | None
    #: Noise within a run; None without measurements.
    noise: NoiseFindings | None
    #: Ranks that arrive late at barriers; None without measurements.
    arrivals: ArrivalFindings | None
    #: Cells of noise kernels without usable results.
    broken: tuple[CellSummary, ...]
    #: Whether the run is complete.
    complete: bool
    #: Command that measures how results vary, with enough launches.
    command: str = SUITE


def find(measured: Measured) -> SteadinessFindings:
    """Analyse the variation of cells over launches, sessions and runs, and the noise of the run."""
    own = measured.without_candidates()
    of_topics = find_topics(TOPICS, own)
    return SteadinessFindings(
        **of_topics,
        broken=tuple(
            cell for cell in own.cells if cell.kernel in _NOISE_KERNELS and is_broken(cell)
        ),
        complete=measured.run.complete,
        command=_command(measured.run, of_topics[VARIATION.name].few),
    )


def _command(run: RunData, few: TooFewResults | None) -> str:
    """The run's own command with more launches if it was made for this question, else the suite."""
    plan = run.manifest.plan
    asked = plan.question == "steadiness" or plan.replication.repeated
    if few is None or not (asked or plan.replication.unbroken):
        return SUITE
    return command_again(run, needed=MIN_RESULTS, fewest=few.least, otherwise=SUITE.split())
