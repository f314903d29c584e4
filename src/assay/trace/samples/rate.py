"""The rate of samples that ``assay profile --sample`` asks for, and its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.errors import AssayError

DEFAULT_RATE = 97.0
#: Events that can be counted, as perf-list(1) names them (native/trace/sampling/counters.cpp).
EVENTS = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
    "page-faults", "major-faults", "context-switches", "cpu-migrations", "task-clock",
)  # fmt: skip
MOST_EVENTS = 4
# The kernel's clock ticks at 100 to 1,000 Hz, and sees at each tick that a timer has expired.
_LEAST_RATE, _MOST_RATE = 0.1, 1000.0


def sampling_rate(text: str | None) -> float | None:
    """Samples per s of CPU time, from ``--sample [HZ]``; None without the option, "": the default.

    Raises AssayError if it isn't a rate that can be used.
    """
    if text is None:
        return None
    try:
        rate = float(text) if text else DEFAULT_RATE
    except ValueError:
        rate = 0.0
    if not _LEAST_RATE <= rate <= _MOST_RATE:
        raise AssayError(
            f"'{text}' is not a number of samples per second from {_LEAST_RATE:g} to "
            f"{_MOST_RATE:g}.",
            where="--sample",
            fix=f"Example: {DEFAULT_RATE:g}.",
        )
    return rate


def counted_events(text: str | None) -> tuple[str, ...]:
    """The events of ``--counters``; none without the option.

    Raises AssayError if it names something else, or too many.
    """
    if text is None:
        return ()
    found = tuple(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    unknown = [one for one in found if one not in EVENTS]
    if unknown or not 0 < len(found) <= MOST_EVENTS:
        what = f"'{unknown[0]}' is not an event" if unknown else f"'{text}' is not a list"
        raise AssayError(
            f"{what} that assay counts. It counts at most {MOST_EVENTS} of: {', '.join(EVENTS)}.",
            where="--counters",
            fix="Example: cycles,instructions,cache-misses.",
        )
    return found


def sampling_variables(
    rate: float,
    inherited: Mapping[str, str],
    *,
    forks: bool = False,
    counters: Sequence[str] = (),
) -> dict[str, str]:
    """The variables that make the preloaded library sample. ``forks``: forked children,
    too. ``counters``: events to count beside the samples."""
    found = {"ASSAY_SAMPLE_PERIOD": str(round(1e9 / rate))}
    found |= {"ASSAY_SAMPLE_FORKS": "1"} if forks else {}
    found |= {"ASSAY_SAMPLE_COUNTERS": ",".join(counters)} if counters else {}
    if inherited.get("ASSAY_PROFILE_PYTHON") != "off" and "PYTHONPERFSUPPORT" not in inherited:
        # Python 3.12 and later: every function of Python has code of its own, which stacks show.
        found |= {"PYTHONPERFSUPPORT": "1", "ASSAY_SAMPLE_PYTHON": "1"}
    return found
