from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from assay.cli.results.report import report
from assay.errors import AssayError
from assay.records.creation import create_run
from assay.report.earlier_runs import read_history
from records_builder import make_cell, make_launch, make_plan, make_record, make_stream
from report_builder import SYSTEM, make_run


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs: an older one, and a newer one whose barrier takes 2 µs."""
    monkeypatch.chdir(tmp_path)
    for seconds in (1e-6, 2e-6):
        store(tmp_path / "runs", seconds)
    return tmp_path / "runs"


def store(root, seconds, host="box"):
    cell = make_cell()
    system = msgspec.structs.replace(SYSTEM, os=msgspec.structs.replace(SYSTEM.os, hostname=host))
    run = create_run(
        root,
        plan=make_plan([cell]),
        system_name=host,
        system=system.to_dict(),
        toolchains={"fake": {}},
        command=["assay", "run"],
    )
    for replicate in range(1, 8):
        name = run.new_launch()
        stream = make_stream(name, [make_record(cell, replicate, [seconds] * 20)])
        (run.raw / f"{name}.jsonl").write_bytes(stream)
        run.append_launch(make_launch(name))
    return run


def test_the_newest_run_is_reported_on_and_written_into_it(runs, capsys):
    report(verbose=True)
    printed = capsys.readouterr().out
    newest = sorted(runs.iterdir())[-1]
    page = (newest / "report.html").read_text(encoding="utf-8")
    # Equal values: the interval is a step of the clock wide.
    assert "2.000 µs [1.999, 2.001]" in printed
    assert "2.000 µs [1.999, 2.001]" in page
    assert "report.html" in printed
    assert "incomplete" in printed


def test_a_named_run_in_another_format_at_another_place(runs, tmp_path, capsys):
    oldest = sorted(runs.iterdir())[0]
    report(str(oldest), format_="markdown", output=tmp_path / "x.md")
    assert "1.00 µs" in (tmp_path / "x.md").read_text(encoding="utf-8")
    assert not (oldest / "report.html").exists()


def test_json_is_one_document_on_stdout_and_no_file(runs, capsys):
    report(json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["cells"][0]["metrics"]["time"]["median"] == 2e-6
    assert not list(runs.glob("*/report.html"))


def test_terminal_writes_nothing(runs, capsys):
    report(format_="terminal", verbose=True)
    assert "Barrier" in capsys.readouterr().out
    assert not list(runs.glob("*/report.*"))


def test_no_run_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssayError, match="no run"):
        report()


def test_history_is_of_the_same_machine_without_the_run_itself(runs):
    store(runs, 3e-6, host="elsewhere")
    (runs / "20990101T000000Z-box-broken").mkdir()
    (runs / "20990101T000000Z-box-broken" / "manifest.json").write_text("{")
    names = sorted(path.name for path in runs.iterdir())
    newest = next(n for n in reversed(names) if "elsewhere" not in n and "broken" not in n)
    from assay.records.reading import read_run

    found = read_history(read_run(runs / newest))
    assert [run.manifest.run for run in found] == [names[0]]
    assert read_history(replace(make_run([]), path=None)) == []
