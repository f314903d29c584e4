"""Computes the findings of a profile, its trace and its samples, which may be missing or damaged.

If the trace or the samples are damaged, the profile's sums are still reported, and a sentence names
the problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.reference.interconnects import InterconnectClass
from assay.subjects.profile.findings import find
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.sampled.findings import find_samples
from assay.subjects.profile.sampled.model import SampledFindings
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.model import TraceFindings
from assay.trace.calls import FINALIZE
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProgramProfile
from assay.trace.reading_trace import read_matched
from assay.trace.samples.model import ProgramSamples
from assay.trace.samples.reading import read_samples


@dataclass(frozen=True)
class AnalysedProgram:
    """A program's findings, from its profile, its trace or both."""

    #: Findings of the profile; None if no rank wrote a profile.
    found: ProfileFindings | None
    #: Findings of the trace; None if there is no trace, or if ``problem`` says why it isn't
    #: analysed.
    traced: TraceFindings | None
    problem: str
    #: Findings of the samples; None if there are none.
    sampled: SampledFindings | None = None


def read_events(
    folder: Path, number: int | None, *, profiled: bool
) -> tuple[MatchedTrace | None, str]:
    """The trace of a folder, or why it can't be read.

    ``number``: index of the program in the folder. Raises AssayError if the trace can't be read and
    the program was not ``profiled``.
    """
    try:
        return read_matched(folder, number=number), ""
    except Exception as error:
        if not profiled:
            raise
        return None, _sentence(error)


def read_stacks(
    folder: Path, number: int | None, *, profiled: bool
) -> tuple[ProgramSamples | None, str]:
    """The samples of a folder, if it has some, or why they can't be read.

    ``number``: index of the program in the folder. Raises AssayError if the samples can't be read
    and the program was not ``profiled``.
    """
    try:
        return read_samples(folder, number), ""
    except Exception as error:
        if not profiled:
            raise
        return None, _sentence(error, "The samples aren't")


def analyse(
    profile: ProgramProfile | None,
    events: MatchedTrace | None,
    problem: str = "",
    networks: Sequence[InterconnectClass] = (),
    samples: ProgramSamples | None = None,
) -> AnalysedProgram:
    """The findings. ``problem``: why expected events or samples are missing. ``networks``: networks
    to predict run times for, in addition to the usual ones.

    Raises AssayError if a profile can't be analysed, or a trace without one.
    """
    sampled = None if samples is None else find_samples(samples, events)
    traced = None
    if events is not None:
        try:
            traced = find_trace(events, networks)
        except Exception as error:
            if profile is None:
                raise
            problem = _sentence(error)
    if profile is None:
        return AnalysedProgram(None, traced, problem, sampled)
    found = find(
        profile, None if traced is None else waiting_in_calls(traced), [problem] if problem else []
    )
    return AnalysedProgram(found, traced, problem, sampled)


def waiting_in_calls(traced: TraceFindings) -> float:
    """Waiting time (s) of all ranks within the profile, which ends at MPI_Finalize."""
    return sum(place.time for place in traced.places if place.function != FINALIZE)


def _sentence(error: Exception, what: str = "The trace isn't") -> str:
    if isinstance(error, AssayError):
        where = f" ({error.where})" if error.where else ""
        return f"{what} analysed: {error.what}{where}"
    return (
        f"{what} analysed because of a fault in assay ({type(error).__name__}: "
        f"{error}). Please report it, with the folder of the profile."
    )
