"""Profile a program's MPI calls: where its time goes, what it sends, and from where it calls.

Examples::

    assay profile -- mpirun -n 2 ./app
    assay profile --html --folder first.profile -- mpirun -n 2 ./app
    assay profile --trace -- mpirun -n 2 ./app    every call, with its time
    assay profile --read app.profile              the report of a kept profile
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def profile(
    *command: str,
    trace: Annotated[bool, Parameter(negative=())] = False,
    folder: Path | None = None,
    read: Path | None = None,
    format_: Literal["terminal", "html", "markdown", "json"] | None = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    html: Annotated[bool, Parameter(negative=())] = False,
    config: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run a program, and report its MPI calls: time by kind, function, call site, rank and size.

    The program isn't changed or compiled anew: a library is preloaded into it. Its input, output
    and exit status are as without assay. Works with MPICH, Open MPI and their kin; C, C++ and
    Fortran.

    Parameters
    ----------
    command
        The program and its arguments, with its launcher, after --.
    trace
        Record every call, too (about 2 bytes each): rank-N.trace in the folder.
    folder
        The folder for what the ranks record; on several hosts on a file system that they share
        [default: profile-TIME in the working directory].
    read
        Report a kept profile from its folder instead of running a program.
    format_
        terminal, html, markdown or json (the whole report) [default: by the suffix of --output].
    output
        The file to write [default: profile.html in the working directory].
    html
        The same as --format html.
    config
        The assay.toml to use.
    json
        Print the findings as JSON on standard output, after the program's own output.
    """
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.questions.common.findings import findings_json
    from assay.questions.profile.findings import find
    from assay.report.profile.write import present
    from assay.trace.reading import read_profile

    if trace and read is not None:
        raise AssayError(
            "--trace is for running a program.", fix="Leave it out: a kept trace is read anyway."
        )
    if bool(command) == (read is not None):
        raise AssayError(
            "A program and --read exclude each other." if command else "No program is given.",
            fix="Name it after --, as in `assay profile -- mpirun -n 4 ./app`, or a kept profile "
            "by --read.",
        )
    if read is not None:
        recorded, status = read_profile(read), 0
    else:
        from assay.campaign.commands.profile_program import profile_program

        notes = console(stderr=True)
        recorded, kept = profile_program(command, folder, load_config(config), notes, trace=trace)
        status = recorded.run.status
        notes.print(f"profile: {kept}", markup=False, soft_wrap=True)
    found = find(recorded)
    if json:
        print_json(findings_json(found))
    else:
        present(found, console(), "html" if html else format_, output)
    return status
