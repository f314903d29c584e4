"""What is asked of a history, as a person writes it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import AssayError
from assay.records.store import RunFilter
from assay.units import parse_quantity


@dataclass(frozen=True)
class HistoryQuery:
    """Which cells and runs, and the smallest relative change that matters."""

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
        """What a person wrote. Raises AssayError."""
        share = float(parse_quantity(least, "1", where="--least"))
        if share < 0.0:
            raise AssayError("A smallest change can't be negative.", where="--least")
        choice = RunFilter(
            kernel=kernel,
            suite=suite,
            system=system,
            since=None if since is None else moment(since, "--since"),
            until=None if until is None else moment(until, "--until"),
        )
        return cls(choice, tuple(words), share)


def moment(text: str, where: str) -> float:
    """A day, a time (ISO 8601, UTC unless it says otherwise), or so long ago, as Unix time."""
    try:
        day = datetime.datetime.fromisoformat(text)
    except ValueError:
        try:
            return time.time() - float(parse_quantity(text, "s", where=where))
        except AssayError:
            raise AssayError(
                f"'{text}' is neither a day nor a length of time.",
                where=where,
                fix='Write a day such as 2026-03-01, a time such as 2026-03-01T08:00, or "90 d".',
            ) from None
    return (day if day.tzinfo else day.replace(tzinfo=datetime.UTC)).timestamp()
