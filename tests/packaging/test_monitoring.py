"""The dashboard and the rules ask for what assay writes: each metric, and each of its labels."""

from __future__ import annotations

import collections
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.check.components import COMPONENTS
from assay.check.model import NodeFinding, Reading
from assay.check.outputs.textfile import textfile
from assay.check.result import CheckCounts, NodeCheck
from assay.model.cell import Cell
from assay.model.placement import Placement
from history_builder import barrier, nightly, triad

FOLDER = Path(__file__).parents[2] / "packaging" / "monitoring"
# Labels that Prometheus adds to what it scrapes.
ADDED = {"instance", "job"}
METRIC = re.compile(r"\b(assay_[a-z_]+)\b(?:\{([^}]*)\})?")
PROMTOOL = shutil.which("promtool")
SAMPLE = re.compile(r'(assay_[a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)( \S+)?')


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of cells with times, bandwidths and rates of operations; one cell became slower."""
    dgemm = Cell("compute.dgemm", {"n": 1000}, Placement(ppn=1), "fake")
    cells = [(barrier(), lambda night: 1e-5 * (1.3 if night > 12 else 1.0))]
    cells += [(cell, lambda night: 1e-3) for cell in (triad(), dgemm)]
    return nightly(tmp_path_factory.mktemp("runs"), 25, cells, launches=1)


@pytest.fixture(scope="module")
def a_check() -> NodeCheck:
    """A check with every kind of metric."""
    found = NodeFinding(about="stream", value="1", expected="2", text="slow", deviation=-0.5)
    return NodeCheck(
        assay="1.0", host="n1", kind="kind", utc=1.7e9, outcome="unhealthy", status=1,
        reason="slow", line="slow", seconds=5.0, findings=[found],
        readings=[Reading(component=each.name, values=[1.0]) for each in COMPONENTS],
        counts=CheckCounts(healthy=1, unhealthy=1, undecided=0),
    )  # fmt: skip


@pytest.fixture(scope="module")
def written(runs, a_check) -> dict[str, set[str]]:
    """The labels of each metric in the outputs of assay."""
    history = prepared_assay.run(
        [sys.executable, "-m", "assay", "history", "--runs", str(runs), "--format", "openmetrics"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    labels: dict[str, set[str]] = collections.defaultdict(set)
    for line in (textfile(a_check) + history).splitlines():
        if not line.startswith("#"):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            labels[sample[1]] |= set(re.findall(r'([a-z_]+)="', sample[2] or ""))
    return labels


def check_query(query: str, written: dict[str, set[str]], words: str = "") -> None:
    """Every metric of a query is written, with each label that the query or ``words`` name."""
    metrics = METRIC.findall(re.sub(r"\b(?:by|on) \([^)]*\)", "", query))
    known = {name for name, _ in metrics if name in written}
    assert known == {name for name, _ in metrics} and known, query
    of_all = set.union(*(written[name] for name in known)) | ADDED
    for name, matchers in metrics:
        assert set(re.findall(r"([a-z_]+)\s*(?:=~|!=|=)", matchers)) <= written[name] | ADDED, query
    for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", query):
        assert set(re.split(r",\s*", group)) <= of_all, query
    assert set(re.findall(r"\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}", words)) <= of_all, words


def dashboard():
    return json.loads((FOLDER / "assay-dashboard.json").read_text())


def test_the_dashboard_asks_for_what_is_written(written):
    panels = [panel for panel in dashboard()["panels"] if panel["type"] != "row"]
    assert len(panels) > 10
    for panel in panels:
        for target in panel["targets"]:
            check_query(target["expr"], written, target["legendFormat"])
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"])
            assert asked and asked[2] in written[asked[1]] | ADDED
            assert variable["query"]["query"] == variable["definition"]


def test_the_dashboard_is_whole():
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {each["name"] for each in dashboard()["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]+)", json.dumps(dashboard()["panels"]))) <= variables
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    taken = collections.Counter(
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert max(taken.values()) == 1 and max(x for x, _ in taken) < 24


def test_a_planted_mistake_in_a_query_is_found(written):
    for query in ("assay_chek_outcome", 'assay_runs{sistem="x"}', "sum by (x) (assay_runs)"):
        with pytest.raises(AssertionError):
            check_query(query, written)


def test_rules_ask_for_what_is_written(written):
    text = (FOLDER / "assay-alerts.yml").read_text()
    rules = re.findall(r"expr: (.*)\n\s+annotations:\n\s+summary: (.*)", text)
    assert len(rules) == text.count("- alert:") == 3
    for expression, summary in rules:
        check_query(expression, written, summary)


def test_the_script_writes_what_the_collector_takes(runs, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "assay").write_text(f'#!/bin/sh\nexec {sys.executable} -m assay "$@"\n')
    (programs / "assay").chmod(0o755)
    (tmp_path / "node").mkdir()
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    script = str(FOLDER / "assay-textfile.sh")
    subprocess.run(["sh", script, str(runs), str(tmp_path / "node")], env=environment, check=True)
    (file,) = (tmp_path / "node").iterdir()
    lines = file.read_text().splitlines()
    samples = [SAMPLE.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(sample and not sample[4] for sample in samples), "no times"
    series = [(sample[1], sample[2]) for sample in samples if sample]
    assert len(set(series)) == len(series) > 10
    kinds = {line.split()[-1] for line in lines if line.startswith("# TYPE")}
    assert kinds == {"gauge"}
    if PROMTOOL is not None:
        assert_metrics(file.read_text())


def assert_metrics(text: str) -> None:
    """promtool finds nothing wrong in a text without times."""
    assert PROMTOOL is not None
    command = [PROMTOOL, "check", "metrics"]
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout + said.stderr) == (0, "")


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_accepts_the_rules_and_the_textfile_of_a_check(a_check):
    assert PROMTOOL is not None
    rules = str(FOLDER / "assay-alerts.yml")
    subprocess.run([PROMTOOL, "check", "rules", rules], check=True)
    assert_metrics(textfile(a_check))
    with pytest.raises(AssertionError):
        assert_metrics(re.sub(r"# HELP .*\n", "", textfile(a_check), count=1))


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_reads_exports_with_times_as_openmetrics(tmp_path):
    """``promtool check metrics`` reads the older text format, whose times are integers; these
    texts have the times of OpenMetrics.
    """
    assert PROMTOOL is not None
    runs = nightly(tmp_path / "runs", 2, [(barrier(), lambda night: 1e-5)], launches=1)
    name = sorted(path.name for path in runs.iterdir())[-1]
    for command in (
        ["history", "--runs", str(runs), "--output", str(tmp_path / "history.prom")],
        ["export", name, "--runs", str(runs), "--out", str(tmp_path / "export.prom")],
    ):
        command += ["--format", "openmetrics"]
        prepared_assay.run([sys.executable, "-m", "assay", *command], check=True)
        file = str(tmp_path / f"{command[0]}.prom")
        blocks = [PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", file]
        said = subprocess.run(
            [*blocks, str(tmp_path / command[0])], capture_output=True, text=True, check=False
        )
        assert said.returncode == 0, said.stderr
        assert any((tmp_path / command[0]).iterdir())
