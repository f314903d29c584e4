"""Lines of the Standard Workload Format in blocks: the same values as line by line, faster.

This reads only lines of plain numbers and ordinary jobs. Other lines are left to the reader of
lines (``swf``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats, Ints
from assay.usage.accounts.model import LONGEST
from assay.usage.collector import JobCollector
from assay.usage.columns import Columns
from assay.usage.jobs import LATEST, MOST_PROCESSORS, State

FIELDS = 18
_MINUS, _DOT, _NEWLINE = ord("-"), ord("."), ord("\n")
_WHITE = np.isin(np.arange(256), [ord(letter) for letter in " \t\r\n"])
_DIGIT = np.isin(np.arange(256), [ord(digit) for digit in "0123456789"])
# Whole numbers below this are exact as floating-point numbers.
_EXACT, _MOST_DIGITS = 2.0**53, 15
_STATES = np.full(6, State.UNKNOWN, dtype=np.int8)
_STATES[[0, 1, 5]] = State.FAILED, State.COMPLETED, State.CANCELLED


@dataclass(frozen=True)
class PlainRows:
    """Rows of plain numbers in a block."""

    #: Numbers of the rows, shape (jobs, ``FIELDS``).
    values: Floats
    #: Line of each row in its block, from 0.
    lines: Ints


def plain_rows(text: str, width: int = FIELDS) -> PlainRows | None:
    """The numbers of a block; None unless each line is blank or has ``width`` plain numbers."""
    try:
        codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    except UnicodeEncodeError:
        return None
    if not codes.size:
        return None
    white, digit = _WHITE[codes], _DIGIT[codes]
    minus, dot = codes == _MINUS, codes == _DOT
    before_white, before_digit = np.roll(white, 1), np.roll(digit, 1)
    before_white[0], before_digit[0] = True, False
    next_digit = np.roll(digit, -1)
    next_digit[-1] = False
    wrong = ~(
        white | digit | (minus & before_white & next_digit) | (dot & before_digit & next_digit)
    )
    if wrong.any():
        return None
    begins = ~white & before_white
    words = np.cumsum(begins)
    ends = np.flatnonzero(codes == _NEWLINE)
    if not text.endswith("\n"):
        ends = np.append(ends, codes.size - 1)
    if np.diff(ends, prepend=-1).max(initial=0) > LONGEST:
        return None
    counts = np.diff(words[ends], prepend=0)
    full = counts == width
    if np.any(~full & (counts != 0)):
        return None
    starts = np.flatnonzero(begins)
    next_white = np.roll(white, -1)
    next_white[-1] = True
    values = _whole_numbers(codes, starts, np.flatnonzero(~white & next_white))
    if values is None or dot.any():
        try:
            values = np.fromstring(text, dtype=np.float64, sep=" ")
        except ValueError:
            return None
    # The library may read a word with two points as two numbers.
    if values.size != words[-1] or not np.isfinite(values).all():
        return None
    return PlainRows(values.reshape(-1, width)[:, :FIELDS], np.flatnonzero(full))


def _whole_numbers(codes: NDArray[np.uint8], starts: Ints, lasts: Ints) -> Floats | None:
    """The numbers with these first and last characters; None if one is too long."""
    negative = codes[starts] == _MINUS
    width = lasts - starts + 1 - negative
    if width.max(initial=0) > _MOST_DIGITS:
        return None
    value = codes[lasts].astype(np.int64) - ord("0")
    left = np.flatnonzero(width > 1)
    place = 1
    while left.size:
        value[left] += (codes[lasts[left] - place].astype(np.int64) - ord("0")) * 10**place
        place += 1
        left = left[width[left] > place]
    numbers: Floats = np.where(negative, -value, value).astype(np.float64)
    return numbers


def odd_rows(values: Floats, origin: float) -> NDArray[np.bool_]:
    """Jobs that are partial, are problems or have no number."""
    job, submitted, wait, run, processors = values.T[:5]
    asked, status = values[:, 7], np.trunc(values[:, 10])
    odd: NDArray[np.bool_] = (job < 0) | (job != np.trunc(job)) | (submitted < 0)
    for each in (wait, run, processors):
        odd |= (each < 0) & (each != -1)
    odd |= (status >= 2) & (status <= 4)
    odd |= np.abs(values).max(axis=1) >= _EXACT
    odd |= np.maximum(processors, asked) > MOST_PROCESSORS
    odd |= origin + submitted + np.maximum(wait, 0) + np.maximum(run, 0) > LATEST
    return odd


def job_columns(values: Floats, lines: Ints, origin: float, out: JobCollector) -> Columns:
    """The columns of jobs that are not odd."""
    job, submitted, wait, run, processors = values.T[:5]
    mean, used, asked, asked_time, asked_memory = values.T[5:10]
    status = np.trunc(values[:, 10])
    known = np.where((status >= 0) & (status <= 5), status, 2).astype(np.int64)
    size = np.trunc(np.where(processors > 0, processors, asked))
    begin = origin + submitted
    start = np.where(wait < 0, begin, begin + wait)
    ran = (run >= 0) & ~((status == 5) & (run == 0))
    began = ran | ((status >= 0) & (status <= 1) & (wait >= 0))
    memory = 1024.0 * np.maximum(size, 1)
    number = job.astype(np.int64)

    def stated(amount: Floats, factor: Floats | float) -> Floats:
        return np.where(amount > 0, amount * factor, np.nan)

    return {
        "submit": np.where(wait < 0, np.nan, begin),
        "start": np.where(began, start, np.nan),
        "end": np.where(ran, start + run, np.nan),
        "processors": np.where(size > 0, size, -1),
        "requested_time": stated(asked_time, 1.0),
        "requested_memory": stated(asked_memory, memory),
        "used_memory": stated(used, memory),
        "processor_time": np.where(mean >= 0, np.abs(mean) * np.maximum(size, 1), np.nan),
        "user": _names("user", values[:, 11], out),
        "group": _names("group", values[:, 12], out),
        "queue": _names("queue", values[:, 14], out),
        "state": _STATES[known],
        "number": number,
        "key": number,
        "file": np.full(number.size, len(out.files) - 1),
        "line": lines,
    }


def _names(kind: str, values: Floats, out: JobCollector) -> Ints:
    different, first, place = np.unique(np.floor(values), return_index=True, return_inverse=True)
    codes = np.zeros(different.size, dtype=np.int64)
    for index in np.argsort(first):  # in the order in which they occur
        value = int(different[index])
        codes[index] = out.name(kind, str(value) if value >= 0 else "")
    named: Ints = codes[place]
    return named
