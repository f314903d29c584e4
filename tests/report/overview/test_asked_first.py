"""What was asked comes first, in all formats: of suites, of users' plans, and of single kernels."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import msgspec
import pytest

import prepared_assay
from assay.model.plan import ASKED
from assay.plans.suites import suites
from assay.questions import NAMES
from assay.questions.common.question import Topic
from assay.questions.common.topics import in_order, plan_order
from assay.report import html
from assay.report.markdown import to_markdown
from assay.report.model import ReportModel
from quick_part import first_quickly
from records_builder import make_plan
from report_builder import make_cell
from report_gallery import scenario
from report_pages import rendered

CG_FIRST = """\
schema = 1
[[measure]]
kernel = ["npb.cg", "npb.ep"]
class = "S"
ppn = [1, 4]
[[measure]]
kernel = "memory.stream"
ppn = [1, 4]
[[measure]]
kernel = "compute.dgemm"
n = 500
"""
COLLECTIVES_FIRST = """\
schema = 1
[[measure]]
kernel = "network.collective"
op = "allreduce"
ppn = 4
bytes = [8, 1024, 65536]
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = { from = 8, to = "1 MiB", steps = "powers of 4" }
[[measure]]
kernel = "memory.stream"
"""
DECLARED = (
    'schema = 1\nquestion = "network"\n'
    + CG_FIRST.partition("\n")[2]
    + """\
[[measure]]
kernel = "network.pingpong"
ppn = 2
bytes = { from = 8, to = "1 MiB", steps = "powers of 4" }
"""
)
# By command: the first section, how its verdict begins, and the first of its evidence.
CASES = {
    "run cg.toml": ("speed", r"With 4 ranks EP class S runs at [\d.]+ Mop/s.*CG class S at", "EP"),
    "run collectives.toml": ("network", r"Allreduce of 8 B on 4 ranks takes", "allreduce"),
    "run declared.toml": ("network", r"Within a node a message of 16 B", "Latency"),
    "measure npb.cg class=S --ppn 1,4": ("speed", r"With 4 ranks CG class S runs at", "CG class S"),
    "measure compute.dgemm n=500": ("speed", r"1 core sustains [\d.]+ Gflop/s", "DGEMM"),
    "measure network.pingpong bytes=8 --ppn 2": ("speed", r"A message of 8 B takes", "Ping-pong"),
}  # fmt: skip
SUITES = {
    "run npb": ("speed", r"With 4 nodes 64 ranks EP class . runs at [\d.]+ Mop/s", "EP class"),
    "run linpack": ("speed", r"\d+ cores solve Linpack at", "Linpack Rmax"),
    "run network": ("network", r"Between nodes a message of 0 B", "Latency between nodes"),
    "run storage": ("speed", r"Storage writes", "Write"),
    "run io500": ("speed", "", ""),
    "run congestion": ("network", "", ""),
    "run gpu": ("speed", r"The device NVIDIA H100 80GB HBM3 sustains", "Device memory"),
    "run noise": ("steadiness", "", ""),  # the fake machine has no traces
    "run ring": ("network", "", ""),
    "run placement": ("placement", "", ""),
    "run toolchains": ("placement", "", ""),
    "run steadiness": ("steadiness", r"Too few launches: 17 cells have 1 of the 20 launches", ""),
    "run quick": ("speed", r"16 cores sustain", "STREAM triad"),
    "run steadiness --sessions 2 --every 1s": ("steadiness", "", ""),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "machine.toml").write_text(scenario("cluster"))
    (tmp_path / "cg.toml").write_text(CG_FIRST)
    (tmp_path / "collectives.toml").write_text(COLLECTIVES_FIRST)
    (tmp_path / "declared.toml").write_text(DECLARED)
    return tmp_path


def assay(folder: Path, *words: str) -> str:
    """What a command prints."""
    ended = prepared_assay.run(
        [sys.executable, "-P", "-m", "assay", *words], cwd=folder, capture_output=True, text=True
    )
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stdout


def run(folder: Path, command: str) -> None:
    words = [*command.split(), "--fake", "machine.toml", "--seed", "1", "--launches", "1..2"]
    keep = (
        ["--keep"]
        if words[0] == "measure"
        else ["--fail-on", "never", "--budget", "1 s", "--whole", "--no-report"]
    )
    assay(folder, *words, *keep)


def written(folder: Path, suffix: str, *words: str) -> str:
    assay(folder, "report", *words, "--output", f"r.{suffix}")
    return (folder / f"r.{suffix}").read_text(encoding="utf-8")


def check(texts: dict[str, str], section: str, verdict: str, evidence: str) -> None:
    """The four formats of the command's report begin with what was asked."""
    report = json.loads(texts.pop("json"))
    first, *others = report["sections"]
    assert (first["id"], report["asked"]) == (section, section)
    assert re.match(verdict, first["verdict"]), first["verdict"]
    labels = [row["label"] for row in first["evidence"]]
    assert not evidence or labels[0].startswith(evidence), labels[:3]
    assert len(texts) == 3
    for form, text in texts.items():
        places = [text.index(each["title"]) for each in (first, *others) if each["title"] in text]
        assert places == sorted(places), form
        assert first["title"] in text, form


@pytest.mark.slow
@pytest.mark.parametrize("command", first_quickly(CASES))
def test_a_plan_is_reported_in_the_order_of_its_kernels(folder, command):
    run(folder, command)
    texts = {"terminal": assay(folder, "report")}
    for form, suffix in (("json", "json"), ("markdown", "md"), ("html", "html")):
        texts[form] = written(folder, suffix, "--format", form)
    check(texts, *CASES[command])


@pytest.mark.long
@pytest.mark.parametrize("command", SUITES)
def test_a_suite_is_reported_as_it_asks(folder, monkeypatch, command):
    """The formats are written from one report, and without pictures, which take the most time."""
    monkeypatch.setattr(html, "drawn", lambda figures: ["" for _ in figures])
    run(folder, command)
    whole = written(folder, "json", "--format", "json")
    report = msgspec.json.decode(whole, type=ReportModel)
    texts = {
        "json": whole,
        "terminal": rendered(report, verbose=False),
        "markdown": to_markdown(report, "figures"),
        "html": html.to_html(report),
    }
    check(texts, *SUITES[command])


def test_every_suite_is_tried_or_repeats_a_paper():
    tried = {command.split()[1] for command in SUITES}
    papers = {name for name in suites() if re.search(r"-20\d\d$", name)}
    rest = {"memory", "standard", "full"}  # as quick: they begin with memory
    assert tried | papers | rest == set(suites())


def test_the_questions_that_a_plan_can_name_exist():
    assert set(ASKED) <= set(NAMES)


def topic(name: str, *kernels: str) -> Topic[None]:
    return Topic(name, find=lambda _: None, part=lambda _: None, kernels=kernels)


def test_topics_are_in_the_order_of_the_plan():
    topics = [topic("memory", "memory."), topic("npb", "npb."), topic("codes"), topic("io", "st.")]
    plan = make_plan([make_cell("npb.cg"), make_cell("memory.stream"), make_cell("npb.ep")])
    order = plan_order(topics, plan)
    # Codes, without kernels of their own, follow the benchmarks; what the plan lacks is last.
    assert order == ("npb", "codes", "memory", "io")
    assert [each.name for each in in_order(topics, order)] == list(order)
    assert in_order(topics, ()) == topics


def test_an_unknown_question_is_refused(folder):
    (folder / "wrong.toml").write_text(
        CG_FIRST.replace("schema = 1", 'schema = 1\nquestion = "sped"')
    )
    ended = prepared_assay.run(
        [sys.executable, "-P", "-m", "assay", "run", "wrong.toml", "--fake", "machine.toml"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "A plan can't ask the question 'sped'." in ended.stderr
    assert "wrong.toml:2: " in ended.stderr and "speed" in ended.stderr
