"""Why does it vary? What of each cell's variation goes with which cause, and what with none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.answers.accounting import Accounted, accounting_of
from assay.answers.model import Evidence
from assay.answers.select import Part
from assay.answers.study import labels_of
from assay.records.model import RunData
from assay.stats.attribution import ALPHA, LEAST, Attribution, Share, attribute
from assay.stats.covariates import cause_of
from assay.stats.intervals import Floats
from assay.stats.noise import TRACED
from assay.stats.repeats import Repeats
from assay.stats.wall_clock import WallClock, wall_clock
from assay.units import counted, format_quantity, format_share

# A cause of less of a cell's variation isn't worth a sentence.
WORTH = 0.05
# Cells named in the verdict.
_NAMED = 2
# Chance that a report names any cause in any cell where nothing explains: shared among the cells.
REPORT_ALPHA = 0.05
# From which share on a periodic interruption is worth a sentence.
_PERIODIC = 0.05


@dataclass(frozen=True)
class CellCauses:
    """One cell: its results, what explains how they vary, and both clocks where they are known."""

    label: str
    repeats: Repeats
    attribution: Attribution
    clocks: WallClock | None

    @property
    def named(self) -> list[Share]:
        """The causes that are worth a sentence, the greatest first."""
        return [share for share in self.attribution.shares if share.share >= WORTH]

    @property
    def explained(self) -> float:
        """Variance of the logarithm of the cost that the named causes explain."""
        of = sum(share.share for share in self.named)
        return of * self.attribution.deviation**2


@dataclass(frozen=True)
class Periodic:
    """An interruption from the noise traces that can make so much of a cell's samples vary."""

    label: str
    cell: str
    period: float
    length: float
    where: str
    share: float


@dataclass(frozen=True)
class Causes:
    """All cells that can be told of; ``few``: how many others have too few measurements.

    ``accounted``: the run's jobs by their scheduler's accounting, where there was one.
    """

    cells: tuple[CellCauses, ...]
    few: int
    periodic: tuple[Periodic, ...] = ()
    accounted: Accounted | None = None


def causes_of(repeats: Sequence[Repeats], run: RunData) -> Causes | None:
    """The causes of a run's cells; None if no cell was measured often enough."""
    enough = [each for each in repeats if len(each) >= LEAST]
    if not enough:
        return None
    alpha = min(ALPHA, REPORT_ALPHA / len(enough))
    labels = labels_of([each.cell for each in enough])
    cells = tuple(
        CellCauses(labels[each.cell.id], each, attribute(each, alpha=alpha), wall_clock(each))
        for each in enough
    )
    return Causes(
        cells, len(repeats) - len(enough), tuple(_periodic(cells, run)), accounting_of(run)
    )


def causes_part(repeats: Sequence[Repeats], run: RunData) -> Part | None:
    """The part of the causes; None if no cell was measured often enough.

    ``remark`` is its clause of the verdict.
    """
    found = causes_of(repeats, run)
    return None if found is None else part_of(found)


def part_of(causes: Causes) -> Part:
    """What the causes add to the answer."""
    part = Part(remark=_remark(causes))
    for cell in causes.cells:
        part.evidence += [_share_row(cell, share) for share in cell.named]
        if cell.named:
            part.evidence.append(_rest_row(cell))
        if cell.clocks is not None and cell.clocks.verdict in ("kept from running", "ran longer"):
            part.evidence.append(_clock_row(cell, cell.clocks))
    part.advice = _advice(causes)
    part.method = _method(causes)
    part.limits = _limits(causes)
    return part


# ---- the verdict ---------------------------------------------------------------------------------


def _remark(causes: Causes) -> str:
    told = _by_weight(causes)
    clauses = [cell_sentence(cell) for cell in told[:_NAMED]]
    if len(told) > _NAMED:
        clauses.append(f"causes are named in {len(told) - _NAMED} more of the cells")
    silent = len(causes.cells) - len(told)
    if not told:
        clauses.append(
            f"of what {counted(len(causes.cells), 'cell')} {'varies' if silent == 1 else 'vary'} "
            "nothing goes with any covariate: all of it is unexplained"
        )
    clauses += [
        clocks_sentence(cell.label, cell.clocks)
        for cell in causes.cells
        if cell.clocks is not None and cell.clocks.verdict == "kept from running"
    ][:_NAMED]
    accounted = causes.accounted
    if accounted is not None and accounted.clocks.verdict == "kept from running":
        clocks = accounted.clocks
        clauses.append(
            f"whole jobs' wall time varies by {format_share(clocks.wall, clocks.wall_ci95)}, their "
            f"{accounted.what} by {accounted.source} {format_share(clocks.cpu, clocks.cpu_ci95)}: "
            "they were kept from running"
        )
    return "; ".join(clauses)


def _by_weight(causes: Causes) -> list[CellCauses]:
    """The cells with a named cause, those first of whose variation most is explained."""
    return sorted((cell for cell in causes.cells if cell.named), key=lambda cell: -cell.explained)


def cell_sentence(cell: CellCauses) -> str:
    """``62% [48, 71] of LU's variation goes with steal time: …; 38% unexplained``."""
    first, *rest = cell.named
    cause = cause_of(first.cause)
    detail = f" ({first.detail})" if first.detail else ""
    words = [
        f"{_share_text(first)} of {cell.label}'s variation goes with {cause.words}: {cause.meaning}"
        f"{detail}"
    ]
    if rest:
        words.append(
            " and ".join(f"{_share_text(each)} with {cause_of(each.cause).words}" for each in rest)
        )
    attribution = cell.attribution
    words.append(
        f"{format_share(attribution.unexplained, attribution.unexplained_ci95)} unexplained"
    )
    return "; ".join(words)


def _share_text(share: Share) -> str:
    return format_share(share.share, share.ci95)


def clocks_sentence(label: str, clocks: WallClock) -> str:
    """``LU's wall time varies by 6%, its CPU time by 0.8%: the ranks were kept from running``."""
    wall = format_share(clocks.wall, clocks.wall_ci95)
    cpu = format_share(clocks.cpu, clocks.cpu_ci95)
    told = f"{label}'s wall time varies by {wall}, its CPU time by {cpu}"
    if clocks.verdict == "kept from running":
        return f"{told}: the ranks were kept from running, as the T3E's were by migration"
    if clocks.verdict == "ran longer":
        return f"{told}: how long the ranks waited made up for how long they computed"
    return told


# ---- evidence ------------------------------------------------------------------------------------


def _row(label: str, metric: str, value: float, interval: object, cell: str, note: str) -> Evidence:
    return Evidence(
        label=label,
        metric=metric,
        unit="1",
        value=value,
        ci95=interval,  # type: ignore[arg-type]
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[cell],
        note=note,
    )


def _share_row(cell: CellCauses, share: Share) -> Evidence:
    return _row(
        f"{cell.label}: variation that goes with {cause_of(share.cause).words}",
        "share of variance",
        share.share,
        share.ci95,
        cell.repeats.cell.id,
        share_note(share),
    )


def share_note(share: Share) -> str:
    """``worst_wait_seconds: 0.1% in the quickest quarter, 31% in the slowest; p < 1e-6``."""
    chance = f"p = {share.p:.2g}" if share.p >= 1e-6 else "p < 1e-6"
    if share.quick is None or share.slow is None:
        return f"{share.detail}; {chance}" if share.detail else chance
    bound = "; more goes with it than these seconds can have made" if share.bounded else ""
    return (
        f"{share.covariate}: {format_quantity(share.quick, share.unit)} in the quickest quarter of "
        f"the launches, {format_quantity(share.slow, share.unit)} in the slowest; {chance}{bound}"
    )


def _rest_row(cell: CellCauses) -> Evidence:
    attribution = cell.attribution
    return _row(
        f"{cell.label}: variation that nothing known explains",
        "share of variance",
        attribution.unexplained,
        attribution.unexplained_ci95,
        cell.repeats.cell.id,
        f"{attribution.n} measurements, {attribution.tried} covariates and factors tried",
    )


def _clock_row(cell: CellCauses, clocks: WallClock) -> Evidence:
    return _row(
        f"{cell.label}: variation of the CPU time for the same work",
        "coefficient of variation",
        clocks.cpu,
        clocks.cpu_ci95,
        cell.repeats.cell.id,
        f"of the wall clock {format_share(clocks.wall, clocks.wall_ci95)}",
    )


# ---- periodic interruptions ----------------------------------------------------------------------


def periodic_deviation(length: float, period: float, duration: float) -> float:
    """Standard deviation, s, of the time that interruptions of ``length`` s every ``period`` s take
    from work of ``duration`` s that begins at any moment.

    The work meets floor(d/P) or one more of them, the latter with probability frac(d/P).
    """
    share = math.modf(duration / period)[0]
    return length * math.sqrt(share * (1.0 - share))


def _periodic(cells: Sequence[CellCauses], run: RunData) -> list[Periodic]:
    """What the periods in the run's noise traces can make the samples of each cell vary by."""
    if not any(cell.kernel in TRACED for cell in run.manifest.plan.cells):
        return []
    from assay.answers.noise import noise_of
    from assay.stats.cells import summarise_cells

    noise = noise_of(summarise_cells(run), run)
    if noise is None:
        return []
    found = []
    for cell in cells:
        duration = _sample_seconds(cell.repeats, run)
        spread = _sample_deviation(cell.repeats)
        if duration is None or not spread:
            continue
        for component in noise.components:
            seen = component.periodic
            made = periodic_deviation(seen.length, seen.period, duration) / duration
            share = min((made / spread) ** 2, 1.0)
            if share >= _PERIODIC:
                found.append(
                    Periodic(
                        cell.label,
                        cell.repeats.cell.id,
                        seen.period,
                        seen.length,
                        component.where,
                        share,
                    )
                )
    return sorted(found, key=lambda each: -each.share)


def _sample_seconds(repeats: Repeats, run: RunData) -> float | None:
    """How long a sample of the cell lasts, with all operations of its batch."""
    spans = [
        float(np.median(m.record.series[0].values)) * (m.record.batch or 1)
        for m in run.measurements
        if m.cell.id == repeats.cell.id
        and m.record.status == "ok"
        and m.record.series
        and m.record.series[0].unit == "s"
        and m.record.series[0].values
    ]
    return float(np.median(spans)) if spans else None


def _sample_deviation(repeats: Repeats) -> float | None:
    """Standard deviation of the logarithms of a launch's samples, the median over launches."""
    if repeats.sizes.size == 0 or repeats.sizes.min() < 2:
        return None
    logs = np.log(repeats.sample_costs)
    parts: list[Floats] = np.split(logs, np.cumsum(repeats.sizes)[:-1])
    return float(np.median([part.std(ddof=1) for part in parts]))


# ---- advice, method, limits ----------------------------------------------------------------------


def _advice(causes: Causes) -> list[str]:
    """What to do about each named cause, once, with the cells that it touches."""
    cells: dict[str, list[str]] = {}
    for cell in _by_weight(causes):
        for share in cell.named:
            cells.setdefault(share.cause, []).append(cell.label)
    made = []
    for name, labels in cells.items():
        where = labels[0] if len(labels) == 1 else f"{len(labels)} cells"
        words = cause_of(name).words
        made.append(f"{words[:1].upper()}{words[1:]} ({where}): {cause_of(name).advice}")
    made += [
        f"What interrupts {each.where} every {format_quantity(each.period, 's')} for "
        f"{format_quantity(each.length, 's')} can make up to {format_share(each.share)} of how "
        f"{each.label}'s samples vary within a launch: find the service or timer behind it."
        for each in causes.periodic[:_NAMED]
    ]
    return made


def _method(causes: Causes) -> list[str]:
    tried = max(cell.attribution.tried for cell in causes.cells)
    made = [
        f"Causes: of each cell up to {tried} covariates and factors (hosts, runs, time) were "
        "tested against the cost of its launches, by normal scores with Holm's correction, direct "
        "causes before indirect ones; a report in which nothing explains anything names a cause "
        f"at most once in {round(1 / REPORT_ALPHA)}. Shares are of the variance of the logarithm "
        "of the cost, averaged over the orders of asking (Lindeman, Merenda & Gold 1980).",
    ]
    if any(cell.clocks is not None for cell in causes.cells):
        made.append(
            "Wall clock against CPU time (Kramer & Ryan 2003, section 11): CPU time is that of the "
            "rank that had least of it, for the same work. Ranks that wait for messages by polling "
            "use CPU time while they wait."
        )
    return made


def _limits(causes: Causes) -> list[str]:
    made = [
        "That a cause goes with the variation is what was seen; that it makes it takes an "
        "experiment in which only that changes. What no covariate tells of is unexplained."
    ]
    silent = [cell for cell in causes.cells if not cell.named]
    nodes = [cell for cell in silent if cell.repeats.cell.placement.nodes > 1]
    if nodes:
        made.append(
            f"Nothing on the nodes explains {nodes[0].label}"
            f"{f' and {len(nodes) - 1} more' if len(nodes) > 1 else ''}: what is left is the "
            "network between them, which tells of losses only, and the work itself."
        )
    if causes.few:
        made.append(
            f"{counted(causes.few, 'cell')} had fewer than {LEAST} measurements, too few to tell "
            "causes."
        )
    return made
