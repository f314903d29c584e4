"""Replays and what-ifs of planted loads, with a plain scheduler: effects, intervals, sentences."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from assay.errors import AssayError
from assay.report.html import to_html
from assay.report.subject import build_subject
from assay.report.terminal import print_report
from assay.subjects.usage.answer import answer
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.queue.asking import QueueQuery, check_query, find_with_queue
from assay.subjects.usage.queue.figures import figures
from assay.subjects.usage.queue.findings import find_queue
from assay.subjects.usage.queue.model import QueueFindings
from assay.subjects.usage.queue.tables import tables
from assay.subjects.usage.subject import SUBJECT
from assay.usage.accounts.reading import read_accounts
from assay.usage.analysis.query import UsageQuery
from assay.usage.queue.load import ReplayedLoad
from assay.usage.queue.policies import POLICIES, model_of
from assay.usage.queue.whatif import WhatIfContext, parse_what_if
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.workload.resample import WEEK
from plain_scheduler import first_come
from planted_loads import planted_load
from usage_logs import read_text, swf_of

EXCERPT = Path(__file__).parents[3] / "data" / "usage" / "seth-2002-excerpt.swf"


def planted(seed: int = 1, jobs: int = 400, weeks: int = 8) -> ReplayedLoad:
    """A load of four processors, nearly saturated, without sessions of several jobs."""
    random = np.random.default_rng(seed)
    submit = np.sort(random.uniform(0, weeks * WEEK, jobs))
    submit[-1] = weeks * WEEK
    run = random.exponential(0.75 * 4 * weeks * WEEK / jobs / 2.5, jobs)
    load = planted_load(submit, run, random.integers(1, 5, jobs), limit=2 * run)
    load.users[0] = ""
    return ReplayedLoad(
        source="log",
        workload=load,
        machine=Machine(nodes=(EqualNodes(count=4),)),
        start=None,
        end=load.submit + load.run,
        left_out=[],
        requests="twice the run time",
        notes=[],
        sharing=False,
        unknown=[],
    )


def asked(what_ifs: Sequence[str], load: ReplayedLoad | None = None, resamples: int = 40,
          seed: int = 1) -> QueueFindings:  # fmt: skip
    load = load or planted()
    context = WhatIfContext(load.machine)
    return find_queue(
        load,
        model_of("fcfs"),
        [parse_what_if(text, context) for text in what_ifs],
        first_come,
        resamples=resamples,
        seed=seed,
        others=False,
    )


def test_planted_effects_have_their_sign_and_intervals() -> None:
    found = asked(["heartbeat=20%", "estimates=2", "nodes=8", "largest=2"])
    shorter, same, more, _ = found.what_ifs
    assert shorter.wait is not None and shorter.wait_ci95 is not None
    assert shorter.wait < 0.0 and shorter.wait_ci95[1] < 0.0
    # More than any resampled weeks show: the queue of the saturated load grows over all of them.
    assert more.wait is not None and more.wait < 0.0 and more.wait_ci95 is None
    assert more.sentence.endswith("No interval: the result holds only for this order of weeks.")
    # First come, first served doesn't look at requests: no change, exactly.
    assert (same.wait, same.wait_ci95) == (0.0, (0.0, 0.0))
    assert "no clear change" in same.sentence
    # Without an interval no direction is stated.
    assert more.sentence.startswith("100% more nodes change the mean wait by −")
    assert shorter.sentence.startswith(
        "A coordinated heartbeat that saves 20% of run times shortens"
    )
    assert (more.confidence, shorter.confidence) == ("low", "low")
    assert found.resamples == 40 and found.load.weeks == 8
    assert not any("whole week" in text for text in found.unknown)


def test_pairs_make_intervals_narrow() -> None:
    """Unpaired, the waits of resampled weeks differ by far more than the effect."""
    found = asked(["heartbeat=1%"])
    (low, high) = found.what_ifs[0].wait_ci95 or (np.nan, np.nan)
    assert low < (found.what_ifs[0].wait or np.nan) < high < 0.06
    assert high - low < 0.25
    # The waits of eight weeks drawn from such ones differ by this share between draws.
    waits = [asked([], planted(seed)).replay.wait for seed in range(8)]
    assert np.ptp(waits) / np.mean(waits) > 3 * (high - low)


def test_a_seed_gives_the_same_numbers() -> None:
    texts = ["cov=10%", "lost-node=1d", "estimates=modal"]
    first, again, other = asked(texts), asked(texts), asked(texts, seed=2)
    assert first == again
    assert first.what_ifs[0].wait_ci95 != other.what_ifs[0].wait_ci95


def test_fewer_than_eight_weeks_have_no_intervals() -> None:
    found = asked(["nodes=+100%"], planted(weeks=7, jobs=60))
    assert found.resamples == 0 and found.what_ifs[0].wait_ci95 is None
    assert found.what_ifs[0].wait is not None
    assert any("7 whole weeks, too few" in text for text in found.unknown)


def test_nothing_waits() -> None:
    load = planted()
    idle = ReplayedLoad(**{**vars(load), "machine": Machine(nodes=(EqualNodes(count=4000),))})
    found = asked(["nodes=+10%"], idle, resamples=0)
    assert found.replay.wait == 0.0 and found.what_ifs[0].wait is None
    assert "at 0 s" in found.what_ifs[0].sentence
    assert figures(found)[0].rows


def test_every_replay_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    load = planted(jobs=50)
    context = WhatIfContext(load.machine)
    find_queue(
        load,
        model_of("easy"),
        [parse_what_if("nodes=+50%", context)],
        first_come,
        resamples=20,
        seed=1,
        report=lambda done, total: seen.append((done, total)),
    )
    assert [done for done, _ in seen] == list(range(1, 47))
    assert {total for _, total in seen} == {1 + 4 + 1 + 2 * 20}


def with_queue(query: QueueQuery, path: Path | None = None, text: str = "") -> UsageFindings:
    accounts = None
    if path is not None:
        accounts = read_text(path, text) if text else read_accounts([path])
    usage = UsageQuery()
    check_query(query, usage, logs=path is not None, run=False)
    return find_with_queue(accounts, usage, query, lambda: first_come)


def test_a_log_beside_its_real_starts() -> None:
    query = QueueQuery(model="fcfs", what_ifs=("nodes=+10%", "nodes=+20%"))
    found = with_queue(query, EXCERPT)
    queue = found.queue
    assert queue is not None and queue.real is not None and queue.agreement is not None
    assert found.wait is not None
    assert queue.real.wait == pytest.approx(found.wait.mean)
    assert [each.name for each in queue.policies] == [
        "fcfs", "easy", "conservative", "multifactor", "maui",
    ]  # fmt: skip
    reply = answer(found)
    assert reply.title == "How busy is it, and what does the queue cost?"
    assert "in the log they waited" in reply.verdict
    report = build_subject(SUBJECT, found)
    for parts, own in (
        (report.sections[0].tables, {"queue-load", "queue-policies", "queue-what-ifs"}),
        # Real and modelled waits differ: no change is drawn.
        (report.sections[0].figures, {"queue-waits"}),
    ):
        ids = [part.id for part in parts]
        assert own <= set(ids)
        assert len(set(ids)) == len(ids)
    for figure in figures(queue):
        assert {field.name for field in figure.fields} == set(figure.rows[0])


def test_perfect_agreement_where_the_log_is_first_come(tmp_path: Path) -> None:
    """A log written by the plain scheduler is replayed exactly."""
    load = planted(jobs=80)
    rounded = planted_load(
        np.floor(load.workload.submit), np.floor(load.workload.run), load.workload.processors
    )
    schedule = first_come(rounded, load.machine, model_of("fcfs").policy)
    text = swf_of(
        [
            (job + 1, int(rounded.submit[job]), int(schedule.start[job] - rounded.submit[job]),
             int(rounded.run[job]), int(rounded.processors[job]))
            for job in range(80)
        ],
        processors=4,
    )  # fmt: skip
    queue = with_queue(QueueQuery(model="fcfs"), tmp_path, text).queue
    assert queue is not None and queue.agreement is not None
    assert queue.agreement.pairs == 1.0 and queue.agreement.difference == 0.0
    assert queue.agreement.wait == pytest.approx(1.0)
    assert queue.replay == queue.real


def test_a_log_without_waits_says_so(tmp_path: Path) -> None:
    lines = "".join(
        f"{n} {n * 100} -1 250 2 -1 -1 -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1\n" for n in range(1, 9)
    )
    found = with_queue(QueueQuery(model="fcfs"), tmp_path, "; MaxProcs: 4\n" + lines)
    queue = found.queue
    assert queue is not None and queue.real is None and queue.agreement is None
    assert "each job is assumed to request exactly its run time" in queue.load.requests
    reply = answer(found)
    assert "no waits" in reply.verdict
    assert any("can't be compared" in text for text in reply.limits)


def test_a_synthetic_load_has_the_findings_of_a_log() -> None:
    query = QueueQuery(synthetic="lublin", jobs=600, load=0.8, model="fcfs")
    found = with_queue(query)
    assert found.queue is not None and found.jobs == 600
    assert found.queue.load.offered == pytest.approx(0.8)
    assert found.wait is not None and found.queue.replay.wait == pytest.approx(found.wait.mean)
    assert "Tsafrir" in found.queue.load.requests
    assert answer(found).verdict.startswith("600 jobs of the model of Lublin and Feitelson")
    assert tables(found.queue)


@pytest.mark.parametrize(
    ("query", "usage", "logs", "said"),
    [
        (QueueQuery(synthetic="lublin"), UsageQuery(), True, "in place of|replaces a log"),
        (QueueQuery(), UsageQuery(), False, "A log is missing"),
        (QueueQuery(jobs=5), UsageQuery(), True, "only be stated for a synthetic load"),
        (QueueQuery(synthetic="lublin"), UsageQuery(since="9 d"), False, "no days"),
        (QueueQuery(seed=-1), UsageQuery(), True, "seed"),
        (QueueQuery(resamples=-1), UsageQuery(), True, "resamples"),
        (QueueQuery(synthetic="lublin", jobs=1), UsageQuery(), False, "can't have 1 jobs"),
        (QueueQuery(synthetic="lublin", load=0.0), UsageQuery(), False, "offered load"),
    ],
)
def test_options_that_do_not_fit(
    query: QueueQuery, usage: UsageQuery, logs: bool, said: str
) -> None:
    with pytest.raises(AssayError, match=said):
        check_query(query, usage, logs=logs, run=False)


def test_what_was_asked_comes_first_and_is_never_cut(tmp_path: Path) -> None:
    """On a narrow terminal without --verbose, and on the first screen of the page."""
    jobs = [(n, 4000 * n, 0, 900 * (n % 9) + 10, 1 + n % 8) for n in range(1, 900)]
    texts = ("nodes=+50%", "nodes=-1", "largest=4", "lost-node=1d", "estimates=2", "heartbeat=2%")
    load = planted_load(*np.array(jobs)[:, [1, 3, 4]].T, limit=[2 * job[3] + 60 for job in jobs])
    waits = first_come(load, Machine(nodes=(EqualNodes(count=8),)), POLICIES["fcfs"]).start
    waited = [(n, at, int(waits[n - 1] - load.submit[n - 1]), *rest) for n, at, _, *rest in jobs]
    accounts = read_text(tmp_path, swf_of(waited, processors=8))
    query = QueueQuery(model="fcfs", what_ifs=texts, resamples=0)
    found = find_with_queue(accounts, UsageQuery(), query, lambda: first_come)
    assert found.queue is not None
    report = build_subject(SUBJECT, found)
    sentences = [each.sentence for each in found.queue.what_ifs]
    assert all(sentences) and len(" ".join(sentences)) > 5 * 58
    printed = StringIO()
    print_report(report, Console(file=printed, width=60))
    text = " ".join(printed.getvalue().split())
    page = " ".join(html.unescape(re.sub(r"<[^>]+>", "", to_html(report))).split())
    title = report.sections[0].title
    for sentence in sentences:
        assert sentence in text and sentence in page
    assert text.partition(title)[2].lstrip().startswith(sentences[0])
    assert page.partition(f"{title} ")[2].startswith(sentences[0])


def test_the_model_needs_all_jobs(tmp_path: Path) -> None:
    accounts = read_text(tmp_path, swf_of([(1, 0, 0, 10, 1)]))
    with pytest.raises(AssayError, match="all queues and users"):
        find_with_queue(
            accounts, UsageQuery(user="0"), QueueQuery(model="fcfs"), lambda: first_come
        )
    with pytest.raises(AssayError, match="no synthetic load 'jann'"):
        find_with_queue(None, UsageQuery(), QueueQuery(synthetic="jann"), lambda: first_come)
