"""No private name is in any output with --anonymize, and equal names stay equal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from assay.cli.results.compare import compare
from assay.cli.results.export import export
from assay.cli.results.history import history
from assay.cli.results.report import report
from assay.importers.importing import import_files
from assay.questions.common.tables import Entry, Table, TableBuilder
from assay.records.reading import read_run
from assay.records.store import RunFilter
from assay.report.anonymous.collect import names_of
from assay.report.anonymous.history import history_without_names
from assay.report.anonymous.names import FoundNames, Names
from assay.report.anonymous.runs import replaced, without_names
from assay.subjects.history.findings import find
from assay.subjects.history.query import HistoryQuery
from fleet_builder import make_group
from history_builder import BEGIN, DAY, TOOLCHAIN, file_run, system_with, triad
from importing_probe import output
from named_runs import FILE, NUMBERS, leaks, shown, store_named


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("zqruns") / "zq folder" / "runs"
    store_named(root)
    store_named(root)
    return root


def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> str:
    out, error = capsysbinary.readouterr()
    return shown(out) + shown(error)


@pytest.mark.parametrize("form", [pytest.param("html", marks=pytest.mark.long), "markdown", "json"])
def test_no_name_is_in_a_report(form, runs, tmp_path, capsysbinary):
    name = min(path.name for path in runs.iterdir())
    report(name, runs=runs, format_=form, output=tmp_path / "shared", anonymize=True)
    screen = printed(capsysbinary)
    # The last line names the file that was written.
    assert leaks(screen.rpartition("\nreport: ")[0]) == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    text = "\n".join(shown(path.read_bytes()) for path in files)
    assert leaks(text) == []
    for alias in ("host-1", "host-3", "/path-", "user-", "system-1", "account-1", "address-1"):
        assert alias in text, alias


def test_no_name_is_on_the_terminal_or_in_printed_json(runs, capsysbinary):
    report(runs=runs, format_="terminal", anonymize=True)
    screen = printed(capsysbinary)
    assert "host-1" in screen
    assert leaks(screen) == []
    report(runs=runs, json=True, anonymize=True)
    text = printed(capsysbinary)
    json.loads(text)
    assert leaks(text) == []


@pytest.mark.parametrize(
    "form", ["csv", "json", "openmetrics", "reframe", "reframe-perflog", "ramble"]
)
@pytest.mark.parametrize("samples", [False, True])
def test_no_name_is_in_an_export(form, samples, runs, capsysbinary):
    if samples and form not in ("csv", "json"):
        pytest.skip("no samples in this format")
    names = sorted(path.name for path in runs.iterdir())
    export(*names, runs=runs, format_=form, samples=samples, anonymize=True)
    text = printed(capsysbinary)
    assert leaks(text) == []
    assert "system-1" in text
    assert "storage.file" in text


@pytest.mark.parametrize("samples", [False, True])
def test_no_name_is_in_a_table(samples, runs, tmp_path):
    out = tmp_path / "t.parquet"
    export(runs=runs, format_="parquet", samples=samples, anonymize=True, out=out)
    table = pl.read_parquet(out)
    assert table.height > 0
    assert leaks(table.write_csv()) == []


COMPARED = {
    "markdown": {"format_": "markdown"},
    "json": {"format_": "json"},
    "terminal": {"format_": "terminal"},
    "all": {"format_": "terminal", "verbose": True},
    "findings": {"json": True},
    "html": {"format_": "html"},
}


@pytest.mark.parametrize("sides", ["runs", "nodes"])
@pytest.mark.parametrize(
    "form",
    [pytest.param(f, marks=pytest.mark.long) if f == "html" else f for f in COMPARED],
)
def test_no_name_is_in_a_comparison(form, sides, runs, tmp_path, capsysbinary):
    one, other = sorted(path.name for path in runs.iterdir())
    part = ":nodes=zqhost[7-8]" if sides == "nodes" else ""
    compare(
        one + part,
        other + part,
        runs=runs,
        output=tmp_path / "shared" if form in ("markdown", "json", "html") else None,
        anonymize=True,
        **COMPARED[form],
    )
    screen = printed(capsysbinary)
    # The last line names the file that was written.
    text = re.sub(r"\n?report: [^!]*$", "", screen)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert bool(files) == (form in ("markdown", "json", "html"))
    text = "\n".join([text, *(shown(path.read_bytes()) for path in files)])
    assert leaks(text) == []
    assert "system-1" in text
    if sides == "nodes":
        assert re.search(r"host-(?:1|\\?\[1-2)", text)


def test_a_comparison_without_the_option_has_the_names(runs, capsysbinary):
    compare(*sorted(path.name for path in runs.iterdir()), runs=runs)
    assert leaks(printed(capsysbinary)) != []


@pytest.mark.long
def test_without_the_option_the_names_are_there(runs, tmp_path, capsysbinary):
    report(runs=runs, format_="markdown", output=tmp_path / "plain.md")
    page = shown((tmp_path / "plain.md").read_bytes())
    for name in ("zqhost", "zquser", "zqsite", "zqaccount", NUMBERS[0]):
        assert name in page, name
    export(runs=runs, format_="json")
    text = printed(capsysbinary)
    assert "zqhost" in text
    assert "zqfast" in text


def test_the_numbers_of_a_report_stay(runs, capsysbinary):
    found = []
    for anonymous in (False, True):
        report(runs=runs, json=True, anonymize=anonymous)
        found.append(json.loads(capsysbinary.readouterr().out))
    plain, changed = found
    for before, after in zip(plain["cells"], changed["cells"], strict=True):
        assert before["metrics"] == after["metrics"]
        assert before["kernel"] == after["kernel"]
        assert before["status"] == after["status"]
    assert [s["id"] for s in plain["sections"]] == [s["id"] for s in changed["sections"]]


def test_equal_names_are_equal_in_all_outputs_of_a_run(runs, capsysbinary):
    """Report and export agree, and hosts are numbered in natural order: 7, 8, 12."""
    name = min(path.name for path in runs.iterdir())
    report(name, runs=runs, json=True, anonymize=True)
    model = json.loads(capsysbinary.readouterr().out)
    export(name, runs=runs, format_="json", anonymize=True)
    rows = json.loads(capsysbinary.readouterr().out)["results"]
    hosts = {cell["id"]: cell["hosts"] for cell in model["cells"]}
    assert hosts == {row["cell"]: row["hosts"] for row in rows}
    assert ["host-1", "host-2"] in [sorted(each) for each in hosts.values()]
    assert model["run"] == rows[0]["run"]
    (nodes,) = (table for table in model["provenance"] if table["id"] == "nodes")
    assert [row[0]["text"] for row in nodes["rows"]] == ["host-1", "host-2", "host-3"]
    assert "host-3 has 3 cores" in nodes["notes"][0]


def test_the_order_of_the_runs_does_not_matter(tmp_path, capsysbinary):
    runs = tmp_path / "runs"
    first = store_named(runs).name
    second = store_named(runs, "zqother", ("zqhost1", "zqhost8", "zqhost30")).name
    found = []
    for names in ((first, second), (second, first)):
        export(*names, runs=runs, format_="json", anonymize=True)
        rows = json.loads(capsysbinary.readouterr().out)["results"]
        found.append(sorted(json.dumps(row, sort_keys=True) for row in rows))
    assert found[0] == found[1]


def test_two_systems_stay_two(tmp_path, capsysbinary):
    names = [
        store_named(tmp_path / "runs", system).name for system in ("zqnorth", "zqsouth", "zqnorth")
    ]
    export(*names, runs=tmp_path / "runs", format_="json", anonymize=True)
    rows = json.loads(capsysbinary.readouterr().out)["results"]
    found = {(row["run"], row["system"]) for row in rows}
    assert sorted(system for _, system in found) == ["system-1", "system-1", "system-2"]
    assert all(f"-{system}-test" in run for run, system in found)


def test_a_suite_that_is_called_like_its_system(tmp_path, capsysbinary):
    run = store_named(tmp_path / "runs", suite="zqsite-nodes")
    assert "-zqsite-zqsite_nodes" in run.name
    export(runs=tmp_path / "runs", format_="json", anonymize=True)
    row = json.loads(capsysbinary.readouterr().out)["results"][0]
    assert (row["system"], row["suite"]) == ("system-1", "system-1-nodes")
    assert leaks(json.dumps(row)) == []


def test_the_id_of_a_cell_with_a_path_changes_with_it(runs):
    """Otherwise a digest of the path would stay, which can be found by guessing."""
    data = read_run(min(runs.iterdir()))
    names = Names()
    names.add(names_of(data))
    changed = without_names(data, names)
    assert FILE.id not in {cell.id for cell in changed.manifest.plan.cells}
    assert len(changed.measurements) == len(data.measurements)
    for measurement in changed.measurements:
        assert measurement.record.measurement.startswith(measurement.cell.id)


@pytest.mark.long
def test_no_name_is_in_the_report_or_the_export_of_a_group(tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    cost = {"zqnode1": 1e-3, "zqnode2": 1e-3, "zqnode3": 2e-3}
    for day in (0.0, 1.0):
        group = make_group(
            tmp_path, list(cost), lambda host, cell, launch: cost[host], day=day, launches=6
        )
    report(str(group.path), json=True, anonymize=True)
    text = printed(capsysbinary)
    assert leaks(text) == []
    assert "host-3" in text
    report(str(group.path), format_="terminal", anonymize=True)
    export(str(group.path), anonymize=True)
    text = printed(capsysbinary)
    assert leaks(text) == []
    assert "host-3" in text


@pytest.mark.long
def test_racks_of_a_group_have_other_names(tmp_path, monkeypatch, capsysbinary):
    """A slow rack is named in the verdict, and its name is part of its hosts' names."""
    monkeypatch.chdir(tmp_path)
    hosts = [f"zqr{rack:02d}n{node:02d}" for rack in range(1, 7) for node in range(1, 6)]
    rng = np.random.default_rng(1)

    def cost(host: str, cell: object, launch: int) -> float:
        return 1e-3 * (1.05 if host.startswith("zqr03") else 1.0) * float(rng.normal(1.0, 0.001))

    group = make_group(tmp_path, hosts, cost, launches=6)
    report(str(group.path), json=True)
    assert "zqr03 (5 nodes" in printed(capsysbinary)
    report(str(group.path), json=True, anonymize=True)
    text = printed(capsysbinary)
    assert leaks(text) == []
    assert "group-3 (5 nodes" in text


def test_no_name_is_in_the_report_or_the_export_of_an_import(tmp_path, capsysbinary):
    source = tmp_path / "zqresults" / "zqfile.out"
    source.parent.mkdir()
    source.write_text(output("osu-7.out"))
    run = import_files([str(source)], tmp_path / "runs", system="zqsite", command=["assay"])
    for form in ("markdown", "json"):
        report(str(run.path), format_=form, output=tmp_path / "shared" / "x", anonymize=True)
    export(str(run.path), anonymize=True)
    export(str(run.path), format_="json", samples=True, anonymize=True)
    screen = printed(capsysbinary)
    text = "".join(shown(path.read_bytes()) for path in (tmp_path / "shared").iterdir())
    assert leaks(re.sub(r"\nreport: .*", "", screen.replace("shared\n", "")) + text) == []
    assert "file-1" in text


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slower cell since the host, a path and the owner's settings changed."""
    root = tmp_path_factory.mktemp("zqmonths") / "runs"
    drawn = np.random.default_rng(1)
    for night in range(20):
        late = night >= 12
        hosts = [f"zqhost{8 if late else 7}"] + ["zqhost12"] * (night % 2)
        tuning = {"OMPI_MCA_path": f"/opt/zqsite/mpi{int(late)}", "PREFIX": "zqhost12"}
        facts = system_with(os_hostname=f"{hosts[0]}.zqdomain.example")
        levels = drawn.normal(1.3 if late else 1.0, 0.002, (2, 3))
        file_run(
            root,
            [(cell, 1e-3 * level) for cell, level in zip((FILE, triad()), levels, strict=True)],
            utc=BEGIN + DAY * night,
            system="zqsite",
            facts={**facts, "tuning": tuning},
            toolchain={**TOOLCHAIN, "mpi_prefix": f"/home/zquser/mpi{int(late)}"},
            host=hosts[0],
        )
    return root


def shown_history(form, months, tmp_path, capsysbinary, *, anonymize):
    out = tmp_path / "shared.html" if form == "html" else None
    asked = None if form == "json" else form
    history(runs=months, format_=asked, output=out, json=form == "json", anonymize=anonymize)
    # The last line names the file that was written.
    text = printed(capsysbinary).partition("\nreport: ")[0]
    return text + (shown(out.read_bytes()) if out else "")


@pytest.mark.parametrize(
    "form",
    ["terminal", "csv", "openmetrics", pytest.param("html", marks=pytest.mark.long), "json"],
)
def test_no_name_is_in_a_history(form, months, tmp_path, capsysbinary):
    text = shown_history(form, months, tmp_path, capsysbinary, anonymize=True)
    assert leaks(text) == []
    assert "system-1" in text
    if form in ("json", "html", "terminal"):
        assert "host-" in text
        assert "/path-" in text


@pytest.mark.long
@pytest.mark.parametrize("form", ["terminal", "csv", "openmetrics", "html", "json"])
def test_without_the_option_the_names_are_in_a_history(form, months, tmp_path, capsysbinary):
    text = shown_history(form, months, tmp_path, capsysbinary, anonymize=False)
    assert "zqsite" in text
    assert "system-1" not in text


def test_the_numbers_of_a_history_stay(months):
    plain = find(months, HistoryQuery(RunFilter()))
    changed = history_without_names(plain, months)
    assert changed.systems == ["system-1"]
    assert any(cell.events for cell in plain.cells)
    for before, after in zip(plain.cells, changed.cells, strict=True):
        assert (before.state, before.level, before.against) == (
            after.state,
            after.level,
            after.against,
        )
        assert before.points.value == after.points.value
        assert len(set(after.points.run)) == len(before.points.run) == 20
        assert [event.size for event in before.events] == [event.size for event in after.events]
        for event, hidden in zip(before.events, after.events, strict=True):
            facts = [(each.fact, each.coincides) for each in event.differences]
            assert facts == [(each.fact, each.coincides) for each in hidden.differences]
            assert any(each.fact == "hosts" for each in hidden.differences)
    path, kept = (cell.id for cell in changed.cells)
    assert path != FILE.id
    assert kept == triad().id
    assert [day.deviation for day in plain.days] == [day.deviation for day in changed.days]


@pytest.mark.long
def test_an_anonymous_history_has_its_own_default_file(months, tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    history(runs=months, html=True, anonymize=True)
    assert printed(capsysbinary).rstrip().endswith("history-anonymous.html")
    assert [path.name for path in tmp_path.iterdir()] == ["history-anonymous.html"]


def names_with(**kinds: str) -> Names:
    found = FoundNames()
    for kind, names in kinds.items():
        for name in names.split():
            found.put(kind, name)
    names = Names()
    names.add(found)
    return names


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n2 is slower than n10.", "host-1 is slower than host-2."),
        ("N2-ib0 and n2_eth", "host-1-ib0 and host-1_eth"),
        ("n2.rack.site.example, n2. The", "host-1, host-1. The"),
        ("on n[2,10]", "on host-[1-2]"),
        ("x[2-10] of a matrix", "x[2-10] of a matrix"),
        ("n25 is another", "n25 is another"),
        ("from /home/eve/a.c:12", "from /path-1:12"),
        ("-I/home/eve/include", "-I/path-1"),
        ("/usr/lib/libmpi.so, /proc/stat, /dev/shm", "/usr/lib/libmpi.so, /proc/stat, /dev/shm"),
        ("2.5 GB/s, op/s and 1/2 of it", "2.5 GB/s, op/s and 1/2 of it"),
        ("https://www.example.org/stream", "https://www.example.org/stream"),
        ("at 192.168.1.17:22, 127.0.0.1", "at address-1:22, 127.0.0.1"),
        ("fe80::1%eth0 and ::1 at 12:30:15", "address-1 and ::1 at 12:30:15"),
        ("link/ether 52:54:00:12:34:56", "link/ether address-1"),
        ("guid 0x506b4b0300c3a1f2", "guid address-1"),
        ("ssh mallory@n2: gcc@12.2", "ssh user-1@host-1: gcc@12.2"),
        ("Job 4711 ended, 4711 samples", "Job job-1 ended, 4711 samples"),
        ("a quick run", "a quick run"),
    ],
)
def test_what_is_replaced_in_a_sentence(before: str, after: str) -> None:
    assert names_with(host="n2 n10", system="quick").text(before) == after


def test_a_host_with_the_name_of_a_word_is_replaced_where_it_is_a_host(tmp_path):
    """As words of a sentence ``a`` and ``rank`` stay; as hosts of the ranks they are replaced."""
    run = store_named(tmp_path, "cluster", ("a", "b", "rank"))
    data = read_run(run.path)
    names = Names()
    names.add(names_of(data))
    changed = without_names(data, names)
    hosts = {rank.host for measurement in changed.measurements for rank in measurement.ranks}
    assert len(hosts) == 2
    assert all(re.fullmatch(r"host-\d", host) for host in hosts)
    assert re.fullmatch(r"\d{8}T\d{6}Z-system-\d-test", changed.manifest.run)
    assert names.text("a sample of rank b") == "a sample of rank b"


def test_numbers_in_a_column_called_hosts_stay() -> None:
    """The shares of variation between sets of hosts, and tones, are no hosts."""
    rows = [("n2", "12%"), ("n7", "–")]
    builder = TableBuilder(rows)
    builder.text("hosts", "Hosts", lambda row: row[0], tone="quiet")
    builder.numbers("host", "Hosts", lambda row: Entry(row[1], tone="quiet"))
    table = msgspec.to_builtins(builder.table("sources", "Sources of variation"))
    changed = replaced(table, names_with(host="n2 n7 quiet"))
    assert [[entry["text"] for entry in row] for row in changed["rows"]] == [
        ["host-1", "12%"],
        ["host-2", "–"],
    ]
    assert {entry["tone"] for row in changed["rows"] for entry in row} == {"quiet"}
    assert msgspec.convert(changed, Table).columns == builder.table("sources", "").columns


def test_a_host_may_be_called_like_a_replacement() -> None:
    names = names_with(host="host-1 host-3 n5")
    assert names.text("host-1, host-3, n5") == "host-2, host-4, host-5"
    assert names.host("host-1") == "host-2"
    assert names.host(names.host("host-1")) == "host-2"


def test_many_hosts_take_no_time_that_grows_with_their_square() -> None:
    """A word is looked up; it is not compared with each of the names."""
    names = names_with(host=" ".join(f"node{i:05d}" for i in range(2000)))
    text = "node00042 is slow; " * 100
    assert names.text(text) == "host-43 is slow; " * 100
