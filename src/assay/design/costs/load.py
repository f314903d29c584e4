"""The load of a machine from its accounts: a log, or what ``assay usage --json`` says of it."""

from __future__ import annotations

from pathlib import Path

from assay.design.jobs import read_summary
from assay.errors import AssayError
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.completeness import records_of, utilisation_of
from assay.usage.analysis.prepared import prepare
from assay.usage.analysis.query import UsageQuery


def load_of_accounts(path: Path) -> float:
    """The utilisation, from 0 to 1. Raises AssayError if the accounts don't say it."""
    data = read_summary(path)
    if data is None:
        prepared = prepare(read_accounts([path]), UsageQuery())
        problems = prepared.problems.found()
        value: object = utilisation_of(prepared, records_of(prepared), problems).value
    else:
        found = data["utilisation"]
        value = found.get("value") if isinstance(found, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise AssayError(
            "The accounts don't say how busy the machine was.",
            where=str(path),
            fix='State the load: load = "80%".',
        )
    return float(value)
