"""``assay runs``: the runs there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def runs(
    *,
    runs: Path | None = None,
    check: Annotated[bool, Parameter(negative=())] = False,
    config: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """List the runs, oldest first: name, suite, cells, measurements, state.

    Parameters
    ----------
    runs
        The folder that holds runs [default: ./runs, or as assay.toml says].
    check
        Read every file of sealed runs, and exit with 1 if one is not as it was sealed.
    config
        The assay.toml to use.
    json
        Print a list of objects on stdout.
    """
    from assay.cli.output import console, print_json
    from assay.config import load_config
    from assay.records.store import Store

    root = runs or load_config(config).runs
    found = Store(root).listing(check=check)
    if json:
        print_json(found)
    elif not found:
        console().print(f"No runs in {root}. `assay run quick` makes one.", soft_wrap=True)
    else:
        from assay.report.listing import MANY, run_table

        console().print(run_table(found), soft_wrap=len(found) >= MANY)
    return int(any(run.state == "damaged" for run in found))
