"""``assay run``: carry out a suite or a plan, and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def run(
    suite: str = "quick",
    *factors: str,
    resume: Annotated[bool, Parameter(negative=())] = False,
    runs: Path | None = None,
    seed: int | None = None,
    budget: str | None = None,
    precision: str | None = None,
    config: Path | None = None,
    lab: str | None = None,
    fake: Path | None = None,
    report: bool = True,
    fail_on: Literal["never", "failure", "precision"] = "failure",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Measure this machine and write its report.

    Parameters
    ----------
    suite
        A shipped suite's name or a plan's TOML file; with --resume, a run's name or path.
    factors
        key=value in the place of the plan's own, wherever a kernel has it, such as class=A ppn=1,2.
    resume
        Go on with an unfinished run (the newest, if none is named).
    runs
        The folder that holds runs [default: ./runs, or as assay.toml says].
    seed
        Seed of the random order of cells [default: drawn, and recorded].
    budget
        Time for the whole plan, such as "90 s" [default: as the plan says].
    precision
        Relative half-width of the 95% interval to reach, such as 1% [default: as the plan says].
    config
        The assay.toml to use [default: searched for; docs/formats.md says where].
    lab
        Measure on a lab (`assay lab list` has them), from its first host. Needs root.
    fake
        A scenario file: measure the machine it describes instead of this one.
    report
        Write report.html into the run.
    fail_on
        Exit with 1 if a cell failed its measurement or check, or missed its precision.
    json
        Print the answers and all cells as JSON on stdout.
    """
    from assay.campaign.carry_out import carry_out, new_run, prepare, tell_choices
    from assay.campaign.finish import exit_status, interrupted, present
    from assay.campaign.machine import machine_for
    from assay.campaign.state import Interruption
    from assay.cli.output import command_line, console
    from assay.config import load_config
    from assay.errors import AssayError
    from assay.plans.amend import override
    from assay.plans.suites import find_plan, load_plan
    from assay.plans.words import read_words
    from assay.records.directory import find_run

    settings = load_config(config)
    if lab is not None:
        from assay.lab.entering import on_lab

        settings = on_lab(lab, settings)
    root = runs or settings.runs
    err = console(stderr=True)
    if resume and factors:
        raise AssayError(
            "A run that goes on has the factors it began with.",
            where=factors[0],
            mend="Leave them out, or begin a new run.",
        )
    if resume:
        directory = find_run(root, "" if suite == "quick" else suite, incomplete=True)
        machine = machine_for(settings, fake)
        bench = prepare(machine, directory.manifest().plan, err)
    else:
        machine = machine_for(settings, fake)
        plan = load_plan(find_plan(suite), machine.context, seed, read_words(factors))
        plan = override(plan, budget=budget, precision=precision)
        tell_choices(plan, err)
        bench = prepare(machine, plan, err)
        directory = new_run(machine, bench, plan, root, command_line())
    try:
        data = carry_out(directory, bench, err)
    except Interruption:
        return interrupted(directory, err)
    cells = present(data, report=report, as_json=json)
    return exit_status(cells, fail_on)
