"""Read results of other tools and store them as a run alongside assay's own.

Examples::

    assay import HPL.out
    assay import --system fritz slurm-4711.out hpccoutf.txt
    srun ./osu_latency | assay import -    # the output of a job
"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import ConfigFile, Json, RunsFolder


def import_(
    *files: Annotated[str, Parameter(allow_leading_hyphen=True)],
    system: str | None = None,
    runs: RunsFolder = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Read results of other tools and store them as a run alongside assay's own.

    The tools are detected from a file's content, which may mix the output of several tools with
    other text. Numbers are stored in SI units, with the lines that they come from. Unknown or
    damaged parts are reported and left out. Such a run is labelled everywhere as imported, not
    measured by assay.

    Parameters
    ----------
    files
        Files, plain or compressed by gzip; - is standard input.
    system
        The name of the machine that was measured [default: unknown].
    json
        Print what was found and skipped as JSON on stdout.
    """
    from assay.config import load_config
    from assay.console import command_line, console, print_json
    from assay.errors import AssayError
    from assay.importers.importing import import_files
    from assay.importers.lines import STDIN
    from assay.report.imported_run.summary import import_summary, print_import

    if not files:
        raise AssayError("No file is named.", fix="`assay import FILE`, or - for standard input.")
    option = next((name for name in files if name.startswith("-") and name != STDIN), None)
    if option is not None:
        raise AssayError(
            f"Unknown option: {option}.",
            fix="`assay import --help` says what it takes; write ./ before a file of that name.",
        )
    root = runs or load_config(config).runs
    run = import_files(files, root, system=system, command=command_line())
    summary = import_summary(run)
    if json:
        print_json(summary)
    else:
        print_import(summary, console())
