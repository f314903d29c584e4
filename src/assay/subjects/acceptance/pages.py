"""The page of each promise: what was promised, what was measured, and what the verdict rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.charts.figure import Figure
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Table, fact_table
from assay.subjects.acceptance.answer import label_of
from assay.subjects.acceptance.model import (
    AcceptanceFindings,
    Amount,
    JudgedAvailability,
    JudgedCommitment,
    JudgedScore,
    JudgedVariation,
    Promised,
)
from assay.subjects.acceptance.page_figures import (
    availability_figure,
    commitment_figure,
    variation_figure,
)
from assay.subjects.acceptance.words import amount_text, claim_of, number_text
from assay.units import (
    Interval,
    counted,
    format_change,
    format_limit,
    format_minute,
    format_share,
)

Facts = Iterable[tuple[str, str]]
# Maximum runs that a page names; the annex names all.
_MOST_RUNS = 4
_NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class PromisePage:
    """The page of a promise."""

    #: Number of the page from 1, and its title.
    number: int
    title: str
    promise: Promised
    facts: Table
    figure: Figure | None


def pages_of(found: AcceptanceFindings) -> list[PromisePage]:
    """A page for each promise, in the contract's order."""
    return [
        PromisePage(
            number=number,
            title=label_of(each, found),
            promise=each,
            facts=fact_table(f"acceptance-facts-{number}", "Promise", _facts(each, found)),
            figure=_figure(each, number),
        )
        for number, each in enumerate(found.promises, start=1)
    ]


def _figure(each: Promised, number: int) -> Figure | None:
    if isinstance(each, JudgedCommitment):
        return commitment_figure(each, number)
    if isinstance(each, JudgedVariation):
        return variation_figure(each, number)
    return availability_figure(each, number) if isinstance(each, JudgedAvailability) else None


def _facts(each: Promised, found: AcceptanceFindings) -> Facts:
    if isinstance(each, JudgedCommitment):
        yield from _commitment_facts(each, found)
    elif isinstance(each, JudgedVariation):
        yield from _variation_facts(each, found)
    elif isinstance(each, JudgedAvailability):
        yield from _availability_facts(each)
    else:
        yield from _score_facts(each, found)
    if not isinstance(each, JudgedVariation) and found.currency:
        yield "Penalty", _amount(each.penalty, found)
        if isinstance(each, JudgedCommitment) and each.bonus.value:
            yield "Bonus", _amount(each.bonus, found)


def _amount(amount: Amount, found: AcceptanceFindings) -> str:
    return amount_text(amount.value, amount.interval, found.currency)


def _commitment_facts(each: JudgedCommitment, found: AcceptanceFindings) -> Facts:
    share = "" if each.per == "system" else f", on {format_share(each.share)} of the nodes"
    yield "Promised", f"{each.promise}{share}"
    if each.value is None:
        yield "Measured", _NOT_MEASURED
    else:
        change = "" if each.promised is None else format_change(each.value / each.promised - 1.0)
        measured = quantity_text(each.value, each.unit, each.ci95)
        of = "" if each.per == "system" else ", median of the nodes' medians"
        yield "Measured [95% interval]", f"{measured} ({change}{of})"
    if each.node_range is not None:
        yield "Nodes, from - to", _ends(each.node_range, each.unit)
    if each.decided_low is not None or each.decided_high is not None:
        yield "Limits of the decision", _open_ends(each.decided_low, each.decided_high, each.unit)
    yield "Margin", format_limit(each.margin)
    if each.nodes is not None:
        yield "Nodes measured", f"{each.nodes.sample} of {each.nodes.nodes}"
        yield "Claim", claim_of(each.nodes, each.margin, found.buyer)
    elif each.value is not None:
        worth = "" if each.worth >= each.used else f", worth {each.worth:.1f} independent ones"
        yield "Launches", f"{each.used} used of {each.launches}{worth}"
    yield "Risks", _risks(found)
    if each.speedup is not None and found.mean is not None:
        yield (
            "In the score",
            (f"weight {each.weight:g}, speedup {number_text(each.speedup, each.speedup_ci95)}"),
        )
    yield "Cell", each.cell
    yield from _conditions(each.toolchain, each.runs, each.measured)


def _variation_facts(each: JudgedVariation, found: AcceptanceFindings) -> Facts:
    yield "Promised", f"at most {format_limit(each.at_most)} between {each.between}"
    yield "Measured", _NOT_MEASURED if each.value is None else format_share(each.value)
    if each.decided_low is not None or each.decided_high is not None:
        low, high = (
            "open" if end is None else format_share(end)
            for end in (each.decided_low, each.decided_high)
        )
        yield "Limits of the decision", f"from {low} to {high}"
    yield "Margin", format_limit(each.margin)
    worth = "" if each.worth >= each.used else f", worth {each.worth:.1f} independent ones"
    yield each.between.capitalize(), f"{each.used}{worth}"
    yield "Risks", _risks(found)
    yield "Cell", each.cell
    yield from _conditions(each.toolchain, each.runs, each.measured)


def _availability_facts(each: JudgedAvailability) -> Facts:
    yield "Promised", f"at least {format_share(each.at_least)} of the node hours"
    yield "Available", "no log of outages" if each.value is None else format_share(each.value)
    if each.low is not None and each.high is not None and each.low < each.high:
        yield "Whole period", f"from {format_share(each.low)} to {format_share(each.high)}"
    yield "Period", f"{counted(each.period_days, 'day')} from {format_minute(each.begin)} UTC"
    if each.value is not None:
        yield "Node hours that count", f"{each.passed_hours:,.1f} of {each.period_hours:,.1f}"
        yield (
            "Not available",
            (f"{each.down_hours:,.1f} node hours, on {counted(each.nodes_down, 'node')}"),
        )
    yield (
        "Planned maintenance",
        (
            f"{each.planned_hours:,.1f} node hours, not counted"
            if each.planned_excluded
            else "counts as not available"
        ),
    )
    yield "Log of outages", ", ".join(each.sources)


def _score_facts(each: JudgedScore, found: AcceptanceFindings) -> Facts:
    yield "Promised", f"at least {each.at_least:.4g}"
    if found.score is None:
        yield "Score", "a commitment has no result"
    else:
        yield "Score [95% interval]", number_text(found.score, found.score_ci95)
    if each.decided_low is not None or each.decided_high is not None:
        low, high = (
            "open" if end is None else f"{end:.4g}" for end in (each.decided_low, each.decided_high)
        )
        yield "Limits of the decision", f"from {low} to {high}"
    yield "Margin", format_limit(each.margin)
    yield "Risks", _risks(found)


def _conditions(toolchain: str, runs: Iterable[str], measured: Interval | None) -> Facts:
    yield "Toolchain", toolchain
    names = list(runs)
    more = len(names) - _MOST_RUNS
    yield "Runs", ", ".join(names[:_MOST_RUNS]) + (f" and {more:,} more" if more > 0 else "")
    if measured is not None:
        begin, end = (format_minute(each) for each in measured)
        yield "Measured (UTC)", begin if begin == end else f"{begin} to {end}"


def _risks(found: AcceptanceFindings) -> str:
    return (
        f"supplier {format_limit(found.supplier)} for all promises together, "
        f"buyer {format_limit(found.buyer)}"
    )


def _ends(ends: Interval, unit: str) -> str:
    return " to ".join(quantity_text(end, unit) for end in ends)


def _open_ends(low: float | None, high: float | None, unit: str) -> str:
    ends = ("open" if end is None else quantity_text(end, unit) for end in (low, high))
    return "from {} to {}".format(*ends)
