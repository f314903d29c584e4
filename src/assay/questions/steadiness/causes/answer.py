"""The part of the answer on causes: shares of variance by cause, and the unexplained share."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.steadiness.causes.findings import REPORT_ALPHA, CauseFindings, CellCauses
from assay.stats.attribution.attribution import LEAST, CauseShare
from assay.stats.attribution.covariates import cause_of
from assay.stats.attribution.wall_clock import WallClock
from assay.stats.compare.directions import LEVEL
from assay.units import Interval, capitalised, counted, format_quantity, format_share

# Maximum number of cells in the verdict; also of periodic interruptions in the advice.
_NAMED = 2


def part(found: CauseFindings) -> Part:
    """The causes of each cell, its unexplained share, and both clocks."""
    evidence = []
    for cell in found.cells:
        evidence += [_share_row(cell, share) for share in cell.named]
        if cell.named:
            evidence.append(_unexplained_row(cell))
        if cell.clocks is not None and cell.clocks_differ:
            evidence.append(_clock_row(cell, cell.clocks))
    return Part(
        remark=_remark(found),
        evidence=evidence,
        advice=_advice(found),
        method=_method(found),
        limits=_limits(found),
    )


# ---- the verdict ---------------------------------------------------------------------------------


def _remark(found: CauseFindings) -> str:
    explained = _by_explained(found)
    clauses = [cell_sentence(cell) for cell in explained[:_NAMED]]
    if len(explained) > _NAMED:
        clauses.append(f"a cause is named for {counted(len(explained) - _NAMED, 'further cell')}")
    if not explained:
        clauses.append(
            "no covariate is distinguishably associated with the variance of "
            f"{counted(len(found.cells), 'cell')}, so all of it counts as unexplained"
        )
    clauses += [
        clocks_sentence(cell.label, cell.clocks)
        for cell in found.cells
        if cell.clocks is not None
        and cell.clocks_differ
        and cell.clocks.verdict == "kept from running"
    ][:_NAMED]
    accounted = found.accounted
    if accounted is not None and accounted.clocks.verdict == "kept from running":
        clocks = accounted.clocks
        clauses.append(
            "the coefficient of variation of whole jobs is "
            f"{format_share(clocks.wall, clocks.wall_ci95)} by wall time and "
            f"{format_share(clocks.cpu, clocks.cpu_ci95)} by {accounted.what} "
            f"({accounted.source}): the jobs were descheduled or suspended"
        )
    return "; ".join(clauses)


def _by_explained(found: CauseFindings) -> list[CellCauses]:
    """The cells with a named cause, the greatest explained variance first."""
    return sorted((cell for cell in found.cells if cell.named), key=lambda cell: -cell.explained)


def cell_sentence(cell: CellCauses) -> str:
    """``62% [48, 71] of LU's variance is associated with steal time: …; 38% unexplained``."""
    first, *rest = cell.named
    cause = cause_of(first.cause)
    detail = f" ({first.detail})" if first.detail else ""
    words = [
        f"{_share_text(first)} of {cell.label}'s variance is associated with {cause.words}: "
        f"{cause.meaning}{detail}"
    ]
    if rest:
        words.append(
            " and ".join(f"{_share_text(each)} with {cause_of(each.cause).words}" for each in rest)
        )
    words.append(f"{_unexplained_text(cell)} unexplained")
    return "; ".join(words)


def _share_text(share: CauseShare) -> str:
    return format_share(share.share, share.ci95)


def _unexplained_text(cell: CellCauses) -> str:
    return format_share(cell.attribution.unexplained, cell.attribution.unexplained_ci95)


def clocks_sentence(label: str, clocks: WallClock) -> str:
    """``LU's wall time varies by 6%, its CPU time by 0.8%: the ranks were descheduled``."""
    wall = format_share(clocks.wall, clocks.wall_ci95)
    cpu = format_share(clocks.cpu, clocks.cpu_ci95)
    words = f"{label}'s wall time varies by {wall}, its CPU time by {cpu} (CoV)"
    if clocks.verdict == "kept from running":
        return f"{words}: the ranks were descheduled, as on the Cray T3E during migration"
    if clocks.verdict == "ran longer":
        return f"{words}: shorter waits offset longer computing"
    return words


# ---- evidence ------------------------------------------------------------------------------------


def _row(
    cell: CellCauses, what: str, metric: str, value: float, ci95: Interval | None, note: str
) -> Evidence:
    return Evidence(
        label=f"{cell.label}: {what}",
        metric=metric,
        unit="1",
        value=value,
        ci95=ci95,
        cells=[cell.cell.id],
        note=note,
    )


def _share_row(cell: CellCauses, share: CauseShare) -> Evidence:
    what = f"variance associated with {cause_of(share.cause).words}"
    return _row(
        cell=cell,
        what=what,
        metric="share of variance",
        value=share.share,
        ci95=share.ci95,
        note=share_note(share),
    )


def share_note(share: CauseShare) -> str:
    """``worst_wait_seconds: 0.1% in the fastest quarter, 31% in the slowest; p < 1e-6``."""
    chance = f"p = {share.p:.2g}" if share.p >= 1e-6 else "p < 1e-6"
    if share.quick is None or share.slow is None:
        return f"{share.detail}; {chance}" if share.detail else chance
    bound = "; limited to what these lost seconds can explain" if share.bounded else ""
    return (
        f"{share.covariate}: {format_quantity(share.quick, share.unit)} in the fastest quarter of "
        f"the launches, {format_quantity(share.slow, share.unit)} in the slowest; {chance}{bound}"
    )


def _unexplained_row(cell: CellCauses) -> Evidence:
    attribution = cell.attribution
    return _row(
        cell=cell,
        what="unexplained variance",
        metric="share of variance",
        value=attribution.unexplained,
        ci95=attribution.unexplained_ci95,
        note=f"{attribution.n} measurements, {counted(attribution.tried, 'possible cause')} tested",
    )


def _clock_row(cell: CellCauses, clocks: WallClock) -> Evidence:
    return _row(
        cell=cell,
        what="variation of the CPU time for the same work",
        metric="coefficient of variation",
        value=clocks.cpu,
        ci95=clocks.cpu_ci95,
        note=f"by wall clock {format_share(clocks.wall, clocks.wall_ci95)}",
    )


# ---- advice, method, limits ----------------------------------------------------------------------


def _advice(found: CauseFindings) -> list[str]:
    """A recommendation for each named cause, with the cells that it affects."""
    cells: dict[str, list[str]] = {}
    for cell in _by_explained(found):
        for share in cell.named:
            cells.setdefault(share.cause, []).append(cell.label)
    advice = []
    for name, labels in cells.items():
        where = labels[0] if len(labels) == 1 else f"{len(labels)} cells"
        words = cause_of(name).words
        advice.append(f"{capitalised(words)} ({where}): {cause_of(name).advice}")
    advice += [
        f"The interruption of {each.where} every {format_quantity(each.period, 's')} for "
        f"{format_quantity(each.length, 's')} can explain up to {format_share(each.share)} of the "
        f"variance of {each.label}'s samples within a launch: find the service or timer behind it."
        for each in found.periodic[:_NAMED]
    ]
    return advice


def _method(found: CauseFindings) -> list[str]:
    tested = max(cell.attribution.tried for cell in found.cells)
    method = [
        f"Causes: covariates and factors (hosts, runs, time; up to {tested} per cell) were tested "
        "for association with the cost of launches. The test uses normal scores with Holm's "
        "correction, and tests direct causes before indirect ones. If nothing has a cause, at most "
        f"one report in {round(1 / REPORT_ALPHA)} has one in its figures, and one in "
        f"{round(1 / LEVEL):,} names one. Shares refer to the variance of the "
        "logarithm of the cost, averaged over the orders of entry (Lindeman, Merenda & Gold 1980).",
    ]
    if any(cell.clocks is not None for cell in found.cells):
        method.append(
            "Wall clock and CPU time are compared for the same work (Kramer & Ryan 2003, section "
            "11). The CPU time comes from the rank with the least CPU time. Ranks that wait for "
            "messages by polling use CPU time while they wait."
        )
    return method


def _limits(found: CauseFindings) -> list[str]:
    limits = [
        "An association does not prove a cause; an experiment that changes only the cause can. "
        "Variance is unexplained if it is associated with no covariate."
    ]
    over_nodes = [cell for cell in found.cells if not cell.named and cell.cell.placement.nodes > 1]
    if over_nodes:
        more = len(over_nodes) - 1
        limits.append(
            f"No recorded covariate explains {over_nodes[0].label}"
            f"{f' and {more} more' if more else ''}: the remaining candidates are the network "
            "between the nodes and the program itself. Of the network, only packet losses are "
            "recorded."
        )
    if found.few:
        limits.append(
            f"{counted(found.few, 'cell')} had fewer than {LEAST} measurements, too few to "
            "attribute variance to causes."
        )
    return limits
