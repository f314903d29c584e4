"""Check whether this node may take the next job: healthy, unhealthy or undecided, in 10 seconds.

Examples::

    assay check --record  # on each node some times: measure it, to learn from
    assay check --learn  # once: what healthy nodes of each kind have in common
    assay check  # before and after every job
    assay check --facts  # within a second: compare the node's properties alone
    assay check --partner n0002 --verbose  # messages with another node, and the evidence
    assay check --report checks.html  # the nightly view of all nodes
    assay check --print-hook slurm-prolog > /etc/slurm/assay-prolog
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import ConfigFile, Flag, Json, SiteProfile

if TYPE_CHECKING:
    from assay.check.node.request import CheckRequest


def check(
    *paths: Path,
    facts: Flag = False,
    record: Flag = False,
    learn: Flag = False,
    report: Flag = False,
    print_hook: str | None = None,
    folder: Path | None = None,
    idle: Flag = False,
    deadline: float | None = None,
    false_drains: float | None = None,
    partner: str | None = None,
    backend: str | None = None,
    scratch: Path | None = None,
    json: Json = False,
    junit: Path | None = None,
    textfile: Path | None = None,
    verbose: Flag = False,
    config: ConfigFile = None,
    site: SiteProfile = None,
) -> int:
    """Compare this node with the fleet: its facts, and short measurements of each component.

    One line says the outcome: healthy (exit status 0), unhealthy with the reason (1), or undecided
    (3), for example because other processes were busy or there is no baseline yet. An undecided
    node must not be drained.

    Parameters
    ----------
    paths
        With --learn: runs by `assay run --per-node`, whose slow nodes are left out. With --report:
        the file to write, such as checks.html.
    facts
        Compare facts only, without measurements.
    record
        Measure this node in three rounds, and add the result to the folder for --learn. The first
        time, the measuring program is compiled.
    learn
        Learn what is usual on the nodes of each kind, and write their baselines into the folder.
    report
        Report on all nodes of the folder: which failed, which become slower, which are not checked.
    print_hook
        Print a script for a scheduler: slurm-prolog, slurm-epilog, slurm-health, pbs or lsf.
    folder
        The folder of the fleet's checks, which all nodes share [default: $ASSAY_CHECKS, else folder
        in [check] of assay.toml].
    idle
        No job should be on this node: leftover processes and used memory are faults.
    deadline
        Seconds after which the check ends whatever hangs [default: 8].
    false_drains
        Rate of checks that may find a healthy node unhealthy [default: 1e-4].
    partner
        A node that runs the same command with this node as its partner: messages between both are
        measured, too.
    backend
        With --record: what measures this node's accelerators: auto, cuda, hip, opencl or none
        [default: auto if the node has accelerators]. Later checks measure what was recorded.
    scratch
        The folder on a local disk in which storage is measured [default: as in assay.toml,
        else that of the records].
    json
        Print the whole check as one JSON object: outcome, findings, readings and facts.
    junit
        Write the check as JUnit XML into this file.
    textfile
        Write metrics for the textfile collector of Prometheus' node_exporter into this file.
    verbose
        Print the evidence below the line.
    """
    from assay.check.node.request import CheckRequest, checked_mode

    request = CheckRequest(
        folder=folder,
        config=config,
        site=site,
        facts_only=facts,
        idle=idle,
        deadline=deadline,
        false_drains=false_drains,
        scratch=scratch,
        partner=partner or "",
        backend=backend or "",
        as_json=json,
        verbose=verbose,
        junit=junit,
        textfile=textfile,
    )
    modes = {"--record": record, "--learn": learn, "--report": report}
    mode = checked_mode(request, paths, {**modes, "--print-hook": print_hook is not None})
    if mode == "--record":
        return _record(request)
    if mode == "--learn":
        return _learn(request, paths)
    if mode == "--report":
        return _report(request, paths)
    if print_hook is not None:
        return _print_hook(request, print_hook)
    from assay.check.node.start import run_check

    return run_check(request)


def _record(request: CheckRequest) -> int:
    from assay.check.learning.recording import record_node
    from assay.check.node.request import settings_for
    from assay.console import print_error

    settings = settings_for(request)
    found = record_node(settings.folder, settings.scratch, request.partner, request.backend)
    for warning in found.warnings:
        print_error(warning)
    print(found.sentence)
    return 0


def _learn(request: CheckRequest, runs: Sequence[Path]) -> int:
    from assay.check.baseline.runs import read_spreads
    from assay.check.learning.learning import learn_fleet, learned_lines
    from assay.check.node.request import settings_for
    from assay.subjects.nodes.findings import slow_nodes

    folder = settings_for(request).folder
    slow = slow_nodes(runs)
    kinds, problems = learn_fleet(folder, slow, read_spreads(runs, slow))
    print("\n".join(learned_lines(kinds, problems)))
    return 0


def _print_hook(request: CheckRequest, name: str) -> int:
    import os
    import shutil
    import sys

    from assay.check.hooks import check_name, script
    from assay.check.node.executable import own_executable
    from assay.check.node.request import settings_for

    check_name(name)
    settings = settings_for(request)
    text = script(
        name,
        executable=own_executable(),
        folder=settings.folder,
        deadline=settings.deadline,
        scratch=settings.scratch,
        scontrol=Path(found) if (found := shutil.which("scontrol")) else None,
        slurm_conf=Path(conf) if (conf := os.environ.get("SLURM_CONF")) else None,
    )
    sys.stdout.write(text)
    return 0


def _report(request: CheckRequest, files: Sequence[Path]) -> int:
    from assay.check.node.request import settings_for
    from assay.console import console
    from assay.report.checks.write import report_checks
    from assay.report.destination import destination

    target = destination(None, files[0], Path("checks.html")) if files else None
    folder = settings_for(request).folder
    report_checks(folder, target, console(), verbose=request.verbose)
    return 0
