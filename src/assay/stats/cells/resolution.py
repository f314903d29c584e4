"""The resolution of samples: the smallest difference that their source can show."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from assay.records.model import Measurement
from assay.records.schema import SampleSeries


def resolution_of(measurement: Measurement, series: SampleSeries) -> float | None:
    """The smallest difference between two samples of a series, in its unit; None if unknown.

    For times it is the clock's resolution divided by the batch, since a sample is the time of a
    batch divided by its operations. For imported values it is one unit of the last printed digit.
    """
    clock = measurement.clock
    if series.unit == "s" and clock is not None:
        return clock.resolution / max(measurement.record.batch or 1, 1)
    steps = [
        step
        for text, value in zip(series.printed, series.values, strict=False)
        if (step := _last_digit(text, value)) is not None
    ]
    return max(steps, default=None)


def _last_digit(text: str, value: float) -> float | None:
    """One unit of the last digit of a printed number, in the unit of its ``value``."""
    try:
        printed = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    exponent = printed.as_tuple().exponent
    if not isinstance(exponent, int) or not printed:
        return None
    return abs(float(Decimal(1).scaleb(exponent) / printed) * value)
