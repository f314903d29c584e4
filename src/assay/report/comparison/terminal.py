"""A full comparison on a terminal: the sides, the verdict, all cells, caveats and advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.kernels.naming import metric_name
from assay.report.comparison.brief import STYLES, side_line
from assay.subjects.compare.answer import answer
from assay.subjects.compare.model import ComparedCell, CompareFindings
from assay.subjects.compare.tables import (
    VARIATION_WORDS,
    interval_words,
    speed_text,
    verdict_words,
)
from assay.units import format_change, format_limit, format_quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Number of cells whose contributions to the geometric mean are shown.
_MOST_PARTS = 3


def print_comparison(found: CompareFindings, console: Console) -> None:
    """Print the full comparison in the console's width."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    for run in found.runs:
        console.print(side_line(run, f"code: {', '.join(run.codes)}" if found.codes else ""))
    reply = answer(found)
    console.print()
    console.print(Padding(Text(reply.verdict), (0, 0, 0, 2)))
    console.print(
        Padding(Text(f"{reply.confidence} confidence: {reply.confidence_why}", "dim"), (0, 0, 0, 2))
    )
    console.print()
    several = len(found.runs) > 2
    grid = Table(box=None, pad_edge=False, header_style="bold")
    headings = ["cell", "A", "other" if several else "B", "speed over A", "verdict"]
    codes = any(cell.code_factor is not None for cell in found.cells)
    if codes:
        headings.insert(4, "codes divided out")
    clocks = any(cell.per_clock for cell in found.cells)
    if clocks:
        headings.insert(-1, "at equal clocks")
    for name in headings:
        right = name not in ("cell", "verdict")
        grid.add_column(name, justify="right" if right else "left", overflow="fold")
    for cell in found.cells:
        grid.add_row(
            Text(_name(cell, several)),
            Text(format_quantity(cell.reference, cell.unit)),
            Text(format_quantity(cell.other, cell.unit)),
            Text(speed_text(cell.speed, cell.speed_ci95)),
            *([Text(speed_text(cell.code_factor, cell.code_factor_ci95))] if codes else []),
            *([_per_clock(cell)] if clocks else []),
            Text(verdict_words(cell, found.margin), STYLES[cell.verdict]),
        )
    console.print(grid)
    for mean in found.means:
        if mean.speed is None:
            continue
        side = f"{mean.side}, " if several else ""
        text = f"{side}{mean.what} ({mean.cells}): {speed_text(mean.speed, mean.speed_ci95)}"
        console.print(Text(f"geometric mean, {text}"))
        first = mean.contributions[:_MOST_PARTS]
        parts = [(part.name, part.share) for part in first if part.share is not None]
        if mean.what == "all cells" and parts:
            shares = ", ".join(
                f"{name} {format_change(share, spec='+.0f')}" for name, share in parts
            )
            console.print(Text(f"  largest contributions: {shares}", "dim"))
    for each in found.variation:
        side = each.side if several else "B"
        ratio = speed_text(each.ratio, each.ratio_ci95)
        text = f"variation of launches, {side} over A ({each.cells}): {ratio}"
        console.print(Text(f"{text}, {VARIATION_WORDS[each.verdict]}"))
    console.print(
        Text(
            f"{interval_words(found)} Same: within {format_limit(found.margin)}.",
            "dim",
        )
    )
    for sentence in (*reply.caveats, *reply.advice):
        console.print(Text(f"! {sentence}" if sentence in reply.caveats else sentence, "yellow"))


def _per_clock(cell: ComparedCell) -> Text:
    from rich.text import Text

    found = cell.per_clock
    return Text("" if found is None else speed_text(found.speed, found.speed_ci95))


def _name(cell: ComparedCell, several: bool) -> str:
    side = f"{cell.side}: " if several else ""
    return f"{side}{cell.name}: {metric_name(cell.metric, cell.unit)}"
