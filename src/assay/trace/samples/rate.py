"""The rate of samples that ``assay profile --sample`` asks for, and its variables."""

from __future__ import annotations

from collections.abc import Mapping

from assay.errors import AssayError

DEFAULT_RATE = 97.0
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


def sampling_variables(rate: float, inherited: Mapping[str, str]) -> dict[str, str]:
    """The variables that make the preloaded library sample."""
    found = {"ASSAY_SAMPLE_PERIOD": str(round(1e9 / rate))}
    if inherited.get("ASSAY_PROFILE_PYTHON") != "off" and "PYTHONPERFSUPPORT" not in inherited:
        # Python 3.12 and later: every function of Python has code of its own, which stacks show.
        found |= {"PYTHONPERFSUPPORT": "1", "ASSAY_SAMPLE_PYTHON": "1"}
    return found
