"""The query of a history, parsed from the options of the command line."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import AssayError
from assay.records.store import RunFilter
from assay.units import parse_duration, parse_quantity


@dataclass(frozen=True)
class HistoryQuery:
    """The selected runs, words that cells must contain, and the smallest relevant change."""

    choice: RunFilter
    words: tuple[str, ...] = ()
    least: float = 0.01

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        kernel: str | None,
        suite: str | None,
        system: str | None,
        since: str | None,
        until: str | None,
        least: str,
    ) -> HistoryQuery:
        """Parse the texts of the options. Raises AssayError if one is invalid."""
        share = float(parse_quantity(least, "1", where="--least"))
        if share < 0.0:
            raise AssayError("The smallest change can't be negative.", where="--least")
        choice = RunFilter(
            kernel=kernel,
            suite=suite,
            system=system,
            since=None if since is None else moment(since, "--since"),
            until=None if until is None else moment(until, "--until"),
        )
        return cls(choice, tuple(words), share)


def moment(text: str, where: str) -> float:
    """Unix time of a day, a time (ISO 8601, UTC by default), or a duration before now."""
    try:
        day = datetime.datetime.fromisoformat(text)
    except ValueError:
        try:
            return time.time() - parse_duration(text, where=where)
        except AssayError:
            raise AssayError(
                f"'{text}' is not a date, a time or a duration.",
                where=where,
                fix='Write a date such as 2026-03-01, a time such as 2026-03-01T08:00, or "90 d".',
            ) from None
    return (day if day.tzinfo else day.replace(tzinfo=datetime.UTC)).timestamp()
