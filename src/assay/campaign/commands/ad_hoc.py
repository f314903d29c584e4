"""``assay measure``: a plan with one kernel, in a run that is deleted unless the user keeps it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cache import cache_folder
from assay.campaign.budget.announcement import first_launches
from assay.campaign.commands.finish import interrupted
from assay.campaign.engine.execute import execute_campaign, new_run, prepare
from assay.campaign.engine.state import Interruption
from assay.campaign.machine.bench import MeasuredMachine
from assay.config import Config
from assay.model.plan import Plan
from assay.stats.core.model import CellSummary

if TYPE_CHECKING:
    from rich.console import Console


def measure_cells(
    machine: MeasuredMachine,
    plan: Plan,
    console: Console,
    command: Sequence[str],
    root: Path | None,
) -> list[CellSummary] | None:
    """Measure a plan and summarise its cells, in the plan's order.

    With ``root`` None, nothing is kept. Returns None, after a message, if the measurement was
    interrupted.
    """
    from assay.stats.cells.summarise import summarise_cells

    first = first_launches(plan)
    if first.exceeds:
        console.print(first.sentence, soft_wrap=True, markup=False, style="dim")
    bench = prepare(machine, plan, console)
    with _root(root, shared=machine.context.nodes > 1) as folder:
        run = new_run(machine, bench, plan, folder, command)
        try:
            return summarise_cells(execute_campaign(run, bench, console, keep=root is not None))
        except Interruption:
            if root is not None:
                interrupted(run, console)
            else:
                console.print(
                    "Stopped. The results were not kept; `--keep` keeps them.", markup=False
                )
            return None


def runs_folder(config: Config, runs: Path | None, *, keep: bool) -> Path | None:
    """The folder for a run to keep; None if the run is deleted."""
    return (runs or config.runs) if keep or runs else None


@contextmanager
def _root(root: Path | None, *, shared: bool) -> Iterator[Path]:
    """``root``, or a temporary folder. ``shared``: other hosts see the folder, too."""
    if root is not None:
        yield root
        return
    place = cache_folder() if shared else None
    with tempfile.TemporaryDirectory(prefix="assay-", dir=place) as folder:
        yield Path(folder)
