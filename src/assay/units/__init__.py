"""Quantities as text: formatting and parsing.

Stored values are SI base units; this package is the only place that scales them.
"""

from __future__ import annotations

from assay.units.formatting import (
    EQUAL,
    MINUS,
    MISSING,
    Interval,
    format_chance,
    format_change,
    format_count,
    format_duration,
    format_half_width,
    format_limit,
    format_memory,
    format_minute,
    format_probability,
    format_quantity,
    format_share,
    format_signed,
    format_size,
    rough_duration,
)
from assay.units.parsing import (
    clock_time,
    parse_duration,
    parse_quantity,
    parse_walltime,
    whole_number,
)
from assay.units.words import agreeing, capitalised, counted, counted_verb, listed

__all__ = [
    "EQUAL",
    "MINUS",
    "MISSING",
    "Interval",
    "agreeing",
    "capitalised",
    "clock_time",
    "counted",
    "counted_verb",
    "format_chance",
    "format_change",
    "format_count",
    "format_duration",
    "format_half_width",
    "format_limit",
    "format_memory",
    "format_minute",
    "format_probability",
    "format_quantity",
    "format_share",
    "format_signed",
    "format_size",
    "listed",
    "parse_duration",
    "parse_quantity",
    "parse_walltime",
    "rough_duration",
    "whole_number",
]
