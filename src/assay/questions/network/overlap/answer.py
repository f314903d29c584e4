"""The answer on overlap: the hidden shares, whether the library progresses by itself, advice."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import placement_text
from assay.questions.common.parts import Part
from assay.questions.common.selection import evidence, labeller, measured_text, quantity_text
from assay.questions.network.overlap.findings import (
    OverlapCase,
    OverlapFindings,
    with_progress,
)
from assay.units import capitalised, format_quantity, format_share, format_size, listed

_MOST_NAMED = 4  # operations in a sentence


def part(found: OverlapFindings) -> Part:
    """Overlap's part of the network's answer. The headline is the largest exchange."""
    label = labeller(found.points)
    overlap = Part(
        headline=[found.head.hidden],
        evidence=[
            evidence(
                f"{capitalised(name_of(case))}: hidden by computation",
                case.hidden,
                "overlap",
                limit=1.0,
                limit_source="all of the operation hidden",
                note=f"{label(case.hidden)}; with calls of MPI_Test "
                f"{measured_text(case.hidden_with_calls)}",
            )
            for case in found.largest
        ],
        remark=_remark(found.head),
        method=[
            "Overlap: the hidden share is (communication + computation - both) / the longer of the "
            "two, between 0 and 1, as in IMB-NBC. The computation takes as long as the "
            "communication, on the slowest rank."
        ],
        limits=[
            "Overlap is measured with a computation in registers: a computation that is limited by "
            "memory also competes with the copies of the MPI library."
        ],
    )
    _add_advice(overlap, found)
    return overlap


def name_of(case: OverlapCase) -> str:
    """``exchange of 1 MiB``."""
    return case.op if not case.bytes else f"{case.op} of {format_size(case.bytes)}"


def _share(case: OverlapCase, *, calls: bool = False) -> str:
    metric = (case.hidden_with_calls if calls else case.hidden).metric
    return format_share(metric.median, metric.ci95)


def _remark(case: OverlapCase) -> str:
    where = placement_text(case.hidden.summary.cell.placement)
    article = "an " if case.op == "exchange" else ""
    return (
        f"computation hides {_share(case)} of {article}{name_of(case)} ({where}), and "
        f"{_share(case, calls=True)} with calls of MPI_Test"
    )


def _add_advice(part: Part, found: OverlapFindings) -> None:
    helped = [case for case in found.cases if case.calls_help]
    if helped:
        most = max(helped, key=lambda case: case.gain.value)
        part.advice.append(
            f"The MPI library progresses {_named(helped)} only within its own calls. A call of "
            "MPI_Test now and then during the computation pays: without calls, "
            f"{name_of(most)} and its computation take "
            f"{quantity_text(most.gain.value, '', most.gain.ci95)} as long "
            f"({_interval(most)} from call to call)."
        )
    alone = [case for case in with_progress(found.cases, "most") if not case.calls_help]
    if alone:
        part.advice.append(
            f"Start {_named(alone)} early and wait late: computation hides most of the time "
            "without further calls."
        )
    little = [case for case in with_progress(found.cases, "little") if not case.calls_help]
    if little:
        part.advice.append(
            f"Computation hides less than a tenth of {_named(little)}, with calls too: starting "
            "it early is of little use."
        )


def _interval(case: OverlapCase) -> str:
    interval = case.hidden.parameter("interval")
    return format_quantity(float(interval or 0.0), "s")


def _named(cases: Sequence[OverlapCase]) -> str:
    """The names of the cases, each once; only the first of many."""
    names = list(dict.fromkeys(map(name_of, cases)))
    more = len(names) - _MOST_NAMED
    if more > 0:
        names = [*names[:_MOST_NAMED], f"{more} more"]
    return listed(names)
