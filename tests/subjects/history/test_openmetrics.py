"""The OpenMetrics text, by the specification's grammar, and the CSV, read back."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.report.history.openmetrics import (
    CSV_COLUMNS,
    escaped,
    history_csv,
    openmetrics,
    unit_name,
)
from assay.subjects.history.model import (
    HISTORY_SCHEMA,
    CellHistory,
    History,
    HistoryPoints,
    HistorySegment,
)
from openmetrics_grammar import WrongText, parse


def cell(
    utc: list[float],
    values: list[float],
    *,
    unit: str = "s",
    system: str = "seth",
    kernel: str = "network.barrier",
    text: str = "x",
    state: str = "steady",
) -> CellHistory:
    return CellHistory(
        system=system,
        id="0123456789ab",
        cell=Cell(kernel, {"op": text}, Placement(), "embedded"),
        label="barrier",
        metric="time",
        unit=unit,
        better="less",
        state=state,
        level=values[-1],
        level_ci95=None,
        deviation=None,
        reference=None,
        reference_first=None,
        reference_last=None,
        against=0.02,
        against_ci95=(0.01, 0.03),
        p=0.001,
        p_corrected=0.001,
        suspect=None,
        outliers=["r0"],
        dependence=0.0,
        events=[],
        stretches=[HistorySegment(0, len(values) - 1, values[-1], None, None, False)],
        points=HistoryPoints([f"r{i}" for i in range(len(utc))], utc, values, [3] * len(utc)),
    )


def history(*cells: CellHistory) -> History:
    return History(HISTORY_SCHEMA, 2e9, 0.01, 3, ["seth"], {}, "Steady.", list(cells))


def test_every_run_is_listed_with_its_time_and_unit() -> None:
    families = parse(openmetrics(history(cell([1e9, 1e9 + 0.25], [1e-6, 1.5e-6]))))
    result = families["assay_result_seconds"]
    assert (result.type, result.unit) == ("gauge", "seconds")
    assert [(value, when) for _, value, when in result.samples] == [
        (1e-6, 1e9), (1.5e-6, 1e9 + 0.25),
    ]  # fmt: skip
    assert dict(result.samples[0][0]) == {
        "system": "seth", "kernel": "network.barrier", "metric": "time", "cell": "0123456789ab",
        "parameters": "op=x", "toolchain": "embedded",
    }  # fmt: skip
    states = {
        dict(labels)["assay_state"]: value for labels, value, _ in families["assay_state"].samples
    }
    assert states == {
        "regression": 0.0, "improvement": 0.0, "steady": 1.0, "variable": 0.0, "short": 0.0,
    }  # fmt: skip
    assert families["assay_runs"].samples[0][1] == 2.0
    assert families["assay_against_best_ratio"].samples[0][1] == 0.02
    assert families["assay_level_seconds"].samples[0][1] == 1.5e-6


def test_units_are_in_the_names() -> None:
    cells = [cell([1.0], [1.0], unit=unit, text=unit) for unit in ("s", "B/s", "flop/s", "op/s")]
    families = parse(openmetrics(history(*cells)))
    for name in ("seconds", "bytes_per_second", "flops_per_second", "operations_per_second"):
        assert families[f"assay_result_{name}"].unit == name
    assert unit_name("furlongs/fortnight²") == "furlongs_per_fortnight"
    assert unit_name("%") == "ratio"


def test_an_empty_store_gives_a_valid_text() -> None:
    assert parse(openmetrics(history()))["assay_state"].samples == []


@settings(max_examples=60)
@given(
    st.text(max_size=30),
    st.text(max_size=20),
    st.lists(st.tuples(st.floats(0, 4e9), st.floats(1e-300, 1e300)), min_size=1, max_size=20),
)
def test_the_text_is_valid_for_any_names(
    text: str, system: str, points: list[tuple[float, float]]
) -> None:
    points.sort()
    one = cell([utc for utc, _ in points], [v for _, v in points], system=system, text=text)
    families = parse(openmetrics(history(one)))
    samples = families["assay_result_seconds"].samples
    assert [value for _, value, _ in samples] == [value for _, value in points]
    assert dict(samples[0][0])["system"] == system
    for (_, _, when), (utc, _) in zip(samples, points, strict=True):
        assert when == pytest.approx(utc, abs=0.001 * len(points) + 1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "assay_x 1\n",
        "# EOF",
        "# TYPE a gauge\na 1 2\na 1 2\n# EOF\n",
        "# TYPE a_b gauge\n# UNIT a_b c\n# EOF\n",
        '# TYPE a gauge\na{b="\\x"} 1\n# EOF\n',
        '# TYPE a gauge\na{b="1",b="2"} 1\n# EOF\n',
        "# TYPE a gauge\n# TYPE b gauge\nb 1\na 1\n# EOF\n",
        "# TYPE a stateset\na 1\n# EOF\n",
        "# TYPE a gauge\na 1 2\n# EOF\n\n# EOF\n",
    ],
)
def test_the_grammar_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(WrongText):
        parse(text)


def test_escapes_are_those_of_the_specification() -> None:
    assert escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'


@settings(max_examples=40)
@given(st.text(max_size=30), st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=9))
def test_csv_gives_back_every_number(text: str, values: list[float]) -> None:
    one = cell([float(i) for i in range(len(values))], values, text=text)
    rows = list(csv.reader(io.StringIO(history_csv(history(one)), newline="")))
    assert [name.split(" (")[0] for name in rows[0]] == [name for name, _ in CSV_COLUMNS]
    places = {name.split(" (")[0]: place for place, name in enumerate(rows[0])}
    assert [float(row[places["value"]]) for row in rows[1:]] == values
    assert rows[1][places["outlier"]] == "yes"
    assert all(row[places["run"]] == f"r{i}" for i, row in enumerate(rows[1:]))


def test_the_json_is_what_is_documented() -> None:
    encoded = msgspec.json.decode(msgspec.json.encode(history(cell([1.0], [1.0]))))
    assert encoded["schema"] == HISTORY_SCHEMA
    assert encoded["cells"][0]["points"]["value"] == [1.0]
