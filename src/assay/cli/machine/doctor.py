"""Check what on this machine disturbs measurements, and what to do about it.

Examples::

    assay doctor
    assay doctor --fail-on warning  # exit with 1 if there is one
    assay doctor --cluster  # the hosts of a job, or of [cluster]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.cli.options import ConfigFile, Flag, Json, SiteProfile

if TYPE_CHECKING:
    from assay.config import Config
    from assay.system.doctor.diagnosis import Diagnosis


def doctor(
    *,
    cluster: Flag = False,
    fail_on: Literal["note", "warning", "problem"] | None = None,
    seconds: float = 1.0,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
) -> int:
    """Check what on this machine disturbs measurements, what it means and what to do about it.

    A finding is a note (for information), a warning (results will be affected) or a problem
    (results will be wrong or missing). The exit status is 0 whatever is found, unless --fail-on is
    given.

    Parameters
    ----------
    cluster
        Check hosts instead of this machine: whether they see the runs, whether their versions and
        clocks agree, and whether compiler and MPI work there. The hosts belong to the surrounding
        job, to [cluster] in assay.toml, or to a job of two nodes that is submitted for the check.
    fail_on
        Exit with 1 if a finding is at least this severe.
    seconds
        How long to observe load, steal time and throttling. One CPU is kept busy meanwhile.
    json
        Print one JSON object: worst, findings (most severe first), unseen (checks for which this
        machine provides no data) and look (the observed values).
    """
    import msgspec

    from assay.config import load_config
    from assay.console import print_json
    from assay.errors import AssayError
    from assay.kernels.toolchains import detect_toolchains
    from assay.system.detect import detect
    from assay.system.doctor.diagnosis import diagnose
    from assay.system.doctor.findings import at_least
    from assay.system.doctor.probe import probe

    if not 0 < seconds <= 3600:
        raise AssayError(f"--seconds {seconds:g} is not a valid time.", fix="Give 0.1 to 3600.")
    settings = load_config(config, site)
    if cluster:
        found = _examine(settings)
        if json:
            print_json(found)
        else:
            _show(found)
        return 1 if fail_on is not None and at_least(found.worst, fail_on) else 0
    look = probe(seconds, settings.runs)
    diagnosis = diagnose(detect(), look, detect_toolchains(settings))
    if json:
        print_json({**msgspec.structs.asdict(diagnosis), "look": look})
    else:
        _show(diagnosis)
    return 1 if fail_on is not None and at_least(diagnosis.worst, fail_on) else 0


def _examine(site: Config) -> Diagnosis:
    from assay.campaign.jobs.node_examination import examine_by_job
    from assay.campaign.machine.mpi_smoke_test import examine_cluster
    from assay.config import SchedulerConfig
    from assay.console import console
    from assay.launch.allocation import find_allocation

    by_job = site.scheduler is not None or site.cluster is None
    if by_job and find_allocation() is None:
        options = (site.scheduler or SchedulerConfig()).of_partition(None)
        return examine_by_job(site, options, site.runs, console(stderr=True))
    return examine_cluster(site)


def _show(diagnosis: Diagnosis) -> None:
    from rich.table import Table
    from rich.text import Text

    from assay.console import console
    from assay.system.doctor.findings import SEVERITIES

    out = console()
    styles = {"problem": "bold red", "warning": "yellow", "note": "cyan", "ok": "green"}
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in diagnosis.findings:
        table.add_row(Text(finding.severity, style=styles[finding.severity]), Text(finding.what))
        if finding.means:
            table.add_row("", Text(finding.means, style="dim"))
        if finding.fix:
            table.add_row("", Text(f"→ {finding.fix}"))
    out.print(table)
    if diagnosis.unseen:
        out.print(Text("Not visible here: " + ", ".join(diagnosis.unseen) + ".", style="dim"))
    counts = {s: sum(f.severity == s for f in diagnosis.findings) for s in reversed(SEVERITIES)}
    out.print(
        ", ".join(
            f"{count} {name if count == 1 or name == 'ok' else name + 's'}"
            for name, count in counts.items()
            if count
        )
    )
