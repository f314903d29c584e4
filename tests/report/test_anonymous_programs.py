"""No private name is in the output of `assay profile`, `assay design` and of expectations."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from assay.cli.measuring.profile import profile
from assay.cli.planning.design import design
from assay.cli.results.report import report
from assay.console import console
from assay.report.anonymous.profile import RecordedProgram, program_without_names
from assay.report.destination import Destination
from assay.report.profile.write import build_profile, present
from assay.subjects.profile.findings import find
from assay.subjects.profile.traced.findings import find_trace
from assay.trace.exports import NAMES, parse_target, write_export
from assay.trace.matching import match
from assay.trace.model import ProfiledRun, SourcePlace
from assay.trace.reading import read_profile
from design_specs import PARTS, SPEC, TENDER_PARTS
from named_runs import HOME, HOSTS, leaks, shown, store_named
from profiles import call, header, sent, write_profile
from traces_to_export import varied

COMMAND = ["mpirun", "--host", "zqhost7,zqhost8", f"{HOME}/app", "-i", "/scratch/zquser/in.nml"]
IMAGE = "/home/zquser/zqcode/app"
RUN = ProfiledRun(
    1, "0.1.0", COMMAND, HOME, 1e9, 11.0, 0, "MPICH 5", f"{HOME}/libassay.so",
    [SourcePlace(IMAGE, 100, "exchange", "/home/zquser/zqcode/app.c", 7)],
)  # fmt: skip
FORMS = ["terminal", "markdown", "json", pytest.param("html", marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ranks = {
        str(rank): [
            header(rank, host=host),
            call("Send", 1.0, calls=4, payload=4000, peer=1 - rank, image=IMAGE),
            call("Allreduce", 3.0, calls=2, payload=16, image=IMAGE, offset=200),
            sent(1 - rank, 4, 4000),
        ]
        for rank, host in enumerate(HOSTS[:2])
    }
    return write_profile(tmp_path_factory.mktemp("profile"), ranks, RUN)


def files_below(folder: Path) -> str:
    """Their texts; what is encoded in base64 is decoded, as it may have any letters."""
    texts = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        text = path.read_bytes().decode(errors="replace")
        inner = re.findall(BASE64, text)
        texts += [
            re.sub(BASE64, "", text),
            *(base64.b64decode(one).decode("latin-1") for one in inner),
        ]
    return "\n".join(texts)


BASE64 = r"(?:[A-Za-z0-9+/]{4}){10,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"


@pytest.mark.parametrize("form", FORMS)
def test_no_name_is_in_a_profile(form, kept, tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    profile(read=kept, format_=form, verbose=True, anonymize=True)
    text = shown(capsysbinary.readouterr()[0]) + files_below(tmp_path)
    assert leaks(text) == []
    assert "app.c:7" in text and "host-" in text
    assert (form == "terminal") != bool(list(tmp_path.glob("profile-anonymous.*")))


def test_no_name_is_in_printed_findings_and_names_are_there_without_it(kept, capsysbinary):
    profile(read=kept, json=True, anonymize=True)
    found = json.loads(capsysbinary.readouterr()[0])
    assert leaks(json.dumps(found)) == []
    assert found["command"][:3] == ["mpirun", "--host", "host-[1-2]"]
    assert [rank["host"] for rank in found["ranks"]] == ["host-1", "host-2"]
    profile(read=kept, json=True)
    plain = json.loads(capsysbinary.readouterr()[0])
    assert leaks(json.dumps(plain)) != []
    # Names alone have changed.
    assert [rank["bytes"] for rank in plain["ranks"]] == [rank["bytes"] for rank in found["ranks"]]


def test_no_name_is_in_a_trace_its_timeline_and_its_exports(kept, tmp_path):
    plain = varied()
    named = replace(
        plain,
        run=RUN,
        ranks=tuple(replace(r, host=HOSTS[r.rank % 3]) for r in plain.ranks),
        sites=tuple(
            msgspec.structs.replace(s, file=f"/home/zquser/{s.function}.c", image=IMAGE)
            for s in plain.sites
        ),
    )
    profile = read_profile(kept)
    hidden = program_without_names(RecordedProgram(profile.run, profile, match(named)))
    recorded, trace = hidden.profile, hidden.trace
    assert trace is not None
    hosts = [rank.host for rank in trace.trace.ranks]
    assert hosts == [f"host-{1 + rank.rank % 3}" for rank in plain.ranks]
    page = tmp_path / "page" / "p.html"
    assert recorded is not None
    report = build_profile(find(recorded), find_trace(trace))
    present(report, console(stderr=True), Destination("markdown", page), trace)
    assert (tmp_path / "page" / "p-timeline.html").exists()
    for form in NAMES:
        export, path = parse_target(f"{form}:{tmp_path / form}")
        try:
            write_export(trace.trace, export, path)
        except Exception as error:  # a library that is not installed
            if "install" not in str(error):
                raise
    assert leaks(files_below(tmp_path)) == []
    # A killed program leaves a trace alone.
    hidden = program_without_names(RecordedProgram(named.run, trace=match(named)))
    nothing, alone = hidden.profile, hidden.trace
    assert nothing is None
    assert alone is not None
    assert leaks(str(alone.trace.run) + str(alone.trace.sites)) == []


@pytest.mark.parametrize("form", FORMS)
def test_no_name_is_in_a_design(form, tmp_path, monkeypatch, capsysbinary):
    folder = tmp_path / "zquser" / "zqfolder"
    folder.mkdir(parents=True)
    source = "assay run 20260315T083012Z-zqsite-quick"
    parts = PARTS.replace("[room]", TENDER_PARTS + "[room]").replace("a test", source)
    (folder / "zqparts.toml").write_text("expires = 2026-03-20\n" + parts)
    spec = "date = 2026-03-15\n" + SPEC.replace("parts.toml", "zqparts.toml")
    spec += '[choose]\nnodes = ["small", "large"]\nmemory = []\n'
    (folder / "zqlog.json").write_text('{"sizes": [], "run": {}, "utilisation": {"value": 0.5}}')
    costs = '[costs]\nyears = 5\nenergy = 0.2\npue = 1.4\naccounts = "zqlog.json"\n'
    (folder / "zqcluster.toml").write_text(spec + costs)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    spec = folder / "zqcluster.toml"
    design(spec, format_=form, verbose=True, anonymize=True)
    text = shown(capsysbinary.readouterr()[0]) + files_below(tmp_path / "out")
    assert leaks(text) == []
    assert "file-" in text
    design(spec, json=True)
    assert len(leaks(shown(capsysbinary.readouterr()[0]))) > 5
    design(spec, json=True, anonymize=True)
    found = json.loads(capsysbinary.readouterr()[0])
    assert leaks(json.dumps(found)) == []
    assert "20260315T083012Z-system-1-quick" in json.dumps(found)


def test_no_name_is_in_expectations(tmp_path, capsysbinary):
    runs = tmp_path / "runs"
    run = store_named(runs).name
    (tmp_path / "assay.toml").write_text(
        "[[expect]]\ncells = 'storage.file directory=/scratch/zquser/zqfast'\nvalue = '1 TB/s'\n"
        "[[expect]]\ncells = 'storage.file directory=/scratch/zq*/slow?'\nvalue = '1 TB/s'\n"
        "[[expect]]\ncells = 'network.barrier'\nvalue = '1 s'\n"
    )
    junit = tmp_path / "out.xml"
    status = report(
        run, runs=runs, format_="terminal", config=tmp_path / "assay.toml", junit=junit,
        fail_on="expectation", anonymize=True,
    )  # fmt: skip
    assert status == 1
    screen = "".join(shown(part) for part in capsysbinary.readouterr())
    page = junit.read_text()
    assert "3 expectations" in screen
    assert leaks(screen) == [] and leaks(page) == []
    cases = [case.get("name", "") for case in ElementTree.fromstring(page).iter("testcase")]
    assert len(cases) == 3 and "slow" not in " ".join(cases) and "/path-" in " ".join(cases)
