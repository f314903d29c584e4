"""The part of the answer on what commands' profiles predict."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name, layout_text
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import choice_note
from assay.questions.placement.causes.forecasts import PARTS, ForecastComparison
from assay.units import counted, format_duration, format_share

METHOD = (
    "Predictions from a command's profile assume that computing is divided among the cores in use. "
    "The ranks wait for the one that computes longest, messages take as long as in the profiled "
    "run, and bytes between nodes share the adapter of each node. Up to half of the first "
    "placements that a search tries are the ones with the least expected time."
)
_LIMIT = (
    "A profile doesn't tell how much memory bandwidth a program needs, nor what threads gain. "
    "Expected times assume that cores don't slow each other down."
)


def forecasts_part(found: Sequence[ForecastComparison]) -> Part:
    """The commands' forecasts; an empty part without any."""
    if not found:
        return Part()
    return Part(
        remark=f"By its profile{_doubtful(found)}: {'; '.join(_clause(one) for one in found)}.",
        evidence=[_evidence(one) for one in found],
        method=[METHOD],
        limits=[_LIMIT],
    )


def _doubtful(found: Sequence[ForecastComparison]) -> str:
    """The doubt that the report on the profile states; empty without a doubt."""
    doubt = found[0].demand.doubt  # a plan has one profile
    return f", which is doubtful because {doubt}" if doubt else ""


def _clause(found: ForecastComparison) -> str:
    name = cell_name(found.best.summary.cell)
    best, other = (layout_text(one.summary.cell.placement) for one in (found.best, found.other))
    if found.direction == "open":
        return (
            f"{name} was expected to take {_change(found.predicted)} with {best} than with "
            f"{other}; the measured times are not distinguishable ({_range(found)})"
        )
    if found.cause is None:
        return (
            f"{name} was expected to take {_change(found.predicted)} with {best} than with "
            f"{other}, and takes {_change(found.measured.value)}: the profile doesn't explain it"
        )
    why = PARTS[found.cause]
    if found.cause == "between" and found.expected.crossing != found.than.crossing:
        why += (
            f" ({format_share(found.expected.crossing)} instead of "
            f"{format_share(found.than.crossing)})"
        )
    return (
        f"{name} wins with {best} over {other} because {why}: {_change(found.predicted)} "
        f"was expected, {_change(found.measured.value)} was measured"
    )


def _range(found: ForecastComparison) -> str:
    ends = found.measured.interval
    if ends is None:
        return "too few launches for an interval"
    return f"95% interval {ends[0]:.3f} to {ends[1]:.3f} of the time"


def _change(of: float) -> str:
    return f"{format_share(abs(of - 1.0))} {'less' if of <= 1.0 else 'more'} time"


def _evidence(found: ForecastComparison) -> Evidence:
    demand, expected = found.demand, found.expected
    whole = demand.computing * (1.0 + demand.uneven) + demand.communication
    notes = [
        f"profiled on {counted(demand.ranks, 'rank')} of {counted(demand.hosts, 'host')}, where "
        f"computing is {format_share(demand.computing / whole if whole else 0.0)} of the time",
        f"expected here: computing {format_duration(expected.compute)}, imbalance "
        f"{format_duration(expected.imbalance)}, messages {format_duration(expected.messages)}, "
        f"between nodes {format_duration(expected.between)}",
        f"expected {found.predicted:.3f}",
    ]
    if found.errors is not None:
        notes.append(
            f"expected times of {counted(found.count, 'other placement')} differ by a "
            f"median of {format_share(found.errors)}, scaled to the fastest"
        )
    chosen = choice_note(found.among, "chosen among {} comparable placements")
    return Evidence(
        label=f"{cell_name(found.best.summary.cell)}, time of the fastest placement over "
        f"{layout_text(found.other.summary.cell.placement)}",
        metric="ratio of times",
        unit="1",
        value=found.measured.value,
        ci95=found.measured.interval,
        cells=[found.best.summary.id, found.other.summary.id],
        note="; ".join(filter(None, [*notes, chosen])),
    )
