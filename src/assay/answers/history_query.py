"""What is asked of a history, and the store's answer to it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.answers.history import History, answer_history
from assay.answers.history_data import Machines, Series, read_series
from assay.errors import AssayError
from assay.records.store import Choice, Store
from assay.stats.one_thread import one_thread
from assay.units import parse_quantity


@dataclass(frozen=True)
class Asked:
    """Which cells and runs, and the smallest relative change that matters."""

    choice: Choice
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
    ) -> Asked:
        """What a person wrote. Raises AssayError."""
        share = float(parse_quantity(least, "1", where="--least"))
        if share < 0.0:
            raise AssayError("A smallest change can't be negative.", where="--least")
        choice = Choice(
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
                mend='Write a day such as 2026-03-01, a time such as 2026-03-01T08:00, or "90 d".',
            ) from None
    return (day if day.tzinfo else day.replace(tzinfo=datetime.UTC)).timestamp()


@one_thread
def ask(root: Path, asked: Asked) -> History:
    """The history of what is asked for, from the runs under ``root``.

    Runs whose tables can't be read are counted and passed over. Raises AssayError where there is no
    such folder.
    """
    if not root.is_dir():
        raise AssayError(
            "There is no folder of runs.", where=str(root), mend="Name it with --runs."
        )
    store, series = _read(Store(root), asked.choice)
    return answer_history(
        [each for each in series if _has(each, asked.words)],
        Machines(store.directories()),
        store.passed_over(),
        least=asked.least,
    )


def _read(store: Store, choice: Choice) -> tuple[Store, list[Series]]:
    """The series, without the runs that make the others unreadable."""
    import polars as pl

    try:
        return store, read_series(store, choice)
    except (OSError, pl.exceptions.PolarsError):
        bad = store.unreadable()
        if not bad:
            raise
        rest = Store(store.root, without=bad)
        return rest, read_series(rest, choice)


def _has(series: Series, words: Sequence[str]) -> bool:
    text = f"{series.system} {series.label}".lower()
    return all(word.lower() in text for word in words)
