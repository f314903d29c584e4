"""The report on samples: findings, answer, tables, figures, page."""

from __future__ import annotations

import html
import json

import msgspec
import numpy as np

from assay.models.program.sampled.counts import count_samples
from assay.questions.common.findings import findings_json
from assay.report.html import to_html
from assay.report.profile.write import build_profile, build_samples, profile_json
from assay.report.subject import build_subject
from assay.subjects.profile.compared.answer import answer as answer_changes
from assay.subjects.profile.compared.findings import find_changes
from assay.subjects.profile.compared.sides import ProfileSide
from assay.subjects.profile.compared.subject import SUBJECT as COMPARED
from assay.subjects.profile.findings import find
from assay.subjects.profile.sampled.answer import answer
from assay.subjects.profile.sampled.figures import figures, icicle
from assay.subjects.profile.sampled.findings import find_samples
from assay.subjects.profile.sampled.subject import SUBJECT
from assay.subjects.profile.sampled.tables import tables
from assay.trace.matching import match
from assay.trace.reading import read_profile
from assay.trace.samples.model import Place, ProgramSamples
from known_samples import PERIOD, drawn, place, program, sampled_trace, solver, thread
from profiles import RUN, two_ranks
from traces import imbalance

XSS = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


def test_the_verdict_names_functions_the_slow_rank_and_waiting_threads() -> None:
    found = answer(find_samples(solver()))
    assert found.verdict.startswith("79.6% of 2 min 22 s of CPU time is computing: stencil<double")
    assert "Rank 3 computes 10.8 s (38.4%) longer" in found.verdict
    assert "this excess is in stencil<double, 3> 64.2%, relax 39.9%, within relax." in found.verdict
    assert "Threads wait for each other in 16.0% of the CPU time." in found.verdict
    assert found.confidence == "high"
    assert any("Its hottest line is relax.hpp:21" in advice for advice in found.advice)
    lines = SUBJECT.lines(find_samples(solver()))
    assert any("Divide the work of relax more evenly" in line.text for line in lines)


def test_balanced_ranks_have_no_slow_function() -> None:
    found = answer(find_samples(drawn(np.random.default_rng(4))))
    assert "No rank surely computes longer" in found.verdict
    assert not any("more evenly" in advice for advice in found.advice)


def test_waiting_of_the_trace_is_owed() -> None:
    trace = imbalance()
    samples = sampled_trace(trace, {"solve": 0.7, "assemble": 0.3}, 1e-3, extra=(3, "assemble"),
                            base=0.01)  # fmt: skip
    found = find_samples(samples, match(trace))
    assert found.owed is not None
    assert (found.owed.functions[0].rank, found.owed.functions[0].function) == (3, "assemble")
    assert "assemble on rank 3" in answer(found).advice[0]
    assert "sampled-owed" in [table.id for table in tables(found)]
    plain = profile_json(None, None, found)
    assert isinstance(plain, dict)
    assert plain["samples"]["owed"]["functions"][0]["rank"] == 3


def test_no_sample_and_lost_samples_are_said() -> None:
    nothing = find_samples(ProgramSamples(PERIOD, "cpu-clock", (), (), (thread(0, []),)))
    assert answer(nothing).verdict == "The profile has no samples."
    assert "No thread was sampled" in answer(nothing).caveats[0]
    assert answer(nothing).confidence == "low"
    assert figures(nothing) == []
    samples = program([{"a": 300}])
    lost = msgspec.structs.replace(samples, threads=(thread(0, [0] * 300, lost=100),))
    assert "100 samples (25.0%) could not be stored" in answer(find_samples(lost)).caveats[0]
    unlike = msgspec.structs.replace(samples.threads[0], cpu_time=9.0)
    found = find_samples(msgspec.structs.replace(samples, threads=(unlike,)))
    assert "used 9.00 s of CPU time, but their samples stand for 3.00 s" in found.unknown[0]


def test_hostile_names_stay_text(tmp_path) -> None:
    places = (
        Place(XSS, "m<b>", file="/x/<i>.c", line=2), place("\x1b]0;title\x07\udcfe\u202e"),
        place("N" * 5000), Place("", "lib\n.so", address=64),
    )  # fmt: skip
    threads = (thread(0, [0, 1, 2, 3] * 50, name=XSS), thread(1, [0] * 50))
    samples = ProgramSamples(PERIOD, "cpu-clock", places, ((0,), (0, 1), (2,), (3,)), threads)
    found = find_samples(samples)
    page = to_html(build_samples(RUN, found))
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert html.escape("<img src=x onerror=alert(1)>") in page
    json.dumps(findings_json(found)).encode()
    for table in tables(found):
        assert all(len(entry.text) < 200 for row in table.rows for entry in row)


def test_many_functions_are_cut_in_tables_figures_and_lists() -> None:
    places = tuple(place(f"f{number}", number + 1) for number in range(10_000))
    stacks = tuple((number,) for number in range(10_000))
    generator = np.random.default_rng(1)
    threads = tuple(thread(rank, generator.integers(0, 10_000, 500)) for rank in range(40))
    found = find_samples(ProgramSamples(PERIOD, "cpu-clock", places, stacks, threads))
    assert (len(found.functions), len(found.lines)) == (1000, 1000)
    assert found.found > 8000
    assert all(len(table.rows) <= 25 for table in tables(found))
    drawing = icicle(found)
    assert drawing is None or len(drawing.rows) <= 1500
    assert len(to_html(build_samples(RUN, found))) < 3_000_000


def test_a_section_of_the_profile_and_a_report_of_its_own(tmp_path) -> None:
    found = find_samples(solver())
    report = build_profile(find(read_profile(two_ranks(tmp_path / "p"))), None, found)
    assert [section.id for section in report.sections] == ["profile", "samples"]
    assert report.lines[-1].text.startswith("Optimise stencil<double, 3>")
    assert [figure.id for figure in report.sections[1].figures] == ["sampled-tree", "sampled-ranks"]
    alone = build_samples(RUN, found)
    assert alone.title == "Samples of a program"
    assert next(table for table in tables(found) if table.id == "sampled-threads").rows


def side(name: str, samples: ProgramSamples) -> ProfileSide:
    return ProfileSide(name, RUN, count_samples(samples), samples.doubts)


def test_profiles_compared() -> None:
    found = find_changes(
        [
            side("old", program([{"solve": 5000, "assemble": 3000, "log": 500}])),
            side("new", program([{"solve": 5000, "assemble": 3600, "log": 300}])),
        ]
    )
    verdict = answer_changes(found).verdict
    assert "slower: assemble +20.0%" in verdict
    assert "faster: log −40.0%" in verdict
    assert found.growth is None
    report = build_subject(COMPARED, found)
    assert [table.id for table in report.sections[0].tables] == ["profile-changes-0"]
    to_html(report)


def test_sizes_compared() -> None:
    sizes = [program([{"solve": 8000 // ranks, XSS: 300}] * ranks) for ranks in (2, 4, 8)]
    found = find_changes([side(f"p{len(one.threads)}", one) for one in sizes])
    assert found.changes == []
    assert found.growth is not None
    assert (found.growth.next_size, found.growth.limit) == (16, XSS)
    assert "would limit it" in answer_changes(found).verdict
    page = to_html(build_subject(COMPARED, found))
    assert "<img src=x" not in page
    assert "Shares by number of ranks" in page
