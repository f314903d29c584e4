"""Export results for other programs: a row per cell and metric, or per sample.

Examples::

    assay export  # the newest run as CSV on stdout
    assay export 20260101T --format json  # a run by part of its name
    assay export --samples --out samples.parquet
    assay export --bundle artefact.tar.gz  # run, plan, environment and commands for a paper
    assay export --anonymize --out results.csv  # without names of hosts, users, paths and sites
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from assay.cli.options import ConfigFile, Flag, Json, RunsFolder


def export(
    *run: str,
    runs: RunsFolder = None,
    format_: Literal[
        "csv", "parquet", "json", "openmetrics", "reframe", "reframe-perflog", "ramble"
    ]
    | None = None,
    samples: Flag = False,
    anonymize: Flag = False,
    out: Annotated[Path | None, Parameter(alias=("--output", "-o"))] = None,
    bundle: Path | None = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Export results for other programs: a row per cell and metric, or per sample.

    Parameters
    ----------
    run
        Directories of runs, or unique parts of their names [default: the newest]. For a group,
        every member is exported.
    format_
        csv, parquet, json, openmetrics (for monitoring systems), reframe (a run report) or
        reframe-perflog, or ramble (results of a workspace) [default: by the suffix of --out, else
        csv].
    samples
        Export every sample instead of the results, as csv, parquet or json.
    anonymize
        Replace the names of hosts, users, paths, systems, scheduler accounts and addresses. A name
        has the same replacement in the whole export.
    out
        The file to write [default: stdout]; parquet needs one.
    bundle
        Write an archive (.tar.gz) for the appendix of a paper instead: the runs, their plans, the
        environment, the commands that repeat them, checksums and a README.
    json
        The same as --format json.
    """
    from assay.config import load_config
    from assay.console import console
    from assay.errors import AssayError
    from assay.report.export.reading import read_runs
    from assay.report.export.write import export_format, write_export

    root = runs or load_config(config).runs
    screen = console(stderr=True)
    if bundle is not None:
        if samples or json or format_ is not None or out is not None:
            raise AssayError(
                "A bundle has the whole runs and no other format.",
                where=f"--bundle {bundle}",
                fix="Leave out --format, --json, --samples and --out.",
            )
        from assay.report.export.bundle import write_bundle

        write_bundle(root, run, bundle, anonymous=anonymize)
        screen.print(f"bundle: {bundle}", markup=False, soft_wrap=True)
        return
    found, left_out = read_runs(root, run, anonymous=anonymize)
    write_export(found, export_format("json" if json else format_, out), out, samples=samples)
    for sentence in left_out:
        screen.print(f"left out: {sentence}", markup=False, soft_wrap=True)
    if out is not None:
        screen.print(f"exported: {out}", markup=False, soft_wrap=True)
