"""Show how busy a machine is, from the accounts of its scheduler.

Examples::

    assay usage machine.swf.gz                    utilisation, waits, sizes, what can't be said
    assay usage accounting/2026* --html           PBS, with figures
    assay usage jobs.txt --processors 4096        sacct --parsable2, the size stated
    assay usage lsb.acct* --since "90 d" --queue long
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def usage(
    *logs: Path,
    since: str | None = None,
    until: str | None = None,
    queue: str | None = None,
    user: str | None = None,
    processors: int | None = None,
    zone: str | None = None,
    identify: Annotated[bool, Parameter(negative=())] = False,
    format_: Literal["terminal", "html", "markdown", "json"] | None = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    html: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show how busy a machine is: utilisation, waits, sizes, limits, and what the log can't say.

    Formats: Standard Workload Format, Slurm (sacct --parsable2 and --json, sacctmgr show event),
    PBS and Torque, LSF (lsb.acct), Flux; plain or gzip, recognised by content.

    Parameters
    ----------
    logs
        The files of one log, in any order; those of several formats are joined.
    since
        Only from this day or time on (of the machine), or the last days of the log, such as "90 d".
    until
        Only before this day or time.
    queue
        Only jobs of this queue.
    user
        Only jobs of this user.
    processors
        The machine's number of processors [default: from the log].
    zone
        The machine's time zone, such as Europe/Stockholm [default: from the log].
    identify
        Show the names of users, groups, queues and files; otherwise they are numbered.
    format_
        terminal, html, markdown or json (the whole report) [default: by the suffix of --output].
    output
        The file to write [default: usage.html in the working directory].
    html
        The same as --format html.
    json
        Print the findings as JSON on stdout.
    """
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.questions.usage.findings import find
    from assay.questions.usage.query import UsageQuery
    from assay.report.usage.write import present
    from assay.usage.accounts.reading import read_accounts

    if not logs:
        raise AssayError("A log is missing.", fix="Name it: assay usage machine.swf.gz.")
    if processors is not None and processors < 1:
        raise AssayError(
            "A machine has a processor at least.", where="--processors", fix="Write a number > 0."
        )
    query = UsageQuery(since, until, queue, user, processors, zone, identify)
    found = find(read_accounts(logs), query)
    if json:
        print_json(found)
    else:
        present(found, console(), "html" if html else format_, output)
    return 0
