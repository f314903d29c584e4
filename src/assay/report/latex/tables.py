"""Tables in LaTeX, with the rules of booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import cell_name, metric_name, placement_text
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Table, TableBuilder
from assay.report.cell_table import headline
from assay.report.latex.escape import escaped
from assay.stats.core.model import CellSummary
from assay.units import MISSING

# Most rows of a table on a page; longer tables are continued.
_MOST_ROWS = 36


def results_table(cells: Sequence[CellSummary], *, imported: bool = False) -> Table:
    """Median, 95% interval and n of each cell's headline metric."""
    several = len({cell.cell.toolchain for cell in cells}) > 1
    builder = TableBuilder(cells).text("cell", "Benchmark", lambda cell: cell_name(cell.cell))
    if not imported:
        builder.text("placement", "Placement", lambda cell: placement_text(cell.cell.placement))
    if several:
        builder.text("toolchain", "Toolchain", lambda cell: cell.cell.toolchain)
    caption = "Medians over launches with nonparametric 95% intervals; n is the number of launches."
    if imported:
        caption = "Imported numbers; n is the number of results."
    return (
        builder.text("metric", "Metric", lambda cell: _texts(cell)[0])
        .text("median", "Median", lambda cell: _texts(cell)[1])
        .text("interval", "95% interval", lambda cell: _texts(cell)[2])
        .text("n", "n", lambda cell: _texts(cell)[3])
        .table("results", "Results", caption=caption)
    )


def _texts(cell: CellSummary) -> tuple[str, str, str, str]:
    """Metric, median, interval and n of a cell; why it has none."""
    found = headline(cell)
    if found is None:
        why = "wrong result" if cell.verified is False else cell.status
        return MISSING, "left out" if cell.left_out else why, MISSING, "0"
    name, metric = found
    median, _, interval = quantity_text(metric.median, metric.unit, metric.ci95).partition(" [")
    return metric_name(name), median, f"[{interval}" if interval else MISSING, str(metric.n)


def booktabs(table: Table) -> str:
    """The table as floats of at most ``_MOST_ROWS`` rows, narrowed to the text's width."""
    columns = "".join("r" if _is_numeric(table, place) else "l" for place in range(_count(table)))
    head = " & ".join(escaped(column.label) for column in table.columns)
    parts = [table.rows[at : at + _MOST_ROWS] for at in range(0, len(table.rows), _MOST_ROWS)]
    return "\n".join(
        _float(table, columns, head, number, [[entry.text for entry in row] for row in rows])
        for number, rows in enumerate(parts)
    )


def _count(table: Table) -> int:
    return len(table.columns)


def _is_numeric(table: Table, place: int) -> bool:
    return table.columns[place].numeric or table.columns[place].name in ("median", "interval", "n")


def _float(
    table: Table, columns: str, head: str, number: int, rows: Sequence[Sequence[str]]
) -> str:
    title = f"{table.title.rstrip('.')}{'' if number == 0 else ' (continued)'}."
    caption = escaped(f"{title} {table.caption if number == 0 else ''}")
    label = f"tab:{table.id}" + (f"-{number + 1}" if number else "")
    body = "\n".join("      " + " & ".join(map(escaped, row)) + r" \\" for row in rows)
    notes = ""
    if number == 0 and table.notes:
        listed = " ".join(f"({place}) {note}" for place, note in enumerate(table.notes, start=1))
        notes = f"\n  \\par\\smallskip\\footnotesize {escaped(listed)}"
    return rf"""\begin{{table}}[htbp]
  \centering
  \caption{{{caption}}}
  \label{{{label}}}
  % Narrowed only if it is wider than the text.
  \resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
    \begin{{tabular}}{{{columns}}}
      \toprule
      {head} \\
      \midrule
{body}
      \bottomrule
    \end{{tabular}}}}{notes}
\end{{table}}
"""
