"""Functions inside computing: packed samples, and what a click in a browser lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.report.timeline import functions
from assay.report.timeline.annotate import annotate
from assay.report.timeline.contents import contents_of
from assay.report.timeline.functions import samples_head
from assay.report.timeline.write import write_timeline
from assay.trace.matching import match
from known_samples import sampled_trace
from traces import imbalance

HOSTILE = "assemble<img src=x onerror=alert(1)>"
# Clicks on the first computing of the last rank: 7 ms of "solve", 5 ms of the other function.
STEPS = """
const app = window.assayTimeline;
app.view.show(0, 30e6);
app.draw();
app.select(app.view.left + app.view.plotWidth * 5 / 30, app.view.height - 10);
const cells = [...document.querySelectorAll("#selection dl > *")].map((one) => one.textContent);
const whole = app.data.samples.within(3, 0, app.data.end);
return { title: document.querySelector("#selection .title").textContent, cells, whole,
  images: document.querySelectorAll("#selection img").length, errors: window.assayErrors };
"""


@pytest.fixture(scope="module")
def traced():
    trace = imbalance()
    samples = sampled_trace(
        trace, {"solve": 0.7, HOSTILE: 0.3}, 1e-3, extra=(3, HOSTILE), base=0.01
    )
    return trace, samples


def test_samples_outside_of_mpi_are_annotated(traced) -> None:
    trace, samples = traced
    found = annotate(match(trace), samples).samples
    assert found is not None
    assert set(found.functions) == {"solve", HOSTILE}
    assert len(found.time) == sum(len(one.times) for one in samples.threads)
    assert annotate(match(trace)).samples is None
    # Times of a trace with parts cut out don't fit to those of samples.
    assert annotate(match(replace(trace, cut=1.0)), samples).samples is None


def test_many_samples_are_thinned_and_stand_for_more(traced, monkeypatch) -> None:
    trace, samples = traced
    notes = annotate(match(trace), samples)
    assert notes.samples is not None
    whole = contents_of(trace, notes, 4_000_000)
    count = len(notes.samples.time)
    monkeypatch.setattr(functions, "MOST_SAMPLES", count // 3)
    head = samples_head(notes.samples)
    assert head is not None
    kept = contents_of(trace, notes, 4_000_000)
    numbers = [
        next(one["count"] for one in found.head["sections"] if one["name"] == "sample.gap")
        for found in (whole, kept)
    ]
    assert numbers[0] == count
    assert numbers[1] * head["period"] == pytest.approx(count * samples.period, rel=0.01)


def test_samples_of_ranks_without_a_trace_are_left_out(traced) -> None:
    trace, samples = traced
    found = annotate(match(trace), samples).samples
    assert found is not None
    strange = replace(found, rank=np.full(len(found.rank), 99))
    contents = contents_of(trace, replace(annotate(match(trace)), samples=strange), 4_000_000)
    sections = {one["name"]: one["count"] for one in contents.head["sections"]}
    assert (sections["sample.counts"], sections["sample.gap"]) == (4, 0)


@pytest.mark.slow
def test_a_click_on_computing_lists_its_functions(browser, traced, tmp_path) -> None:
    trace, samples = traced
    path = tmp_path / "timeline.html"
    write_timeline(trace, path, annotate(match(trace), samples))
    browser.open(path, dark=False, width=1200)
    found = browser.ask(STEPS)
    assert found["errors"] == []
    assert found["title"] == "Computing"
    cells = dict(zip(found["cells"][::2], found["cells"][1::2], strict=True))
    assert cells["Duration"] == "12.000000\xa0ms"
    assert cells["solve"].startswith("58")
    assert cells[HOSTILE].startswith("42")
    assert found["images"] == 0
    assert [name for name, _ in found["whole"]] == ["solve", HOSTILE]
