"""Measured metrics as figures of a catalogue, as text."""

from __future__ import annotations

from assay.stats.core.model import MetricSummary

NO_INTERVAL = 0.05  # uncertainty of a number with an unknown interval


def figure_text(metric: MetricSummary, unit: str = "") -> str:
    """A measured metric as a figure of a catalogue; ``unit`` replaces the metric's."""
    unit = unit or metric.unit
    value = f'value = "{metric.median:.6g} {unit}"'
    if metric.ci95 is None:
        return f"{{ {value}, uncertainty = {NO_INTERVAL} }}"
    low, high = (f'"{end:.6g} {unit}"' for end in metric.ci95)
    return f"{{ {value}, interval = [{low}, {high}] }}"


def plain(text: str) -> str:
    """A text as the content of a string in TOML."""
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\')
