r"""Run a program and report, within a few steps, when steps leave their normal range, and why.

Examples::

    assay watch --step 'step (?P<i>\d+) of (?P<n>\d+)' -- mpirun -n 4 ./model
    assay watch --step 'took (?P<seconds>\S+)' --log steps.jsonl -- python train.py
    assay watch --steps app.profile -- mpirun -n 4 ./app  # the iterations found in a trace
    assay watch -- ./model  # a program that calls assay_heartbeat()
    assay watch --heartbeat  # how to call it
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from assay.cli.options import Flag, Json


def watch(
    *command: str,
    step: str | None = None,
    steps: Path | None = None,
    pty: Flag = False,
    heartbeat: Flag = False,
    folder: Path | None = None,
    patience: str | None = None,
    log: Path | None = None,
    quiet: Flag = False,
    fail_on: Literal["never", "alarm"] = "never",
    json: Json = False,
) -> int:
    """Run a program and report, within a few steps, when steps leave their normal range, and why.

    Its input, output and exit status are as without assay. assay's messages go to standard error.

    Parameters
    ----------
    command
        The program and its arguments, after --.
    step
        A regular expression: a line of output that matches ends a step. Named groups:
        (?P<seconds>…) the step's time, otherwise the time between lines counts; (?P<i>…) its
        number; (?P<n>…) the total number of steps.
    steps
        The folder of a trace of the same program (`assay profile --trace`): steps are the
        iterations found in it. The program isn't changed; a library is preloaded into it.
    pty
        Give the program a terminal as output, so that it doesn't buffer lines.
    heartbeat
        Show where the C, Fortran and Python files that mark steps are, and how to use them.
    folder
        The folder for heartbeats [default: in this machine's memory]. On a file system that all
        hosts share, heartbeats of other hosts are followed, too.
    patience
        Time without a step after which assay reports the lack of steps, such as "30 s" [default:
        the largest of 10 usual steps, 3 times the longest step, and 5 s].
    log
        Write every step, change and covariate to this file, as JSON Lines.
    quiet
        Print nothing until the end.
    fail_on
        Exit with 1 if there was an alarm and the program itself exited with 0.
    json
        Print the summary as the last line of standard output, in JSON.
    """
    from assay.watch.signals import hold

    if command:
        hold()  # before importing anything that starts threads
    from assay.console import console
    from assay.errors import AssayError
    from assay.watch.command import report_heartbeat, run_watch

    if heartbeat:
        return report_heartbeat(console(), json=json)
    if not command:
        raise AssayError(
            "No program is given.", fix="Name it after --, as in `assay watch -- ./model -n 4`."
        )
    environment: dict[str, str] | None = None
    words: Sequence[str] = command
    if steps is not None:
        if step is not None:
            raise AssayError("--step and --steps exclude each other.", fix="Leave one of them out.")
        from assay.campaign.commands.profiled_steps import marked_steps
        from assay.config import load_config

        words, environment = marked_steps(steps, command, load_config(None), console(stderr=True))
    return run_watch(
        words,
        environment=environment,
        step=step,
        pty=pty,
        folder=folder,
        patience=patience,
        log=log,
        quiet=quiet,
        fail_on_alarm=fail_on == "alarm",
        json=json,
        console=console(stderr=True),
    )
