"""List the runs, oldest first.

Examples::

    assay runs
    assay runs --check  # compare sealed runs with their checksums
    assay runs --follow  # the newest one that was submitted
    assay runs --clean --yes  # end leftover jobs of runs
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.cli.options import ConfigFile, Flag, Json, RunsFolder, SiteProfile


def runs(
    run: str = "",
    *,
    runs: RunsFolder = None,
    check: Flag = False,
    follow: Flag = False,
    patience: str | None = None,
    clean: Flag = False,
    yes: Flag = False,
    report: bool = True,
    fail_on: Literal["never", "failure", "precision", "nodes", "expectation"] = "failure",
    junit: Path | None = None,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
) -> int:
    """List the runs, oldest first: name, suite, cells, measurements and state.

    Parameters
    ----------
    run
        With --follow, a run's name or path [default: the newest that was submitted].
    check
        Read every file of sealed runs, and exit with 1 if one differs from its checksum.
    follow
        Follow a submitted run to its end, and show its results as `assay run` does.
    patience
        With --follow, how long a job may wait for its start, such as "2 h" [default: no limit].
        After that the job stays in the queue and the command exits with 1.
    clean
        List jobs of these runs that are still in the queue or running, and remains of labs.
    yes
        With --clean, end them.
    report
        With --follow, write report.html into the run.
    fail_on
        With --follow, exit with 1 if a cell failed, missed its precision, or, of a group of runs, a
        node or a group of nodes is slower than the others ("nodes"), or a result misses an
        [[expect]] of assay.toml ("expectation").
    junit
        With --follow, write the results against each [[expect]] as JUnit XML into this file.
    json
        Print a list of objects on stdout; with --follow, the answers and all cells.
    """
    from assay.campaign.commands.listing import clean_up, follow_again, show
    from assay.config import load_config
    from assay.console import console
    from assay.errors import AssayError

    settings = load_config(config, site)
    root = runs or settings.runs
    if follow:
        from assay.campaign.commands.conclusion import WhenEnded, read_patience
        from assay.campaign.commands.finish import Expected

        expected = Expected(settings.expect, junit)
        limit = read_patience(patience)
        after = WhenEnded(report, json, fail_on, expected, patience=limit)
        return follow_again(root, run, console(stderr=True), after)
    if patience is not None:
        raise AssayError("--patience goes with --follow.", where=patience, fix="Add --follow.")
    if run:
        raise AssayError("A run is named only with --follow.", where=run, fix="Add --follow.")
    if clean:
        return clean_up(root, settings, end=yes, as_json=json)
    return show(root, check=check, as_json=json)
