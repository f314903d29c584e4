"""Tables of a comparison: the sides, the cells with their verdicts, the means."""

from __future__ import annotations

from assay.kernels.naming import metric_name
from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, Tone, quantity
from assay.questions.compare.model import ComparedCell, CompareFindings, MeanSpeed
from assay.units import format_limit, format_minute, format_quantity

_TONES: dict[str, Tone] = {"slower": "bad", "faster": "good", "same": "", "open": "quiet"}


def verdict_words(cell: ComparedCell, margin: float) -> str:
    """``slower``, ``the same within 1%``, ``can't tell: 12 more launches per side would``."""
    if cell.verdict == "same":
        return f"the same within {format_limit(margin)}"
    if cell.verdict != "open":
        return cell.verdict
    if cell.more is not None:
        return f"can't tell: {cell.more:,} more launches per side would"
    few = min(cell.reference_launches, cell.other_launches)
    return f"can't tell: n = {few}" if few < 2 else "can't tell"


def speed_text(speed: float | None, interval: tuple[float, float] | None) -> str:
    """``1.031 [1.012, 1.051]``."""
    return "" if speed is None else format_quantity(speed, "", interval)


def tables(found: CompareFindings) -> list[Table]:
    """The sides, and the means if there are several cells; ``cell_table`` has the cells."""
    return [side_table(found), *([mean_table(found)] if found.means else [])]


def cell_table(found: CompareFindings) -> Table:
    """A row per cell and side: both medians, factor of speed, verdict."""
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
        lambda cell: Entry(f"{cell.reference_launches}, {cell.other_launches}"),
    )
    builder.numbers(
        "speed",
        "Speed over A",
        lambda cell: (
            Entry(speed_text(cell.speed, cell.speed_ci95), cell.speed) if cell.speed else NOTHING
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
        caption="Speed over A: above 1 the other run is faster (of times the inverse ratio). "
        "Brackets: 95% intervals over launches, as if launches were independent.",
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
            caption="Each cell has the same weight. The intervals allow for what cells of one "
            "launch have in common.",
        )
    )


def side_table(found: CompareFindings) -> Table:
    """The runs."""
    return (
        TableBuilder(found.runs)
        .text("name", "", lambda run: run.name)
        .text("run", "Run", lambda run: run.run)
        .text("system", "System", lambda run: run.system)
        .text("suite", "Suite", lambda run: run.suite)
        .text("toolchain", "Toolchain", lambda run: run.toolchain or "all")
        .text("utc", "Begun", lambda run: format_minute(run.utc))
        .counts("cells", "Cells", lambda run: run.cells)
        .counts("unshared", "Not shared", lambda run: len(run.unshared))
        .table(
            "compare-runs",
            "Runs",
            notes=[
                f"Only in {run.name}: {'; '.join(run.unshared)}."
                for run in found.runs
                if run.unshared
            ],
        )
    )


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
