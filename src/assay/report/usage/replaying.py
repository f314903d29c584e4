"""Provides the native model of a scheduler, and the steadiness of a stored run, for replays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.subjects.usage.queue.findings import Replay
    from assay.usage.queue.walltimes import RunSteadiness
    from assay.usage.scheduler.machine import Machine
    from assay.usage.scheduler.policy import Policy
    from assay.usage.scheduler.schedule import Schedule, Workload
    from assay.usage.workload.as_slurm import SlurmScript


def native_replay() -> Replay:
    """The function that replays a load with the native program.

    The program is built if necessary. Raises AssayError if the build fails.
    """
    from assay.console import console
    from assay.kernels.builds.scheduler import build_scheduler
    from assay.usage.scheduler.replay import replay

    err = console(stderr=True)
    program = build_scheduler(lambda text: err.print(text, markup=False))

    def replayed(workload: Workload, machine: Machine, policy: Policy) -> Schedule:
        return replay(workload, machine, policy, program=program)

    return replayed


def steadiness_of_run(run: Path) -> RunSteadiness:
    """The variation and the noise of a stored run, with its history.

    Raises AssayError if it can't be read.
    """
    from assay.questions.common.question import Measured
    from assay.records.reading import read_run
    from assay.report.earlier_runs import read_history
    from assay.stats.cells.summarise import summarise_cells
    from assay.subjects.usage.queue.steadiness import steadiness_of

    data = read_run(run)
    return steadiness_of(Measured(data, summarise_cells(data), tuple(read_history(data))))


def write_script(script: SlurmScript, path: Path) -> None:
    """Write the executable script, and print how to use it.

    Raises AssayError if it can't be written.
    """
    from assay.console import console
    from assay.units import counted, format_duration

    try:
        path.write_text(script.text, encoding="utf-8")
        readable = path.stat().st_mode & 0o444
        path.chmod(path.stat().st_mode | readable >> 2)  # executable for all users who may read it
    except OSError as error:
        raise AssayError(
            f"The script can't be written: {error.strerror or error}.",
            where=str(path),
            fix="Name another file.",
        ) from None
    screen = console()
    for text in (
        f"{path} submits {counted(script.jobs, 'job')} within {format_duration(script.lasts)}.",
        *script.notes(),
        "Afterwards `sacct -aP -o ALL` prints the accounting records that assay usage reads.",
    ):
        screen.print(text, markup=False, soft_wrap=True)
