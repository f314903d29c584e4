"""A history over a store of many runs: planted changes are found, explained, shown, judged."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

from assay.charts.sparkline import sparkline
from assay.cli.app import main
from assay.cli.results.history import history as command
from assay.errors import AssayError
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_requested
from assay.records.request import JobShape, RunRequest
from assay.records.store import RunFilter, SkippedRuns, Store
from assay.report import write_report
from assay.report.history.terminal import print_history
from assay.report.subject import build_subject
from assay.subjects.history.answer import answer
from assay.subjects.history.figures import MAX_DOTS, calendar, figures, trend
from assay.subjects.history.findings import find, history_of
from assay.subjects.history.model import History
from assay.subjects.history.query import HistoryQuery, moment
from assay.subjects.history.series import HistorySeries, Machines, by_run, read_series
from assay.subjects.history.subject import SUBJECT
from assay.subjects.history.words import event_text, state_text, verdict_of
from browser import Browser, look
from history_builder import BEGIN, DAY, TOOLCHAIN, barrier, file_run, nightly, system_with, triad
from openmetrics_grammar import parse

STEP, NIGHTS = 60, 90
ASKED = HistoryQuery(RunFilter())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ninety nights: from the 60th on a new kernel, and the triad takes 5% longer; barriers don't.

    The MPI changed now and then, without any effect; the store also has an unfinished and a damaged
    run, one of older tables, and one of another machine.
    """
    root = tmp_path_factory.mktemp("runs")
    nightly(
        root,
        NIGHTS,
        [
            (triad(), lambda night: 1e-3 * (1.05 if night >= STEP else 1.0)),
            (barrier(), lambda _: 2e-6),
        ],
        facts=lambda night: system_with(os_kernel="6.1.12" if night >= STEP else "6.1.0"),
        toolchain=lambda night: {**TOOLCHAIN, "mpi_version": "5.1" if night % 7 == 4 else "5.0.2"},
        seed=2,
    )
    end = BEGIN + DAY * NIGHTS
    file_run(root, [(barrier(), [2e-6])], utc=end, sealed=False)
    broken = file_run(root, [(barrier(), [2e-6])], utc=end + 60)
    (broken.path / "measurements.parquet").write_bytes(b"PAR1 no table at all PAR1")
    torn = file_run(root, [(barrier(), [2e-6])], utc=end + 120)
    (torn.path / "seal.json").write_text("{")
    older = file_run(root, [(barrier(), [2e-6])], utc=end + 180)
    seal = json.loads((older.path / "seal.json").read_text())
    seal["summary"]["tables"] = 1
    (older.path / "seal.json").write_text(json.dumps(seal))
    file_run(root, [(barrier(), [5e-6] * 3)], utc=BEGIN + 7, system="dell")
    return root


@pytest.fixture(scope="module")
def found(root: Path) -> History:
    return find(root, ASKED)


def test_the_step_is_found_with_its_date_size_and_coincident_changes(found: History) -> None:
    stream = next(c for c in found.cells if c.cell.kernel == "memory.stream")
    assert (stream.metric, stream.unit, stream.better) == ("bandwidth", "B/s", "more")
    (event,) = stream.events
    assert event.kind == "step" and event.worse
    assert event.size == pytest.approx(1 / 1.05 - 1, abs=0.006)
    assert event.size_ci95[0] < 1 / 1.05 - 1 < event.size_ci95[1]
    assert event.after_utc < BEGIN + DAY * STEP <= event.before_utc + 1
    assert event.before_utc - event.after_utc < 7 * DAY
    (kernel,) = [d for d in event.differences if d.coincides]
    assert (kernel.path, kernel.before, kernel.after) == ("os.kernel", "6.1.0", "6.1.12")
    assert event.remark == "Changed at the same time: kernel 6.1.0 → 6.1.12."
    assert stream.state == "regression"
    assert stream.against == pytest.approx(1 / 1.05 - 1, abs=0.006)
    assert stream.p_corrected is not None and stream.p_corrected < 1e-6
    assert stream.reference_first == 0
    assert len(stream.points.run) == NIGHTS
    assert stream.points.measurements == [3] * NIGHTS


def test_what_did_not_change_is_steady(found: History) -> None:
    steady = [c for c in found.cells if c.system == "seth" and c.cell.kernel == "network.barrier"]
    assert [(c.state, c.events) for c in steady] == [("steady", [])]
    assert steady[0].level == pytest.approx(2e-6, rel=0.005)
    other = [c for c in found.cells if c.system == "dell"]
    assert [(c.state, len(c.points.run)) for c in other] == [("short", 1)]
    assert found.systems == ["seth", "dell"]


def test_unusable_runs_are_skipped_and_counted(found: History) -> None:
    assert found.passed_over == {
        "unfinished": 1, "groups": 0, "older": 1, "damaged": 2, "imported": 0,
    }  # fmt: skip
    assert found.runs == NIGHTS + 1


def test_groups_and_runs_of_older_versions_are_distinguished_from_unfinished_ones(
    tmp_path: Path,
) -> None:
    runs = [file_run(tmp_path, [(barrier(), [1e-6])], utc=BEGIN + DAY * i) for i in range(3)]
    older = runs[1].path / "seal.json"
    older.write_text(json.dumps({**json.loads(older.read_text()), "summary": None}))
    request = RunRequest(
        schema=1, run="group", utc=BEGIN, assay="0", command=[], tag="t", folder="/", plan="quick",
        texts={}, words=[], nodes=None, budget=None, precision=None, seed=1, config=None,
        fake=None, report=True, job=JobShape(nodes=1, seconds=60.0, longest=None), scheduler=None,
        members=2,
    )  # fmt: skip
    create_requested(tmp_path, "20990101T000000Z-group", request)
    found = Store(tmp_path).passed_over()
    assert msgspec.structs.asdict(found) == {
        "unfinished": 0, "groups": 1, "older": 1, "damaged": 0, "imported": 0,
    }  # fmt: skip
    assert find(tmp_path, ASKED).runs == 2


def test_a_direction_is_stated_only_if_the_range_excludes_equality(found: History) -> None:
    (changed,) = [cell for cell in found.cells if cell.state == "regression"]
    (event,) = changed.events
    assert event_text(event, changed).endswith(f", worse (p = {event.p:.1g})")
    wide = dataclasses.replace(event, size_ci95=(-0.10, 0.01))
    assert ", direction not distinguishable (p" in event_text(wide, changed)
    # A 95% interval that barely excludes equality is not enough for an answer.
    barely = dataclasses.replace(changed, against_ci95=(-0.10, -0.001))
    verdict = verdict_of([barely])
    assert "regressed" not in verdict
    assert "changed in a direction that is not distinguishable (−4." in verdict
    assert verdict_of([changed]).startswith("1 of 1 cell has regressed: ")


def test_the_verdict_says_what_became_worse(found: History) -> None:
    assert found.verdict.startswith("1 of 2 cells has regressed: memory.stream")
    assert re.search(r"\(−[45]\.\d% \[−[45]\.\d, −[45]\.\d\] bandwidth\)", found.verdict)
    assert found.verdict.endswith("1 steady.")


def test_a_step_without_a_coincident_change_is_reported(tmp_path: Path) -> None:
    nightly(tmp_path, 60, [(barrier(), lambda night: 1e-6 * (1.0 + 0.06 * (night >= 40)))])
    (cell,) = find(tmp_path, ASKED).cells
    (event,) = cell.events
    assert event.differences == []
    assert (
        event.remark
        == "The snapshots of machine and toolchain before and after the change don't differ."
    )
    assert (cell.state, event.worse, cell.better) == ("regression", True, "less")


def test_a_version_that_alternates_is_no_cause(tmp_path: Path) -> None:
    nightly(
        tmp_path,
        60,
        [(barrier(), lambda night: 1e-6 * (1.0 + 0.06 * (night >= 40)))],
        cov=0.002,
        toolchain=lambda night: {**TOOLCHAIN, "mpi_version": "5.1" if night % 2 else "5.0.2"},
    )
    (event,) = find(tmp_path, ASKED).cells[0].events
    assert [(d.fact, d.coincides) for d in event.differences] == [("MPI", False)]
    assert event.remark.startswith(
        "No property changed only at this time. Changed at this and other times"
    )


def test_a_version_of_the_toolchain_is_a_possible_cause(tmp_path: Path) -> None:
    nightly(
        tmp_path,
        60,
        [(barrier(), lambda night: 1e-6 * (1.0 - 0.06 * (night >= 40)))],
        toolchain=lambda night: {**TOOLCHAIN, "mpi_version": "5.1" if night >= 40 else "5.0.2"},
    )
    (cell,) = find(tmp_path, ASKED).cells
    assert cell.state == "improvement" and not cell.events[0].worse
    assert "MPI 5.0.2 → 5.1" in cell.events[0].remark


def test_a_recovered_cell_is_steady_and_its_history_is_reported(tmp_path: Path) -> None:
    nightly(tmp_path, 90, [(barrier(), lambda night: 1e-6 * (1.05 if 40 <= night < 60 else 1.0))])
    (cell,) = find(tmp_path, ASKED).cells
    assert cell.state == "steady"
    assert [(e.worse, e.kind) for e in cell.events] == [(True, "step"), (False, "step")]


def test_a_drift_to_the_worse_is_a_regression(tmp_path: Path) -> None:
    nightly(tmp_path, 120, [(barrier(), lambda night: 1e-6 * (1.0 + 0.06 * night / 120))])
    (cell,) = find(tmp_path, ASKED).cells
    assert [event.kind for event in cell.events] == ["drift"]
    assert cell.state == "regression"
    assert cell.against == pytest.approx(0.06, abs=0.02)


def test_the_p_of_the_present_counts_the_places_where_it_might_have_begun(tmp_path: Path) -> None:
    from scipy.stats import ttest_ind

    nightly(tmp_path, 50, [(barrier(), lambda night: 1e-6 * (1.0 + 0.02 * (night >= 30)))])
    (cell,) = find(tmp_path, HistoryQuery(RunFilter(), least=0.0)).cells
    logs = np.log(cell.points.value)
    edge = cell.stretches[1].first
    assert cell.p is not None and cell.p < 1e-4
    # A single candidate place would be more likely by the number of places.
    assert ttest_ind(logs[:edge], logs[edge:]).pvalue < cell.p
    assert cell.p_corrected == pytest.approx(cell.p)  # the only one


def test_small_changes_don_t_count_however_significant(tmp_path: Path) -> None:
    nightly(
        tmp_path, 80, [(barrier(), lambda night: 1e-6 * (1.0 + 0.006 * (night >= 40)))], cov=0.001
    )
    assert find(tmp_path, ASKED).cells[0].state == "steady"
    assert len(find(tmp_path, ASKED).cells[0].events) == 1
    assert find(tmp_path, HistoryQuery(RunFilter(), least=0.005)).cells[0].state == "regression"


def test_a_run_over_days_counts_once_per_day(tmp_path: Path) -> None:
    file_run(tmp_path, [(barrier(), [1e-6] * 4)], utc=BEGIN, spacing=DAY / 2)
    file_run(tmp_path, [(barrier(), [2e-6, 3e-6, 9e-6])], utc=BEGIN + 9 * DAY)
    (series,) = read_series(Store(tmp_path), RunFilter())
    assert series.counts.tolist() == [2, 2, 3]
    assert series.values.tolist() == [1e-6, 1e-6, 3e-6]
    assert np.isnan(series.scatter[:2]).all()
    assert series.scatter[2] == pytest.approx(1.2533 * 1.4826 * 1e-6 / np.sqrt(3))
    assert series.utc.tolist() == [BEGIN, BEGIN + DAY, BEGIN + 9 * DAY]


def test_medians_of_runs_are_those_of_numpy(root: Path) -> None:
    from assay.stats.repeats.stored_repeats import repeats_in

    for repeats in repeats_in(Store(root, without=_broken(root)), RunFilter(system="seth")):
        series = by_run(repeats, "seth")
        assert series is not None
        for place in (0, 17, 89):
            mine = [v for v, r in zip(repeats.values, repeats.run, strict=True)
                    if r == series.runs[place]]  # fmt: skip
            assert series.values[place] == np.median(mine)


def _broken(root: Path) -> list[str]:
    return Store(root).unreadable()


def test_choices_and_words(root: Path) -> None:
    def labels(*words: str, **chosen: object) -> list[str]:
        return [c.label for c in find(root, HistoryQuery(RunFilter(**chosen), words)).cells]  # type: ignore[arg-type]

    assert len(labels()) == 3
    assert len(labels("TRIAD")) == 1
    assert len(labels("barrier", "dell")) == 1
    assert labels("nothing") == []
    assert len(labels(kernel="network.barrier")) == 2
    assert len(labels(system="dell")) == 1
    assert labels(suite="weekly") == []
    late = find(root, HistoryQuery(RunFilter(since=BEGIN + DAY * STEP)))
    assert {c.state for c in late.cells} == {"steady"}
    assert len(late.cells[0].points.run) == NIGHTS - STEP
    early = find(root, HistoryQuery(RunFilter(until=BEGIN + DAY * STEP)))
    assert "regression" not in {c.state for c in early.cells}


def test_moments() -> None:
    import time

    assert moment("2026-03-01", "x") == 1772323200.0
    assert moment("2026-03-01T01:00+01:00", "x") == 1772323200.0
    assert time.time() - moment("2 d", "x") == pytest.approx(2 * DAY, abs=60)
    with pytest.raises(AssayError, match="not a date, a time or"):
        moment("yesterday", "--since")


# ---- as a user sees it ------------------------------------------------------------------------


def test_the_terminal_has_a_line_a_cell_and_the_changes(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(runs=root) == 0
    said = capsys.readouterr().out
    assert "has regressed" in said
    assert "left out: 1 unfinished, 1 of another version, 2 damaged" in " ".join(said.split())
    assert "kernel 6.1.0 → 6.1.12" in said
    assert re.search(r"regression", said) and re.search(r"too few runs", said)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_lines_fit_the_terminal(found: History, width: int) -> None:
    screen = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    print_history(found, screen)
    text = screen.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "regression" in text
    assert any(block in text for block in "▁▂▃▄▅▆▇█") == (width >= 70)


def test_fail_on_regression(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def status(*words: str) -> int:
        with pytest.raises(SystemExit) as end:
            main(["history", "--runs", str(root), *words])
        return int(end.value.code or 0)

    assert status("--fail-on", "regression") == 1
    assert status("--fail-on", "regression", "--least", "10%") == 0
    assert status("--fail-on", "regression", "barrier") == 0
    assert status("--fail-on", "regression", "--since", "2025-08-20") == 0
    assert status() == 0
    capsys.readouterr()
    assert status("--least", "big") == 2
    assert status("--since", "yesterday") == 2
    assert "Write a date such as" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["history", "--runs", str(tmp_path / "none")])
    assert end.value.code == 2


def test_json_on_stdout(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(runs=root, json=True) == 0
    read = msgspec.json.decode(capsys.readouterr().out.encode(), type=History)
    assert len(read.cells) == 3
    assert read.cells[0].stretches[0].first == 0


def test_exports(root: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert command(runs=root, format_="openmetrics") == 0
    families = parse(capsysbinary.readouterr().out.decode())
    rates = families["assay_result_bytes_per_second"].samples
    assert len(rates) == NIGHTS
    assert len({labels for labels, *_ in families["assay_result_seconds"].samples}) == 2
    states = [dict(s[0])["assay_state"] for s in families["assay_state"].samples if s[1] == 1.0]
    assert sorted(states) == ["regression", "short", "steady"]
    assert command(runs=root, format_="csv", output=tmp_path / "deep" / "h.csv") == 0
    lines = (tmp_path / "deep" / "h.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * NIGHTS + 1
    assert sum('"step"' in line for line in lines) == 1


def test_an_empty_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert command(runs=tmp_path / "runs") == 0
    assert "No history" in capsys.readouterr().out
    assert command(runs=tmp_path / "runs", html=True) == 0
    assert (tmp_path / "history.html").exists()


# ---- the report -------------------------------------------------------------------------------


def test_the_report_has_calendar_trends_and_changes(found: History) -> None:
    report = build_subject(SUBJECT, found)
    (section,) = report.sections
    ids = [figure.id for figure in section.figures]
    # The overview of a single cell with a change would be one point.
    assert ids == ["history-calendar", "history-0-memory-stream"]
    assert section.advice and "kernel 6.1.0 → 6.1.12" in section.advice[0]
    (table,) = section.tables
    assert len(table.rows) == 1
    assert len(report.cell_table.rows) == 3
    for figure in section.figures:
        names = {field.name for field in figure.fields}
        drawn = {"better", "better_low", "better_high", "week", "weekday"}
        assert all(set(row) <= names | drawn for row in figure.rows)


def test_the_findings_are_in_the_reports_json_without_the_points(found: History) -> None:
    (section,) = build_subject(SUBJECT, found).sections
    findings = json.loads(msgspec.json.encode(section.findings))
    assert findings["runs"] == NIGHTS + 1
    cell = next(c for c in findings["cells"] if c["label"].startswith("memory.stream"))
    assert cell["against"] == pytest.approx(1 / 1.05 - 1, abs=0.006)
    assert cell["cell"] == cell["id"]
    assert "points" not in cell
    assert cell["events"][0]["differences"][0]["path"] == "os.kernel"
    assert section.advice == answer(found).advice


def test_days_are_what_brute_force_gives(found: History) -> None:
    last = found.days[-1]
    off = {}
    for cell in found.cells:
        sign = -1.0 if cell.better == "more" else 1.0
        for utc, value in zip(cell.points.utc, cell.points.value, strict=True):
            if last.utc <= utc < last.utc + DAY:
                off[cell.label] = sign * (value / (cell.reference or cell.level) - 1.0)
    assert len(found.days) == NIGHTS
    assert len(off) == last.cells == 2
    assert last.deviation == pytest.approx(np.median(list(off.values())))
    assert last.worst == pytest.approx(max(off.values()))
    assert last.worst_cell == max(off, key=lambda label: off[label])
    assert last.worst_cell.startswith("memory.stream")


def test_the_calendar_has_a_square_a_day_and_its_deviation(found: History) -> None:
    figure = calendar(found)
    assert figure is not None
    assert len(figure.rows) == NIGHTS
    assert {row["runs"] for row in figure.rows} == {1, 2}
    late = [float(row["deviation"]) for row in figure.rows[STEP:]]  # type: ignore[arg-type]
    # The median of one cell 5% worse and one unchanged.
    assert np.mean(late) == pytest.approx(0.024, abs=0.006)


def test_trends_of_thousands_of_runs_stay_readable(found: History) -> None:
    drawn = np.random.default_rng(3)
    cell = next(c for c in found.cells if c.cell.kernel == "memory.stream")
    n = 10_000
    points = dataclasses.replace(
        cell.points,
        run=[f"r{i}" for i in range(n)],
        utc=[BEGIN + 3600.0 * i for i in range(n)],
        value=list(1e10 * (1 + 0.01 * drawn.standard_normal(n))),
        measurements=[1] * n,
    )
    stretch = dataclasses.replace(cell.stretches[0], first=0, last=n - 1)
    figure = trend(
        dataclasses.replace(cell, points=points, events=[], stretches=[stretch]), 0, False
    )
    assert figure is not None
    assert len(figure.rows) == MAX_DOTS + 1
    dots = [row for row in figure.rows if row["kind"] == "runs"]
    assert sum(int(row["runs"] or 0) for row in dots) == n
    assert all(row["low"] < row["value"] < row["high"] for row in dots)  # type: ignore[operator]


def test_every_figure_can_be_drawn(found: History) -> None:
    from assay.charts.drawing import svg

    for figure in figures(found):
        assert "<svg" in svg(figure)


def test_sparklines() -> None:
    assert sparkline([], 10) == ""
    assert sparkline([1.0, 2.0, 3.0], 10) == "▁▅█"
    assert sparkline([5.0] * 4, 10) in ("▄▄▄▄", "▅▅▅▅")
    assert sparkline([1.0, 1.001, 1.0], 10) in ("▄▅▄", "▅▅▅")
    assert len(sparkline(list(range(1, 1000)), 20)) == 20
    assert sparkline([1.0, 9.0], 5, plain=True) == ".@"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1200), pytest.param(True, 400, marks=pytest.mark.long)]
)
def test_a_browser_draws_every_figure_and_complains_of_nothing(
    browser: Browser, found: History, tmp_path: Path, dark: bool, width: int
) -> None:
    (path,) = write_report(build_subject(SUBJECT, found), tmp_path)
    seen = look(browser, path, dark=dark, width=width)
    assert seen["errors"] == []
    assert not seen["overflow"]
    figures = seen["figures"]
    assert list(figures) == ["history-calendar", "history-0-memory-stream"]
    assert all(figure["live"] and figure["wide"] for figure in figures.values())
    assert figures["history-calendar"]["marks"] >= NIGHTS
    assert figures["history-0-memory-stream"]["marks"] >= NIGHTS


def _regressed(rows: np.ndarray) -> list[str]:
    """The states of cells with these nightly times, one cell per row."""
    return [cell.state for cell in _judged(rows).cells]


def _judged(rows: np.ndarray, least: float = 0.01) -> History:
    series = [
        HistorySeries(
            system="planted", cell=Cell("npb.ft", {"n": number}, Placement(), "planted"),
            metric="time", unit="s", better="less", runs=tuple(map(str, range(row.size))),
            utc=DAY * np.arange(row.size), values=row, scatter=np.full(row.size, np.nan),
            counts=np.ones(row.size, dtype=np.int64), hosts=("n1",) * row.size,
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return history_of(series, Machines([]), SkippedRuns(), least=least)


@pytest.mark.parametrize("seed", [85, 178])
def test_a_slow_mode_is_no_regression(seed: int) -> None:
    """Flat series in which 30% of the runs are 3% slower: by values clipped around each stretch's
    own median these were regressions.
    """
    drawn = np.random.default_rng(seed)
    values = 1.0 + 0.005 * drawn.standard_normal(90) + 0.03 * (drawn.random(90) < 0.3)
    assert _regressed(values[None, :]) == ["steady"]


def test_a_true_regression_is_reported_among_nineteen_steady_cells() -> None:
    rows = 1.0 + 0.01 * np.random.default_rng(5).standard_normal((20, 60))
    rows[7, -8:] *= 1.04
    assert _regressed(rows) == ["regression" if n == 7 else "steady" for n in range(20)]


def test_results_over_a_factor_of_thirty_are_not_steady() -> None:
    """Two cells with runs between 1.0 and 31.6 Gflop/s without order."""
    drawn = np.random.default_rng(2)
    found = _judged(1e9 * 10.0 ** (1.5 * drawn.random((2, 24))))
    assert [cell.state for cell in found.cells] == ["variable", "variable"]
    assert re.fullmatch(
        r"Too variable to tell: only (a change above|changes above) a factor .* be detected.*\.",
        found.verdict,
    )
    assert not any("steady" in state_text(cell) for cell in found.cells)
    assert all(cell.detectable is None or cell.detectable > 2.0 for cell in found.cells)
    screen = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    print_history(found, screen)
    assert screen.export_text().count("Too variable to tell: only a change above a factor of") == 2
    captions = [figure.caption for figure in figures(found)]
    assert any("Too variable to tell: only" in caption for caption in captions)
    read = msgspec.json.decode(msgspec.json.encode(found), type=History)
    assert [cell.state for cell in read.cells] == ["variable", "variable"]


def test_a_quiet_cell_beside_a_variable_one_is_steady() -> None:
    drawn = np.random.default_rng(3)
    rows = np.stack([1.0 + 0.01 * drawn.standard_normal(60), np.exp(drawn.standard_normal(60))])
    found = _judged(rows)
    assert [cell.state for cell in found.cells] == ["steady", "variable"]
    quiet, wild = (cell.detectable for cell in found.cells)
    assert quiet is not None and 0.01 < quiet < 0.03
    assert wild is not None and wild > 1.0
    assert found.verdict.startswith(
        f"1 steady; 1 too variable to tell: only a change above a factor of {1 + wild:.2g} would"
    )
    # Changes below --least don't count, so a cell that shows greater ones is steady.
    assert _judged(rows[1:], least=3.0 * wild).cells[0].state == "steady"


def test_the_verdict_of_steady_cells_says_what_would_show() -> None:
    rows = 1.0 + 0.01 * np.random.default_rng(4).standard_normal((2, 60))
    found = _judged(rows)
    most = max(cell.detectable or 0.0 for cell in found.cells)
    assert found.verdict == (
        "Steady: none of 2 cells has regressed or improved; "
        f"a change above {100 * most:.2g}% would be detected."
    )


def test_so_few_runs_that_no_change_would_show_are_too_few() -> None:
    rows = 1.0 + 0.01 * np.random.default_rng(5).standard_normal((2, 10))
    found = _judged(rows)
    assert [cell.state for cell in found.cells] == ["short", "short"]
    assert found.verdict == "Too few runs: a history of 2 cells needs 12 runs each."


@pytest.mark.parametrize("cov", [0.01, 0.3])
def test_a_change_of_the_detectable_size_is_reported(cov: float) -> None:
    """Steps of twice the stated size (in logarithms) in other runs; 0.4 of it is not enough."""
    drawn = np.random.default_rng(6)
    quiet = np.exp(cov * drawn.standard_normal((2, 60)))
    stated = _judged(quiet[:1]).cells[0].detectable
    assert stated is not None
    found = []
    for part in (2.0, 0.4):
        row = quiet[1].copy()
        row[30:] *= (1.0 + stated) ** part
        found.append(_judged(row[None, :]).cells[0].state)
    assert found[0] == "regression" and found[1] != "regression"
