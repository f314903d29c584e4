"""Which batch scheduler is here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from assay.config import Config
from assay.errors import AssayError
from assay.launch.schedulers.model import BatchScheduler

# The command by which each takes jobs.
_SUBMIT = {"slurm": "sbatch", "pbs": "qsub", "pbs-classic": "qsub", "lsf": "bsub", "flux": "flux"}
# PBS Pro's own, beside the commands that all of its family have.
_PBS_PRO = ("pbs_rstat", "pbs_python", "pbs_release_nodes")
_PBS_CONF = Path("/etc/pbs.conf")


def scheduler_for(config: Config) -> BatchScheduler | None:
    """The scheduler that the config names, else the one whose commands are found, else None.

    Raises AssayError if the one that is named has no commands here.
    """
    named = config.scheduler.kind if config.scheduler else None
    if named is not None and shutil.which(_SUBMIT[named]) is None:
        raise AssayError(
            f"[scheduler] names {named}, and there is no command `{_SUBMIT[named]}` here.",
            where=config.where("scheduler", "kind"),
            mend="Load what brings the scheduler's commands, or name another.",
        )
    kind = named or find_kind()
    return _makers()[kind]() if kind else None


def find_kind() -> str | None:
    """The kind of the first scheduler whose commands are on PATH, or None.

    Slurm comes first, because it brings look-alikes of other schedulers' commands. Grid Engine has
    a qsub of its own, and a qconf that PBS has not.
    """
    if shutil.which("sbatch"):
        return "slurm"
    if shutil.which("qsub") and not shutil.which("qconf"):
        pro = any(shutil.which(command) for command in _PBS_PRO) or _PBS_CONF.exists()
        return "pbs" if pro else "pbs-classic"
    if shutil.which("bsub"):
        return "lsf"
    return "flux" if shutil.which("flux") else None


def _makers() -> dict[str, Callable[[], BatchScheduler]]:
    # PSI/J takes a while to import.
    from assay.launch.schedulers.flux import FluxScheduler
    from assay.launch.schedulers.lsf import LsfScheduler
    from assay.launch.schedulers.pbs import ClassicPbsScheduler, PbsScheduler
    from assay.launch.schedulers.slurm import SlurmScheduler

    return {
        scheduler.kind: scheduler
        for scheduler in (
            SlurmScheduler,
            PbsScheduler,
            ClassicPbsScheduler,
            LsfScheduler,
            FluxScheduler,
        )
    }
