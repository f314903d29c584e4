"""Prints messages on the cells that a campaign did not measure, and on how to resume it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from assay.campaign.budget.announcement import over_budget_text
from assay.campaign.engine.display import describe_cell
from assay.hostnames import names_text
from assay.model.cell import Cell
from assay.records.model import RunData

if TYPE_CHECKING:
    from rich.console import Console

# Maximum number of cells named in a message.
NAMED = 8


def report_over_budget(cells: Iterable[Cell], run: RunData, console: Console) -> None:
    """Print the cells that were not launched because the budget was spent."""
    measured = {m.cell.id for m in run.measurements}
    missing = [cell for cell in cells if cell.id not in measured]
    if missing:
        sentence = over_budget_text(missing, run.manifest.plan.replication)
        console.print(sentence, soft_wrap=True, markup=False)


def report_left_out(cells: Sequence[Cell], run: RunData, console: Console) -> None:
    """Print the cells that were not measured for lack of hosts, and how to resume."""
    if not cells:
        return
    lost = dict.fromkeys(host for launch in run.launches for host in launch.lost)
    named = "; ".join(describe_cell(cell) for cell in cells[:NAMED])
    more = f"; and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    nodes = max(cell.placement.nodes for cell in cells)
    lines = [f"Left out, since they need {nodes} nodes: {named}{more}."]
    if lost:
        lines.insert(0, f"Lost during the run: {names_text(list(lost))}.")
    lines.append(f"When enough nodes are available: assay run --resume {run.manifest.run}")
    console.print("\n".join(lines), soft_wrap=True, markup=False)


def report_lost(lost: Mapping[str, str], run: RunData, console: Console) -> None:
    """Print the cells whose launches ended before a measurement, and how to resume.

    ``lost``: the reason for each cell id.
    """
    if not lost:
        return
    cells = [cell for cell in run.manifest.plan.cells if cell.id in lost]
    named = "; ".join(describe_cell(cell) for cell in cells[:NAMED])
    more = f"; and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    why = next(iter(lost.values()))
    console.print(
        f"Missing, because their launches ended repeatedly ({why}): {named}{more}.\n"
        f"When the cause is removed: assay run --resume {run.manifest.run}",
        soft_wrap=True,
        markup=False,
    )
