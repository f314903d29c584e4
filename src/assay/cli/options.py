"""Options that several commands have, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

# The options of commands that report. `assay.report.destination` has their rules.
ReportFormat = Annotated[
    Literal["terminal", "html", "markdown", "json"] | None,
    Parameter(
        name="--format",
        help="terminal, or a file as html, markdown or json (the whole report) "
        "[default: by the suffix of --output].",
    ),
]
ReportHtml = Annotated[
    bool, Parameter(name="--html", negative=(), help="The same as --format html.")
]
ReportOutput = Annotated[Path | None, Parameter(name=("--output", "-o"))]
