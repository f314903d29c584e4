"""Computes and presents the findings on why a program isn't faster, from its launches.

The report of the median launch's profile and trace follows in the same file, so that nothing has
to be asked twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.models.program.losses.turns import RankGaps, SharedTime, rank_gaps, shared_time
from assay.questions.common.findings import findings_json
from assay.report.destination import Destination
from assay.report.model import ReportModel
from assay.report.profile.analysis import read_stacks, waiting_in_calls
from assay.report.profile.write import present
from assay.report.subject import build_subject, subject_section
from assay.subjects.profile.findings import find as find_profile
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.sampled.findings import find_samples
from assay.subjects.profile.sampled.model import SampledFindings
from assay.subjects.profile.sampled.subject import SUBJECT as SAMPLED
from assay.subjects.profile.subject import SUBJECT as PROFILE
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.model import TraceFindings
from assay.subjects.profile.traced.subject import SUBJECT as TRACED
from assay.subjects.why.findings import find, median_launch
from assay.subjects.why.measures import LaunchMeasures, measures_of
from assay.subjects.why.model import WhyFindings
from assay.subjects.why.node import rank_nodes, shares_with_cpu
from assay.subjects.why.subject import SUBJECT
from assay.trace.launches import read_why
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProgramProfile
from assay.trace.reading import read_profile
from assay.trace.reading_trace import read_matched
from assay.units import format_share

if TYPE_CHECKING:
    from rich.console import Console


# Share of a rank's time without a CPU from which its computing in turn isn't compared.
_BUSY = 0.25


@dataclass(frozen=True)
class ExplainedProgram:
    """The findings on a program's launches, and those on its median launch."""

    found: WhyFindings
    profile: ProfileFindings
    traced: TraceFindings
    #: Of its samples; None if it has none.
    sampled: SampledFindings | None
    #: Matched trace of the median launch.
    events: MatchedTrace


@dataclass(frozen=True)
class _Turns:
    gaps: list[RankGaps]
    seconds: list[float]
    run_time: float
    #: Why it isn't compared with others, as a clause; "" if it is.
    problem: str


def explain(folder: Path) -> ExplainedProgram:
    """The findings of a folder of launches. Raises AssayError if a file is missing or damaged, or
    if no launch has calls.
    """
    run = read_why(folder)
    failed = 0
    plain: list[tuple[Path, LaunchMeasures]] = []
    turns: list[_Turns] = []
    for launch in run.launches:
        place = folder / launch.folder
        profile = read_profile(place)
        failed = failed or profile.run.status
        try:
            matched = read_matched(place, number=profile.number)
        except AssayError:
            if profile.run.status == 0:
                raise
            continue  # its traces may end anywhere
        if not any(len(rank.events) for rank in matched.trace.ranks):
            continue
        if launch.kind == "plain":
            plain.append((place, measures_of(profile, matched)))
        else:
            turns.append(_turns(profile, matched))
    if not plain:
        what, fix = (
            "The program made no call of MPI",
            "`assay profile --sample` shows where it computes.",
        )
        if failed:
            what = f"The program failed (exit status {failed}) before it made calls of MPI"
            fix = "Its output says why."
        raise AssayError(f"{what}, so nothing explains its run time.", where=str(folder), fix=fix)
    launches = [one for _, one in plain]
    middle = median_launch(launches)
    # Only one launch is kept in memory at a time; the median one is read again.
    place = next(path for path, one in plain if one is middle)
    profile = read_profile(place)
    events = read_matched(place, number=profile.number)
    traced = find_trace(events)
    samples, problem = read_stacks(place, profile.number, profiled=True)
    sampled = None if samples is None else find_samples(samples, events)
    shared = [_shared(one, other) for other in turns for one in launches]
    found = find(
        run=run,
        profile=profile,
        traced=traced,
        sampled=sampled,
        launches=launches,
        shared=shared,
        turn_seconds=[one.run_time for one in turns],
    )
    if problem:
        found = replace(found, unknown=[*found.unknown, problem])
    profiled = find_profile(profile, waiting_in_calls(traced))
    return ExplainedProgram(found, profiled, traced, sampled, events)


def _turns(profile: ProgramProfile, matched: MatchedTrace) -> _Turns:
    trace = matched.trace
    alone = {
        one.header.rank: one.node.alone if one.node is not None else 0.0 for one in profile.ranks
    }
    seconds = [alone.get(rank.rank, 0.0) for rank in trace.ranks]
    nodes = rank_nodes(profile.ranks)
    most = max((one.waiting_share for one in nodes), default=0.0)
    problem = ""
    if most > _BUSY:
        problem = f"a rank had no CPU for {format_share(most)} of the launch in turn"
    return _Turns(
        rank_gaps(trace, shares_with_cpu(nodes)), seconds, trace.end - trace.begin, problem
    )


def _shared(plain: LaunchMeasures, turns: _Turns) -> SharedTime:
    if turns.problem:
        return SharedTime(0.0, 0.0, turns.problem)
    return shared_time(plain.gaps, turns.gaps, turns.seconds)


def why_json(explained: ExplainedProgram) -> object:
    """The findings for programs; those of the median launch are the keys profile, trace and
    samples (None without any).
    """
    plain = findings_json(explained.found)
    assert isinstance(plain, dict)
    return {
        **plain,
        "profile": findings_json(explained.profile),
        "trace": findings_json(explained.traced),
        "samples": None if explained.sampled is None else findings_json(explained.sampled),
    }


def build_why(explained: ExplainedProgram) -> ReportModel:
    """The report, with the sections on the median launch's profile, trace and samples."""
    more = [
        subject_section(PROFILE, explained.profile),
        subject_section(TRACED, explained.traced),
    ]
    if explained.sampled is not None:
        more.append(subject_section(SAMPLED, explained.sampled))
    return build_subject(SUBJECT, explained.found, more=more)


def present_why(
    explained: ExplainedProgram,
    console: Console | None,
    target: Destination | None,
    *,
    verbose: bool = False,
) -> None:
    """Print the report, and write it if a file is requested; or only print its lines.

    The terminal shows the sections on the median launch only if ``verbose``. ``console`` is None
    where JSON goes to stdout.
    """
    if console is not None and not verbose and target is None:
        present(build_subject(SUBJECT, explained.found), console, None)
        return
    present(build_why(explained), console, target, explained.events, verbose=verbose)
