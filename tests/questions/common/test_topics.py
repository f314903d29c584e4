"""Every topic of every question reaches its answer, and so do its figures and its tables."""

from __future__ import annotations

import json
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import assay.questions
from assay.cli.app import main
from assay.questions import ask_all, questions
from assay.questions.common.question import Measured, Topic
from assay.questions.common.topics import find_topics
from assay.stats.cells.summarise import summarise_cells
from topic_runs import ring_run, topic_runs

_QUESTIONS = Path(assay.questions.__file__).parent
# By question and name, as the folders hold them, and not as the questions compose them.
TOPICS = {
    (path.parts[-3], path.parts[-2]): import_module(
        f"assay.questions.{path.parts[-3]}.{path.parts[-2]}.topic"
    ).TOPIC
    for path in sorted(_QUESTIONS.glob("*/*/topic.py"))
}
# What a topic can show, and the topics without it.
WITHOUT = {
    "figures": {("speed", "codes"), ("steadiness", "host_effects"), ("placement", "steadiest")},
    "tables": {
        ("speed", "arithmetic"), ("speed", "devices"), ("speed", "hpcg"), ("speed", "io500"),
        ("speed", "memory"), ("speed", "storage"),
        ("network", "collectives"), ("network", "concurrency"), ("network", "devices"),
        ("network", "messages"),
        ("network", "neighbours"), ("network", "onesided"), ("network", "rates"),
        ("steadiness", "arrivals"), ("steadiness", "host_effects"), ("steadiness", "noise"),
    },
}  # fmt: skip


def test_a_question_consists_of_the_topics_in_its_folder():
    composed = {
        (question.name, topic.name): topic for question in questions() for topic in question.topics
    }
    assert composed.pop(("speed", "messages")).find.__module__ == "assay.questions.speed.messages"
    assert composed == TOPICS


def test_all_figures_and_tables_of_all_topics_are_in_the_replies(tmp_path):
    shown = {what: defaultdict(int) for what in WITHOUT}
    for run in topic_runs(tmp_path):
        replies = {
            reply.question.name: reply for reply in ask_all(Measured(run, summarise_cells(run)))
        }
        for (question, name), topic in TOPICS.items():
            reply = replies[question]
            findings = getattr(reply.findings, name)
            if findings is None or reply.answer.status != "answered":
                continue
            for what, count in shown.items():
                own = {each.id for each in getattr(topic, what)(findings)}
                count[question, name] += len(own)
                assert own <= {each.id for each in getattr(reply, what)()}
    for what, without in WITHOUT.items():
        assert {key for key in TOPICS if not shown[what][key]} == without, what


def test_the_hops_of_a_ring_are_in_the_report_of_its_run(tmp_path, capsys):
    run = ring_run(tmp_path / "runs")
    with pytest.raises(SystemExit) as ended:
        main(["report", str(run.path), "--json", "--output", str(tmp_path / "ring.html")])
    assert not ended.value.code
    sections = {each["id"]: each for each in json.loads(capsys.readouterr().out)["sections"]}
    (table,) = (each for each in sections["network"]["tables"] if each["id"] == "ring-hops-1")
    assert table["title"].startswith("Hops of the ring, token, natural order")
    assert [row[0]["text"] for row in table["rows"]] == [
        "rank 0 → rank 1", "rank 1 → rank 2", "rank 2 → rank 3", "rank 3 → rank 0"
    ]  # fmt: skip
    assert table["title"] in (tmp_path / "ring.html").read_text(encoding="utf-8")


def test_topics_are_found_after_those_that_they_use():
    def found(name: str, *after: str) -> Topic[str]:
        return Topic(
            name,
            find=lambda _, *before: f"{name}({', '.join(before)})",
            part=lambda _: None,
            after=after,
        )

    topics = (found("causes", "noise", "runs"), found("noise"), found("runs", "noise"))
    assert find_topics(topics, Measured(None, [])) == {
        "causes": "causes(noise(), runs(noise()))",
        "noise": "noise()",
        "runs": "runs(noise())",
    }
