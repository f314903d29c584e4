"""Options that several commands share, declared once.

An option with the same meaning everywhere has its help here. If commands differ in what an option
prints, only its type is declared here, and each command's docstring explains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

# A switch without a negative form such as --no-json.
Flag = Annotated[bool, Parameter(negative=())]

# The options of commands that report. `assay.report.destination` has their rules.
ReportFormat = Annotated[
    Literal["terminal", "html", "markdown", "json", "lines", "pdf", "latex"] | None,
    Parameter(
        name="--format",
        help="terminal, or a file as html, markdown, json (the whole report), lines, pdf (needs "
        "Chromium or WeasyPrint) or latex (tables, figures, methods) [default: by the suffix of "
        "--output].",
    ),
]
ReportHtml = Annotated[Flag, Parameter(name="--html", help="The same as --format html.")]
ReportLines = Annotated[
    Flag,
    Parameter(
        name="--lines",
        help="Print one line per node, cell or finding that is wrong, and nothing if none is.",
    ),
]
ReportPage = Annotated[
    Flag,
    Parameter(
        name="--page",
        help="Write one printed page for a board instead of the report: what it is, what it costs, "
        "how sure it is, what to decide. Also with --format pdf.",
    ),
]
ReportOutput = Annotated[Path | None, Parameter(name=("--output", "-o"))]
Verbose = Annotated[
    Flag,
    Parameter(
        name="--verbose",
        help="Print all tables, caveats and recommendations on the terminal, not only a summary.",
    ),
]
Anonymize = Annotated[
    Flag,
    Parameter(
        name="--anonymize",
        help="Replace the names of hosts, users, paths, systems, scheduler accounts and addresses. "
        "The default file name then ends in -anonymous.",
    ),
]

# Each command explains what its --json prints, unless it prints the findings.
Json = Annotated[Flag, Parameter(name="--json")]
JsonFindings = Annotated[Json, Parameter(help="Print the findings as JSON on stdout.")]

# The options of commands that read the configuration or the runs.
ConfigFile = Annotated[
    Path | None,
    Parameter(
        name="--config",
        help="The assay.toml to use [default: searched for; see docs/formats/config.md].",
    ),
]
SiteProfile = Annotated[
    str | None,
    Parameter(
        name="--site",
        help="The profile of assay.toml to use [default: $ASSAY_SITE, else this host's profile].",
    ),
]
RunsFolder = Annotated[
    Path | None,
    Parameter(name="--runs", help="The folder of the runs [default: ./runs, or as in assay.toml]."),
]
JunitFile = Annotated[
    Path | None,
    Parameter(
        name="--junit",
        help="Write the results against each [[expect]] of assay.toml as JUnit XML into this file.",
    ),
]

# The options of commands that measure.
LabName = Annotated[
    str | None,
    Parameter(
        name="--lab",
        help="Measure on a lab (`assay lab list` lists them), from its first host. Needs root.",
    ),
]
FakeMachine = Annotated[
    Path | None,
    Parameter(
        name="--fake",
        help="A scenario file: measure the machine it describes instead of this one.",
    ),
]
RandomSeed = Annotated[
    int | None,
    Parameter(
        name="--seed",
        help="Seed of the random order of cells [default: drawn, and recorded].",
    ),
]
SchedulerAccount = Annotated[
    str | None,
    Parameter(
        name="--account",
        help="The scheduler's account or project [default: as in assay.toml].",
    ),
]
SchedulerPartition = Annotated[
    str | None,
    Parameter(
        name="--partition",
        help="The scheduler's partition or queue [default: as in assay.toml].",
    ),
]

# Of options whose value may be left out, as in --sample [HZ].
_DEFAULT_VALUES = {
    ("profile", "--sample"): "97",
    ("profile", "--counters"): "cycles,instructions,cache-misses",
}


def with_values(given: Sequence[str]) -> list[str]:
    """The arguments, in which such options before ``--`` have their default if no number
    follows."""
    end = given.index("--") if "--" in given else len(given)
    found = list(given)
    for place in range(1, end):
        default = _DEFAULT_VALUES.get((given[0], given[place]))
        following = given[place + 1] if place + 1 < end else ""
        if default is not None and not _is_value(given[place], following):
            found[place] = f"{given[place]}={default}"
    return found


def _is_value(option: str, word: str) -> bool:
    if option == "--counters":
        from assay.trace.samples.rate import EVENTS

        return all(one in EVENTS for one in word.split(","))
    try:
        float(word)
    except ValueError:
        return False
    return True
