"""A history as OpenMetrics 1.0 text for monitoring systems, and as CSV: all runs of all cells.

The output follows the grammar of the specification (section "ABNF"), which
``tests/support/openmetrics_grammar.py`` implements. All samples have timestamps, so that tools can
backfill them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.kernels.naming import parameters_text
from assay.subjects.history.model import CellHistory, History

_UNITS = {
    "s": "seconds",
    "B": "bytes",
    "B/s": "bytes_per_second",
    "flop/s": "flops_per_second",
    "op/s": "operations_per_second",
    "Hz": "hertz",
    "1": "ratio",
    "": "ratio",
}
_STATES = ("regression", "improvement", "steady", "variable", "short")
Labels = Mapping[str, str]


def openmetrics(history: History) -> str:
    """The whole exposition, including ``# EOF``."""
    return "".join(f"{line}\n" for line in _lines(history)) + "# EOF\n"


def unit_name(unit: str) -> str:
    """A unit as the suffix of a metric's name: ``B/s`` is ``bytes_per_second``."""
    if unit in _UNITS:
        return _UNITS[unit]
    return re.sub(r"[^a-z0-9]+", "_", unit.lower().replace("/", "_per_")).strip("_") or "ratio"


def _lines(history: History) -> Iterator[str]:
    by_unit: dict[str, list[CellHistory]] = {}
    for cell in history.cells:
        by_unit.setdefault(unit_name(cell.unit), []).append(cell)
    for unit, cells in by_unit.items():
        yield from _family(
            "assay_result", "gauge", unit, "Median of a cell's measurements in a run"
        )
        for cell in cells:
            last = float("-inf")
            points = zip(cell.points.utc, cell.points.value, strict=True)
            for utc, value in points:
                # Timestamps of a metric must increase, even when rounded to milliseconds.
                last = max(round(utc, 3), round(last + 0.001, 3))
                yield _sample(f"assay_result_{unit}", _labels(cell), value, last)
    for unit, cells in by_unit.items():
        yield from _family("assay_level", "gauge", unit, "Current level of a cell's results")
        for cell in cells:
            yield _sample(f"assay_level_{unit}", _labels(cell), cell.level, _newest(cell))
    yield from _family(
        "assay_against_best",
        "gauge",
        "ratio",
        "Current level relative to the best earlier level, minus 1",
    )
    for cell in history.cells:
        if cell.against is not None:
            name = "assay_against_best_ratio"
            yield _sample(name, _labels(cell), cell.against, _newest(cell))
    yield from _family("assay_state", "stateset", "", "State of a cell's results")
    for cell in history.cells:
        for state in _STATES:
            labels = {**_labels(cell), "assay_state": state}
            yield _sample("assay_state", labels, int(cell.state == state), _newest(cell))
    yield from _family("assay_runs", "gauge", "", "Number of runs in a cell's history")
    for cell in history.cells:
        yield _sample("assay_runs", _labels(cell), len(cell.points.utc), _newest(cell))


def _family(name: str, kind: str, unit: str, meaning: str) -> Iterator[str]:
    whole = f"{name}_{unit}" if unit else name
    yield f"# TYPE {whole} {kind}"
    if unit:
        yield f"# UNIT {whole} {unit}"
    yield f"# HELP {whole} {escaped(meaning)}"


def _labels(cell: CellHistory) -> Labels:
    return {
        "system": cell.system,
        "kernel": cell.cell.kernel,
        "metric": cell.metric,
        "cell": cell.id,
        "parameters": parameters_text(cell.cell),
        "toolchain": cell.cell.toolchain,
    }


def _newest(cell: CellHistory) -> float:
    return round(cell.points.utc[-1], 3)


def _sample(name: str, labels: Labels, value: float, utc: float) -> str:
    text = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{text}}} {value!r} {utc:.3f}"


def escaped(text: str) -> str:
    """Text escaped for use between quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


CSV_COLUMNS: Sequence[tuple[str, str]] = (
    ("system", ""),
    ("kernel", ""),
    ("parameters", ""),
    ("nodes", ""),
    ("ppn", ""),
    ("threads", ""),
    ("toolchain", ""),
    ("cell", ""),
    ("metric", ""),
    ("unit", ""),
    ("run", ""),
    ("utc", "s"),
    ("value", "unit"),
    ("measurements", ""),
    ("level", "unit"),
    ("event", ""),
    ("outlier", ""),
)


def history_csv(history: History) -> str:
    """CSV with one line per run of each cell; each line names the unit of its values."""
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([f"{name} ({unit})" if unit else name for name, unit in CSV_COLUMNS])
    for cell in history.cells:
        writer.writerows(_csv_rows(cell))
    return stream.getvalue()


def _csv_rows(cell: CellHistory) -> Iterable[list[object]]:
    place = cell.cell.placement
    about = [
        cell.system, cell.cell.kernel, parameters_text(cell.cell), place.nodes, place.ppn,
        place.threads, cell.cell.toolchain, cell.id, cell.metric, cell.unit,
    ]  # fmt: skip
    events = {event.run: event.kind for event in cell.events}
    outliers = set(cell.outliers)
    for segment in cell.stretches:
        for i in range(segment.first, segment.last + 1):
            run = cell.points.run[i]
            yield [
                *about, run, cell.points.utc[i], cell.points.value[i],
                cell.points.measurements[i], segment.level, events.get(run, ""),
                "yes" if run in outliers else "",
            ]  # fmt: skip
