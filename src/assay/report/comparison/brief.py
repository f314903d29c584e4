"""A comparison on one screen: the sides, the verdict, the most important cells, the first caveats.

Cells and caveats that do not fit are left out and counted. ``terminal`` prints everything.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.subjects.compare.answer import answer
from assay.subjects.compare.labels import brief_labels
from assay.subjects.compare.model import ComparedCell, ComparedRun, CompareFindings
from assay.subjects.compare.sentences import side_name
from assay.subjects.compare.tables import brief_words, speed_text
from assay.units import counted, format_limit, format_quantity, listed

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

STYLES = {"slower": "red", "faster": "green", "same": "", "open": "dim", "none": "dim"}
_LEAST_HEIGHT = 24  # lines of the smallest supported screen
_LEAST_CELLS = 3
_MOST_CAVEATS = 3
_WIDE = 100  # minimum columns at which the values of both sides are shown
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)%][.:]) (?=[A-Z])")


def print_brief(found: CompareFindings, console: Console) -> None:
    """Print the comparison in the console's width, and in its height if the sides fit."""
    labels = brief_labels(found.cells)
    before, after = _before(found, labels), _after(found, console.width)
    taken = sum(_lines(each, console) for each in (*before, *after))
    room = max(console.height, _LEAST_HEIGHT) - 1 - taken  # minus the line of the next prompt
    cells = most_important(found.cells)
    shown = min(len(cells), _LEAST_CELLS)
    while shown < len(cells) and _height(found, cells[: shown + 1], labels, console) <= room:
        shown += 1
    left = cells[shown:]
    for each in (*before, _grid(found, cells[:shown], labels, console.width)):
        console.print(each)
    if left:
        console.print(_left_out(left, found), style="dim", markup=False)
    for each in after:
        console.print(each)


def side_line(run: ComparedRun, code: str) -> Text:
    """A line on a side: its name, kind, system and toolchain, and ``code`` if there is one."""
    from rich.text import Text

    rest = [run.system, *([f"toolchain {run.toolchain}"] if run.toolchain else []), code]
    return Text.assemble(
        (f"{run.name}  ", "bold"),
        side_name(run),
        (f"  {', '.join(part for part in rest if part)}", "dim"),
    )


def most_important(cells: Sequence[ComparedCell]) -> list[ComparedCell]:
    """Differences first, then conditional differences, then undecided and equal cells; the largest
    ratios first.
    """

    def rank(cell: ComparedCell) -> int:
        if cell.verdict in ("slower", "faster"):
            return 0
        if cell.if_exact is not None:
            return 1
        if cell.verdict == "open":
            return 2 if cell.in_runs is not None else 4
        return 3 if cell.verdict == "none" else 5

    def ratio(cell: ComparedCell) -> float:
        return abs(math.log(cell.speed)) if cell.speed else 0.0

    return sorted(cells, key=lambda cell: (rank(cell), -ratio(cell)))


def _before(found: CompareFindings, labels: dict[str, str]) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    codes = [", ".join(run.codes) if found.codes else "" for run in found.runs]
    lines = [side_line(run, code) for run, code in zip(found.runs, codes, strict=True)]
    reply = answer(found)
    verdict = reply.verdict
    for run in found.runs:
        verdict = verdict.replace(f" {run.name} ({side_name(run)}) is ", f" {run.name} is ")
    for name in sorted(labels, key=len, reverse=True):
        verdict = verdict.replace(f"{name}, ", f"{labels[name]}, ")
    return [
        *lines,
        Padding(Text(verdict), (0, 0, 0, 2)),
        Padding(
            Text(f"{reply.confidence} confidence: {reply.confidence_why}", "dim"), (0, 0, 1, 2)
        ),
    ]


def _grid(
    found: CompareFindings, cells: Sequence[ComparedCell], labels: dict[str, str], width: int
) -> Table:
    from rich.table import Table
    from rich.text import Text

    several = len(found.runs) > 2
    codes = any(cell.code_factor is not None for cell in found.cells)
    clocks = any(cell.per_clock for cell in found.cells)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    grid.add_column("cell", overflow="fold")
    if width >= _WIDE:
        grid.add_column("A", justify="right", no_wrap=True)
        grid.add_column("other" if several else "B", justify="right", no_wrap=True)
    grid.add_column("speed over A", justify="right", no_wrap=not (codes or clocks))
    if codes:
        grid.add_column("codes divided out", justify="right")
    if clocks:
        grid.add_column("at equal clocks", justify="right")
    grid.add_column("verdict", overflow="fold")
    for cell in cells:
        row = [Text(f"{cell.side}: {labels[cell.name]}" if several else labels[cell.name])]
        if width >= _WIDE:
            row.append(Text(format_quantity(cell.reference, cell.unit)))
            row.append(Text(format_quantity(cell.other, cell.unit)))
        row.append(Text(speed_text(cell.speed, cell.speed_ci95)))
        if codes:
            row.append(Text(speed_text(cell.code_factor, cell.code_factor_ci95)))
        if clocks:
            clock = cell.per_clock
            row.append(Text("" if clock is None else speed_text(clock.speed, clock.speed_ci95)))
        row.append(Text(brief_words(cell, found.margin), STYLES[cell.verdict]))
        grid.add_row(*row)
    return grid


def _height(
    found: CompareFindings,
    cells: Sequence[ComparedCell],
    labels: dict[str, str],
    console: Console,
) -> int:
    """Lines of the table of these cells, including the line that counts the others."""
    return _lines(_grid(found, cells, labels, console.width), console) + 1


def _left_out(cells: Sequence[ComparedCell], found: CompareFindings) -> str:
    """``… 12 more cells: 3 slower, 9 the same within 1%``."""
    counts: Counter[str] = Counter(cell.verdict for cell in cells)
    words = {
        "slower": "slower",
        "faster": "faster",
        "open": "undecided",
        "none": "with different codes",
        "same": f"the same within {format_limit(found.margin)}",
    }
    parts = [f"{counts[verdict]} {said}" for verdict, said in words.items() if counts[verdict]]
    return f"… {counted(len(cells), 'more comparison')}: {listed(parts)}"


def _after(found: CompareFindings, width: int) -> list[RenderableType]:
    from rich.text import Text

    lines: list[RenderableType] = []
    several = len(found.runs) > 2
    for mean in found.means:
        if mean.what == "all cells" and mean.speed is not None:
            side = f"{mean.side}, " if several else ""
            text = speed_text(mean.speed, mean.speed_ci95)
            lines.append(Text(f"geometric mean, {side}all cells ({mean.cells}): {text}"))
    reply = answer(found)
    caveats = [_SENTENCE_END.split(sentence)[0].rstrip(":") for sentence in reply.caveats]
    for sentence in caveats[:_MOST_CAVEATS]:
        ending = "" if sentence.endswith(".") else "."
        lines.append(Text(f"! {sentence}{ending}", "yellow"))
    left = []
    if len(caveats) > _MOST_CAVEATS:
        left.append(counted(len(caveats) - _MOST_CAVEATS, "more caveat"))
    if reply.advice:
        left.append(counted(len(reply.advice), "recommendation"))
    lines.append(
        Text(f"Brackets: 95% intervals. --verbose: {listed(['all cells in full', *left])}.", "dim")
    )
    return lines


def _lines(what: RenderableType, console: Console) -> int:
    return len(console.render_lines(what, pad=False))
