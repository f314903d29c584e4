"""This machine compared with table 2 of Kramer & Ryan (2003)."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name, kernel_code, placement_text
from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.tables import NOTHING, Column, Entry, Table, count, share, written
from assay.questions.steadiness.variation.answer import time_text
from assay.questions.steadiness.variation.cells import CellVariation
from assay.questions.steadiness.variation.findings import VariationFindings
from assay.reference.variability import (
    CLASS,
    CODE,
    CODES,
    RANKS,
    SOURCE,
    YEAR,
    PublishedRuns,
    published_runs,
    published_systems,
)
from assay.units import counted

# Number of runs, mean, standard deviation, coefficient of variation.
_QUANTITIES = ("Number of runs", "Mean run time", "Standard deviation", "Coefficient of variation")


def published_table(found: VariationFindings) -> Table | None:
    """Table 2 of Kramer & Ryan (2003), this machine first; None if none of its codes was
    measured.
    """
    own = {code: varied for code in CODES if (varied := _of_code(found.varied, code))}
    if not own:
        return None
    rows = _rows("this machine", {code: _own_entries(varied) for code, varied in own.items()})
    for system in published_systems():
        runs = [each for each in published_runs() if each.system == system.name]
        rows += _rows(system.name, {each.code: _published_entries(each) for each in runs})
    ran = "; ".join(
        f"{code}: {cell_name(varied.cell)}, {placement_text(varied.cell.placement)}, "
        f"{varied.cell.toolchain}"
        for code, varied in own.items()
    )
    machines = "; ".join(
        f"{each.name} ({each.site}): {each.processor}, {counted(each.ppn, 'process')} per node, "
        f"{each.network}, load {each.load}"
        for each in published_systems()
    )
    return Table(
        id="variation-published",
        title="Variation compared with published systems",
        columns=[
            Column("system", "System"),
            Column("quantity", "Quantity"),
            *(Column(code.lower(), code, numeric=True) for code in CODES),
        ],
        rows=rows,
        notes=[
            f"This machine, {found.when}: {ran}. NPB: {OWN_CODE}.",
            f"{SOURCE}, table 2: {CODE}, class {CLASS} on {RANKS} processes, all CPUs of "
            f"dedicated nodes, published in {YEAR}. {machines}.",
            "More processes are exposed to more disturbances, and longer runs average over more of "
            "them: coefficients of other classes and process counts are only roughly comparable. "
            "Published coefficients have no intervals.",
        ],
    )


def _of_code(varied: Sequence[CellVariation], code: str) -> CellVariation | None:
    """The cell of a code with the most ranks; of several, the slowest (the largest class)."""
    return max(
        (each for each in varied if kernel_code(each.cell.kernel) == code and each.unit == "s"),
        key=lambda each: (each.cell.placement.ranks, each.spread.median),
        default=None,
    )


def _own_entries(varied: CellVariation) -> list[Entry]:
    spread = varied.spread
    deviation = NOTHING
    if spread.deviation is not None:
        deviation = Entry(time_text(spread.deviation, varied.unit), spread.deviation)
    mean = Entry(time_text(spread.mean, varied.unit), spread.mean)
    return [count(spread.n), mean, deviation, share(spread.cov, spread.cov_ci95)]


def _published_entries(runs: PublishedRuns) -> list[Entry]:
    return [
        count(runs.runs),
        written(runs.mean, "{:g} s"),
        written(runs.deviation, "{:g} s"),
        Entry(f"{100 * runs.cov:.2f}%", runs.cov),
    ]


def _rows(system: str, by_code: dict[str, list[Entry]]) -> list[list[Entry]]:
    """A row per quantity; codes that were not measured are empty."""
    missing = [NOTHING] * len(_QUANTITIES)
    columns = [by_code.get(code, missing) for code in CODES]
    return [
        [Entry(system, tone="quiet" if place else ""), Entry(quantity), *entries]
        for place, (quantity, *entries) in enumerate(zip(_QUANTITIES, *columns, strict=True))
    ]
