"""Tables of a comparison: the sides, the cells with their verdicts, the means."""

from __future__ import annotations

from collections.abc import Sequence

from assay.hostnames import compress_hosts
from assay.kernels.naming import metric_name
from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, Tone, quantity
from assay.subjects.compare.model import (
    CellContribution,
    ComparedCell,
    ComparedRun,
    ComparedVariation,
    CompareFindings,
    MeanSpeed,
)
from assay.subjects.compare.results import OWN_CODES
from assay.units import counted, format_change, format_limit, format_minute, format_quantity

_TONES: dict[str, Tone] = {
    "slower": "bad",
    "faster": "good",
    "same": "",
    "open": "quiet",
    "none": "quiet",
}

_NOUNS = {"launches": "launch", "sessions": "session", "nodes": "node"}

# Maximum number of cells without a counterpart to name.
_MOST_NAMED = 8


def verdict_words(cell: ComparedCell, margin: float) -> str:
    """``slower``, ``the same within 1%``, ``undecided: 12 more launches per side would decide``.

    For two runs: ``slower in these two runs``, ``undecided: 4 runs per side would decide (slower in
    these two runs)``, ``slower (change between the runs: 0.87 [0.86, 0.88])``. For other codes:
    ``no verdict: another code (HPL 2.3)``. If one side is a single number: ``faster, if the
    published number is exact``.
    """
    if cell.verdict == "none":
        return f"no verdict: another code ({other_code(cell)})"
    only = " in these two runs" if cell.of_two_runs else ""
    if cell.verdict == "same":
        return f"the same within {format_limit(margin)}{only}"
    if cell.verdict != "open" and cell.step is not None:
        step = speed_text(cell.step.speed, cell.step.speed_ci95)
        return f"{cell.verdict} (change between the runs: {step})"
    if cell.verdict != "open":
        return f"{cell.verdict}{only}"
    by = "by launches only" if cell.by_launches_only else "in these two runs"
    seen = f" ({cell.in_runs} {by})" if cell.in_runs else ""
    if cell.disturbed and seen:
        return f"undecided: other processes{seen}"
    if cell.runs is not None:
        return f"undecided: {cell.runs:,} runs per side would decide{seen}"
    if cell.separate and seen:
        return f"undecided{seen}"
    if cell.more is not None:
        needed = counted(cell.more, f"more {_NOUNS[cell.unit_of_test]}")
        return f"undecided: {needed} per side would decide"
    if cell.if_exact is not None:
        return f"{cell.if_exact}, if the {single_number(cell)} number is exact"
    few = min(cell.reference_units, cell.other_units)
    return f"undecided: n = {few}" if few < 2 else "undecided"


def brief_words(cell: ComparedCell, margin: float) -> str:
    """``verdict_words`` in about 30 characters or fewer, for a screen of 80 columns."""
    if cell.verdict == "none":
        return "no verdict: another code"
    only = " in these runs" if cell.of_two_runs else ""
    if cell.verdict == "same":
        return f"same within {format_limit(margin)}{only}"
    if cell.verdict != "open":
        return f"{cell.verdict}{only}"
    if cell.disturbed and cell.in_runs:
        return "undecided: other processes"
    if cell.runs is not None:
        return f"undecided: needs {cell.runs:,} runs"
    if cell.more is not None and not (cell.separate and cell.in_runs):
        return f"undecided: {cell.more:,} more {cell.unit_of_test}"
    if cell.if_exact is not None:
        return f"{cell.if_exact}, if exact"
    few = min(cell.reference_units, cell.other_units)
    return f"undecided: n = {few}" if few < 2 else "undecided"


def single_number(cell: ComparedCell) -> str:
    """Origin of the single number of a cell: ``published`` or ``imported``."""
    return "published" if cell.note else "imported"


def other_code(cell: ComparedCell) -> str:
    """The code that is not assay's, or else both codes: ``NASA's NPB 2.3``."""
    codes = dict.fromkeys(code or "not stated" for code in (cell.reference_code, cell.other_code))
    return " and ".join([code for code in codes if code not in OWN_CODES])


# How the launches of a side vary relative to the reference's.
VARIATION_WORDS = {"more": "more", "less": "less", "open": "not distinguishable"}


def speed_text(speed: float | None, interval: tuple[float, float] | None) -> str:
    """``1.031 [1.012, 1.051]``."""
    return "" if speed is None else format_quantity(speed, "", interval)


def tables(found: CompareFindings) -> list[Table]:
    """The sides, and the means if there are several cells. ``cell_table`` has the cells."""
    means = [mean_table(found), contribution_table(found)] if found.means else []
    variation = [variation_table(found)] if found.variation else []
    return [side_table(found), *means, *variation]


def cell_table(found: CompareFindings) -> Table:
    """One row per cell and side: both medians, speed over A, verdict."""
    several = len(found.runs) > 2
    builder = TableBuilder(found.cells)
    if several:
        builder.text("side", "Run", lambda cell: cell.side)
    builder.text("cell", "Cell", lambda cell: cell.name)
    builder.text("metric", "Metric", lambda cell: metric_name(cell.metric, cell.unit))
    builder.numbers(
        "reference", "A", lambda cell: quantity(cell.reference, cell.unit, cell.reference_ci95)
    )
    builder.numbers(
        "other",
        "Other" if several else "B",
        lambda cell: quantity(cell.other, cell.unit, cell.other_ci95),
    )
    builder.numbers(
        "launches",
        "Launches",
        lambda cell: Entry(_counts(cell)),
    )
    if found.codes:
        builder.text(
            "codes",
            "Codes",
            lambda cell: f"{cell.reference_code or '?'}, {cell.other_code or '?'}",
        )
    builder.numbers(
        "speed",
        "Speed over A",
        lambda cell: (
            Entry(speed_text(cell.speed, cell.speed_ci95), cell.speed) if cell.speed else NOTHING
        ),
    )
    if any(cell.code_factor is not None for cell in found.cells):
        builder.numbers(
            "code_factor",
            "Codes divided out",
            lambda cell: quantity(cell.code_factor, "", cell.code_factor_ci95),
        )
    if found.scaled_clock:
        builder.numbers(
            "per_clock",
            "At equal clocks",
            lambda cell: (
                Entry(
                    speed_text(cell.per_clock.speed, cell.per_clock.speed_ci95),
                    cell.per_clock.speed,
                )
                if cell.per_clock
                else NOTHING
            ),
        )
    builder.numbers(
        "p",
        "p, corrected",
        lambda cell: (
            NOTHING if cell.p_corrected is None else Entry(_p(cell.p_corrected), cell.p_corrected)
        ),
    )
    builder.column(
        "verdict",
        "Verdict",
        lambda cell: Entry(verdict_words(cell, found.margin), tone=_TONES[cell.verdict]),
    )
    return builder.table(
        "compare-cells",
        "Cells",
        caption="Speed over A: above 1, the other run is faster (times: inverse ratio). "
        f"{interval_words(found)}{origin_words(found)}",
        notes=dict.fromkeys(f"{cell.name}: {cell.note}." for cell in found.cells if cell.note),
    )


def interval_words(found: CompareFindings) -> str:
    """What the intervals cover, and what is assumed."""
    units = {cell.unit_of_test for cell in found.cells}
    words = " or ".join(unit for unit in ("launches", "sessions", "nodes") if unit in units)
    text = f"Brackets: 95% intervals over {words}"
    if any(cell.separate for cell in found.cells):
        text += ", and over runs"
    if "launches" not in units:
        return text + "."
    if found.worth < 1.0:
        return f"{text}; each launch counts as {found.worth:.2g} independent launches."
    return text + "; launches count as independent."


def origin_words(found: CompareFindings) -> str:
    """The sides that assay did not measure: `` Imported: A. Published: B.`` or empty."""
    text = ""
    for kind, word in (("imported", "Imported"), ("published", "Published")):
        names = [run.name for run in found.runs if run.kind == kind]
        if names:
            text += f" {word}: {', '.join(names)}."
    return text


def _counts(cell: ComparedCell) -> str:
    launches = f"{cell.reference_launches}, {cell.other_launches}"
    if cell.unit_of_test == "launches":
        return launches
    return f"{launches} ({cell.reference_units}, {cell.other_units} {cell.unit_of_test})"


def contribution_table(found: CompareFindings) -> Table:
    """What each cell contributes to the geometric mean of all cells."""
    several = len(found.runs) > 2
    rows = [
        (mean.side, part)
        for mean in found.means
        if mean.what == "all cells"
        for part in mean.contributions
    ]

    def share(row: tuple[str, CellContribution]) -> Entry:
        value = row[1].share
        return NOTHING if value is None else Entry(format_change(value), value)

    builder = TableBuilder(rows)
    if several:
        builder.text("side", "Run", lambda row: row[0])
    return (
        builder.text("cell", "Cell", lambda row: row[1].name)
        .numbers("factor", "Factor", lambda row: Entry(f"{row[1].factor:.4f}", row[1].factor))
        .numbers("share", "Share of the mean's logarithm", share)
        .table(
            "compare-contributions",
            "Contributions to the geometric mean",
            caption="The product of the factors is the geometric mean of all cells. A negative "
            "share changes the mean in the opposite direction.",
            folded=True,
        )
    )


def mean_table(found: CompareFindings) -> Table:
    """The geometric means."""

    def speed(mean: MeanSpeed) -> Entry:
        return Entry(speed_text(mean.speed, mean.speed_ci95), mean.speed) if mean.speed else NOTHING

    builder = TableBuilder(found.means)
    if len(found.runs) > 2:
        builder.text("side", "Run", lambda mean: mean.side)
    return (
        builder.text("what", "Cells", lambda mean: mean.what)
        .counts("cells", "Number", lambda mean: mean.cells)
        .numbers("speed", "Speed over A", speed)
        .table(
            "compare-means",
            "Geometric means",
            caption="Only cells with the same code on both sides count, with equal weights. The "
            "intervals allow for correlation between cells of one "
            f"launch.{origin_words(found)}",
        )
    )


def variation_table(found: CompareFindings) -> Table:
    """Whether the launches of a side vary more than the reference's."""
    builder = TableBuilder(found.variation)
    if len(found.runs) > 2:
        builder.text("side", "Run", lambda one: one.side)
    return (
        builder.counts("cells", "Cells", lambda one: one.cells)
        .numbers("ratio", "Variation over A", _variation)
        .text("verdict", "Launches vary", lambda one: VARIATION_WORDS[one.verdict])
        .table(
            "compare-variation",
            "Variation of launches",
            caption="The geometric mean over the cells of the ratios of coefficients of variation, "
            "for cells with at least six launches per side. More or less is stated at an error of "
            "1 in 1,000.",
        )
    )


def _variation(one: ComparedVariation) -> Entry:
    return Entry(speed_text(one.ratio, one.ratio_ci95), one.ratio)


def side_table(found: CompareFindings) -> Table:
    """The sides. Columns that would be the same for all runs are left out."""
    runs = found.runs
    builder = (
        TableBuilder(runs)
        .text("name", "Side", lambda run: run.name)
        .text("run", "Run", lambda run: run.run)
        .text("system", "System", lambda run: run.system)
        .text("suite", "Suite", lambda run: run.suite)
        .text("toolchain", "Toolchain", lambda run: run.toolchain or "all")
    )
    if any(run.nodes is not None for run in runs):
        builder.text("nodes", "Nodes", lambda run: nodes_text(run) or "all")
    builder.text("codes", "Code", lambda run: ", ".join(run.codes))
    if any(run.sessions for run in runs):
        builder.counts("sessions", "Sessions", lambda run: run.sessions)
    if found.scaled_clock:
        builder.numbers("clock", "Clock", lambda run: quantity(run.clock, "Hz"), unit="Hz")
    return (
        builder.text("utc", "Begun", lambda run: "" if run.utc is None else format_minute(run.utc))
        .counts("cells", "Cells", lambda run: run.cells)
        .counts("unshared", "Not shared", lambda run: len(run.unshared))
        .table(
            "compare-runs",
            "Runs",
            notes=[f"Only in {run.name}: {_some(run.unshared)}." for run in runs if run.unshared],
        )
    )


def nodes_text(run: ComparedRun) -> str:
    """``n[1-4]``; empty for all nodes of the run."""
    return "" if run.nodes is None else compress_hosts(run.nodes)


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - _MOST_NAMED
    return "; ".join(names[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
