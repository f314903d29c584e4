"""The ``assay`` command: its table of contents. Commands are imported when they are called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App

from assay import __version__

COMMANDS = ("run", "measure", "report", "runs", "system", "kernels", "doctor")

app = App(
    name="assay",
    help="Measure a machine or a cluster, and say what it is worth: how fast it is, how far from "
    "its limits, and how sure that is.",
    version=__version__,
)
for _name in COMMANDS:
    app.command(f"assay.cli.{_name}:{_name}", name=_name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, run the command, exit with its status: 0 done, 1 asked to fail on, 2 wrong input."""
    from assay.errors import AssayError

    try:
        status = app(arguments, result_action="return_value", exit_on_error=False)
    except AssayError as error:
        from assay.cli.output import print_error

        print_error(error.what, where=error.where, mend=error.mend, detail=error.detail)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(141)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)
