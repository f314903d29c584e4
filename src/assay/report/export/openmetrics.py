"""Results as OpenMetrics 1.0 text: gauges in base units, one family per quantity and unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.report.export.model import ResultRow
from assay.report.export.tabular import parameters_json
from assay.report.history.openmetrics import escaped, unit_name

# Families that have the unit of the result: name, meaning, value.
_OF_UNIT: tuple[tuple[str, str, Callable[[ResultRow], float | None]], ...] = (
    ("assay_median", "Median over the launches of a cell", lambda row: row.median),
    ("assay_interval_low", "Lower end of the 95% interval of the median", lambda row: row.low),
    ("assay_interval_high", "Upper end of the 95% interval of the median", lambda row: row.high),
)
# Families that have no unit.
_COUNTS: tuple[tuple[str, str, Callable[[ResultRow], float | None]], ...] = (
    ("assay_launches", "Number of launches, or of imported results", lambda row: row.n),
    ("assay_samples", "Number of samples after warm-up", lambda row: row.samples),
    ("assay_caveats", "Number of caveats about a cell", lambda row: len(row.caveats)),
)


def results_openmetrics(rows: Sequence[ResultRow]) -> str:
    """The whole exposition, including ``# EOF``.

    The time of each sample is the start of its run.
    """
    # Points of one metric are adjacent, and their times increase.
    measured = sorted((row for row in rows if row.metric is not None), key=_order)
    failed = sorted((row for row in rows if row.metric is None), key=_order)
    return "".join(f"{line}\n" for line in _lines(measured, failed)) + "# EOF\n"


def _lines(rows: Sequence[ResultRow], failed: Sequence[ResultRow]) -> Iterator[str]:
    units = list(dict.fromkeys(unit_name(row.unit or "") for row in rows))
    for name, meaning, value in _OF_UNIT:
        for unit in units:
            of_unit = [row for row in rows if unit_name(row.unit or "") == unit]
            yield from _family(
                name=f"{name}_{unit}",
                unit=unit,
                meaning=meaning,
                rows=of_unit,
                value=value,
                labels=_labels,
            )
    for name, meaning, value in _COUNTS:
        yield from _family(
            name=name, unit="", meaning=meaning, rows=rows, value=value, labels=_labels
        )
    yield from _family(
        name="assay_failed_cell",
        unit="",
        meaning="A cell without results is 1",
        rows=failed,
        value=lambda _: 1,
        labels=_cell_labels,
    )


def _family(
    name: str,
    unit: str,
    meaning: str,
    rows: Sequence[ResultRow],
    value: Callable[[ResultRow], float | None],
    labels: Callable[[ResultRow], Mapping[str, str]],
) -> Iterator[str]:
    found = [(row, number) for row in rows if (number := value(row)) is not None]
    if not found:
        return
    yield f"# TYPE {name} gauge"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {escaped(meaning)}"
    for row, number in found:
        text = ",".join(f'{key}="{escaped(word)}"' for key, word in labels(row).items())
        yield f"{name}{{{text}}} {number!r} {row.utc:.3f}"


def _order(row: ResultRow) -> tuple[object, ...]:
    return (*_labels(row).values(), row.utc)


def _cell_labels(row: ResultRow) -> dict[str, str]:
    """The run is a label, so that points of different runs never have the same labels.

    Runs of different groups may have the same name, so a member is labelled with its group.
    """
    return {
        "system": row.system,
        "run": f"{row.group}/{row.run}" if row.group else row.run,
        "suite": row.suite,
        "kernel": row.kernel,
        "cell": row.cell,
        "parameters": parameters_json(row.parameters),
        "nodes": "" if row.nodes is None else str(row.nodes),
        "ranks": "" if row.ranks is None else str(row.ranks),
        "threads": "" if row.threads is None else str(row.threads),
        "toolchain": row.toolchain,
        "imported": "true" if row.imported else "false",
    }


def _labels(row: ResultRow) -> dict[str, str]:
    return {**_cell_labels(row), "metric": row.metric or "", "better": row.better or ""}
