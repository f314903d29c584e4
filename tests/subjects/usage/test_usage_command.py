"""`assay usage`: terminal, JSON, HTML, Markdown, errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.cli.app import main
from assay.report.markdown import to_markdown
from assay.report.subject import build_subject
from assay.subjects.usage.figures import figures
from assay.subjects.usage.findings import find
from assay.subjects.usage.subject import SUBJECT
from assay.subjects.usage.tables import tables
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.query import UsageQuery
from browser import Browser, look
from named_runs import leaks, shown
from usage_logs import PBS, SAMPLES, SLURM, SWF, WITHOUT_JOBS, read_text, swf_of

EXCERPT = Path(__file__).parents[2] / "data" / "usage" / "seth-2002-excerpt.swf"
LONG = pytest.mark.long
JOBS = [(n, 700 * n, 40 * (n % 7), 300 * (n % 9), 1 + n % 8) for n in range(1, 900)]


def run(*words: str | Path) -> int:
    """The status of a command."""
    with pytest.raises(SystemExit) as left:
        main(["usage", *map(str, words)])
    return int(left.value.code or 0)


def test_the_terminal_says_what_the_log_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXCERPT, "--verbose") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "can't tell whether utilisation was above" in out
    assert "527,371 records, but the log has 64" in out
    assert "Processor time down not recorded" in out


def test_json_has_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(PBS)
    assert run(tmp_path / "log", "--json", "--processors", 64, "--zone", "Asia/Tokyo") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1
    assert found["capacity"]["processors"] == 64
    assert found["period"]["zone"] == "Asia/Tokyo"
    assert [part["name"] for part in found["users"]] == ["user 1", "user 2", "unknown"]
    assert found["problems"][0] == {
        "kind": "malformed",
        "meaning": "not a record of the format: left out",
        "count": 1,
        "places": ["line 9"],
    }


def test_the_report_as_markdown_and_json(tmp_path: Path) -> None:
    found = find(read_text(tmp_path, swf_of(JOBS, processors=16, users=9)), UsageQuery())
    text = to_markdown(build_subject(SUBJECT, found), "figures")
    assert text.startswith("# Use of the machine")
    for title in ("Utilisation by hour of the week", "Summary", "Weeks", "Days"):
        assert f"# {title}\n" in text
    (tmp_path / "a").mkdir()
    assert run(tmp_path / "log0", "-o", tmp_path / "a" / "a.json") == 0
    report = json.loads((tmp_path / "a" / "a.json").read_text())
    assert report["sections"][0]["id"] == "usage"
    assert report["sections"][0]["findings"]["jobs"] == len(JOBS)


@pytest.mark.long
def test_reports_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text(swf_of(JOBS, processors=16, users=9))
    assert run(log, "-o", tmp_path / "a.md") == 0
    text = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert text.startswith("# Use of the machine")
    assert (tmp_path / "a-figures" / "usage-week.svg").read_text().startswith("<svg")
    assert "report: " in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - WITHOUT_JOBS))
def test_every_format_has_a_report(tmp_path: Path, name: str) -> None:
    found = find(read_text(tmp_path, SAMPLES[name]), UsageQuery())
    report = build_subject(SUBJECT, found)
    assert report.sections[0].verdict
    for parts in (tables(found), figures(found)):
        ids = [part.id for part in parts]
        assert len(set(ids)) == len(ids)
    for figure in figures(found):
        assert {field.name for field in figure.fields} == set(figure.rows[0])


@pytest.mark.parametrize(
    "form",
    ["terminal", "findings", "json", *(pytest.param(f, marks=LONG) for f in ("markdown", "html"))],
)
@pytest.mark.parametrize("name", sorted(set(SAMPLES) - WITHOUT_JOBS))
def test_no_name_of_a_log_is_in_its_report(
    tmp_path: Path, name: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"ann": "zqann", "phys": "zqphys", "proj": "zqproj", "/home": "/zqhome"}
    text = SAMPLES[name]
    for plain, private in names.items():
        text = re.sub(rf"{re.escape(plain)}\b", private, text)
    log = tmp_path / "zqfolder" / "zqlog"
    log.parent.mkdir()
    log.write_text(text)
    words = {"terminal": [], "findings": ["--json"]}.get(
        form, ["--format", form, "--output", str(tmp_path / "usage")]
    )
    assert run(log, *words, "--processors", "64") == 0
    shown_text = capsys.readouterr().out
    written = [path for path in tmp_path.iterdir() if path.is_file()]
    assert bool(written) == (form in ("markdown", "json", "html"))
    for path in written:
        shown_text = shown(path.read_bytes())
    assert leaks(shown_text) == []
    if form == "findings" and name == "slurm":
        assert run(log, *words, "--processors", "64", "--identify") == 0
        assert leaks(capsys.readouterr().out) != []


def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log").write_text(SWF)
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "slurm").write_text(SLURM)
    for words, said in (
        ((), "A log is missing"),
        ((tmp_path / "text",), "no accounting format"),
        ((tmp_path / "log", "--processors", "0"), "--processors"),
        ((tmp_path / "log", "--queue", "absent"), "None of the 5 jobs matches"),
        ((tmp_path / "log", "--since", "soon"), "neither a date"),
        ((tmp_path / "log", "--zone", "Here"), "not a time zone"),
        ((tmp_path / "slurm", "--zone", "Asia/Tokyo"), "already local times"),
    ):
        assert run(*words) == 2
        assert said in capsys.readouterr().err


def test_several_files_and_a_filter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = PBS.splitlines(keepends=True)
    for number, part in enumerate((lines[:2], lines[2:])):
        (tmp_path / f"2024070{number}").write_text("".join(part))
    assert run(tmp_path / "20240700", tmp_path / "20240701", "--user", "ann", "--identify") == 0
    out = capsys.readouterr().out
    assert "1 job (user ann) of 2 files" in " ".join(out.split())


@pytest.mark.slow
def test_a_browser_draws_the_report(browser: Browser, tmp_path: Path) -> None:
    from assay.report import write_report

    log = tmp_path / "log"
    log.write_text(swf_of(JOBS, processors=16, users=9))
    found = find(read_accounts([log]), UsageQuery())
    (path,) = write_report(build_subject(SUBJECT, found), tmp_path / "report.html", ["html"])
    seen = look(browser, path, dark=False)
    assert seen["errors"] == []
    assert sorted(seen["figures"]) == [
        "usage-course", "usage-hours", "usage-lengths", "usage-requests", "usage-sizes",
        "usage-times",
        "usage-week",
    ]  # fmt: skip
    for name, figure in seen["figures"].items():
        assert figure["live"], name
        assert figure["wide"], name
        assert figure["cut"] == [], name
        assert figure["marks"] > 0, name
    assert not seen["overflow"]
