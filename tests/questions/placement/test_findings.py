"""Findings about placements: plain JSON with the planted numbers, and found once per report."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from asking import reply_to
from assay.questions.common.findings import findings_json
from assay.records.model import RunData
from assay.report import build_report
from assay.stats.cells.summarise import summarise_cells
from phase_runs import run_of as phases_of
from placement_runs import PLAIN, SPREAD_OUT, THREADED, cell, cg, run_of


@pytest.fixture(scope="module")
def run() -> RunData:
    return run_of([*PLAIN, *THREADED, *SPREAD_OUT], cg, [*THREADED, *SPREAD_OUT])


def found_in(run: RunData) -> dict[str, object]:
    found = findings_json(reply_to("placement", summarise_cells(run), run).findings)
    decoded: dict[str, object] = json.loads(msgspec.json.encode(found))
    assert decoded == found
    return decoded


def test_the_search_and_the_ratios_are_plain_json(run: RunData) -> None:
    found = found_in(run)
    assert found["complete"] is True and found["order"] is None and found["toolchains"] is None
    (outcome,) = found["best"]["outcomes"]  # type: ignore[index]
    best = cell("npb.cg", 1, 2, 2)
    assert outcome["best"] == best.id
    assert outcome["point"] == {"cell": best.id, "metric": "time"}
    assert outcome["probability"] > 0.95 and outcome["settled"] is True
    assert (outcome["candidates"], outcome["tried"], outcome["failed"]) == (6, 6, [])
    assert outcome["over_one"]["value"] == pytest.approx(0.4 / 0.1)
    (of_work,) = found["best"]["choices"]  # type: ignore[index]
    amounts = {choice["aim"]: choice["amount"][0] for choice in of_work["choices"]}
    assert amounts == pytest.approx({"speed": 0.1, "cost": 0.1}, rel=0.01)
    (work,) = found["ratios"]["works"]  # type: ignore[index]
    values = [one["value"] for one in work["same_nodes"]]
    assert values == pytest.approx([0.4 / 0.25, 0.4 / 0.2])


def test_the_components_of_the_time_are_plain_json() -> None:
    works = [
        (cell("npb.mg", 1, ppn), {"compute": 4.0 / ppn, **({"halo": 0.5} if ppn > 1 else {})})
        for ppn in (1, 4)
    ]
    found = found_in(phases_of(works, {1: 20e9, 4: 80e9}))
    (work,) = found["causes"]["works"]  # type: ignore[index]
    assert (work["name"], work["nodes"], work["knee"]) == ("MG class S", 1, 4)
    alone, four = work["plain"]
    assert alone["seconds"]["compute"]["value"] == pytest.approx(4.0, rel=0.01)
    assert four["seconds"]["messages within nodes"]["value"] == pytest.approx(0.5, rel=0.01)
    # 1.5 s instead of 1 s, each 1% longer than its phases.
    assert work["loss"]["whole"]["value"] == pytest.approx(1 - 1.0 / 1.5, abs=0.01)
    assert work["loss"]["cause"]["component"] == "messages within nodes"


ANALYSES = {
    "best.findings": "find_outcomes",
    "ratios.findings": "works_of",
    "causes.findings": "find_breakdowns",
    "toolchains.findings": "crossed_factors",
    "order.findings": "compare_orders",
}


def test_a_report_finds_once(run: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for module, name in ANALYSES.items():
        place = importlib.import_module(f"assay.questions.placement.{module}")
        analysis = getattr(place, name)

        def counting(*given, name=name, analysis=analysis, **named):  # type: ignore[no-untyped-def]
            calls[name] += 1
            return analysis(*given, **named)

        monkeypatch.setattr(place, name, counting)
    report = build_report(run, summarise_cells(run))
    section = next(section for section in report.sections if section.id == "placement")
    assert section.figures and section.tables
    assert calls == dict.fromkeys(ANALYSES.values(), 1)


def test_answer_figures_and_tables_compute_nothing() -> None:
    """Their modules import neither runs nor statistics."""
    import assay.questions.placement as package

    folder = Path(package.__file__).parent
    words = ("import RunData", "summarise", "stats.compare", "find_outcomes", "find_breakdowns")
    speaking = [
        path
        for path in folder.rglob("*.py")
        if path.stem.endswith(("answer", "figures", "tables", "recommendations"))
    ]
    assert len(speaking) >= 15
    wrong = [
        (path.name, line)
        for path in speaking
        for line in path.read_text().splitlines()
        if any(word in line for word in words) and "anova import" not in line
    ]
    assert wrong == []
