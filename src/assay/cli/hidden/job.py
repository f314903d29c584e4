"""Do one job's part of a submitted run.

Job scripts call this on their first node; it is not for users.
"""

from __future__ import annotations

from pathlib import Path

from assay.cli.options import Flag


def job(
    run: Path,
    *,
    number: int = 1,
    walltime: float | None = None,
    leashed: Flag = False,
    together: Flag = False,
    examine: Flag = False,
    config: Path | None = None,
) -> int:
    """Do one job's part of a submitted run.

    Parameters
    ----------
    run
        The run's directory, or a group's.
    number
        The number of this job among the run's jobs.
    walltime
        Seconds left of the job's time limit, if its scheduler doesn't report them.
    leashed
        End when standard input is closed, and measure only this node.
    together
        Measure one member of the group on each node of this job.
    examine
        Check the nodes of this job for the doctor instead of measuring.
    config
        With --examine, the assay.toml to use.
    """
    import os

    if examine:
        from assay.campaign.jobs.node_examination import examine_here

        return examine_here(run, config)
    if together:
        from assay.campaign.jobs.together import work_together

        return work_together(run, number, walltime)
    from assay.campaign.jobs.job import JobTurn, work
    from assay.console import console
    from assay.schedulers.model import TASK_VARIABLE

    task = int(os.environ.get(TASK_VARIABLE, "0"))
    return work(run, JobTurn(number, walltime, task, leashed), console(stderr=True))
