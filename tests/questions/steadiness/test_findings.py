"""Steadiness is analysed once, and its findings are plain JSON with the planted values."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from asking import reply_to
from assay.questions.common.findings import findings_json
from assay.questions.steadiness.findings import SteadinessFindings
from assay.records.model import RunData
from assay.report.build import build
from assay.report.documented.field_comments import field_comments
from assay.stats.cells.summarise import summarise_cells
from unsteady_run import EP, FT, LENGTH, LU, PERIOD, unsteady_run
from variation_builder import tailed, two_speeds


@pytest.fixture(scope="module")
def run() -> RunData:
    return unsteady_run()


def test_findings_are_plain_json_with_the_planted_values(run: RunData) -> None:
    reply = reply_to("steadiness", summarise_cells(run), run)
    plain = findings_json(reply.findings)
    text = json.dumps(plain, allow_nan=False)
    assert json.loads(text) == plain
    assert len(text) < 100_000  # no traces, no single runs
    ep, lu, *_ = plain["variation"]["varied"]
    times = two_speeds(3, 100, 0.01, 0.3, 1.4)
    assert (ep["cell"], ep["unit"], ep["spread"]["n"]) == (EP.id, "s", 100)
    assert ep["spread"]["cov"] == pytest.approx(times.std(ddof=1) / times.mean())
    assert [mode["at"] for mode in ep["shape"]["modes"]] == pytest.approx([2.0, 2.8], rel=0.01)
    slow = tailed(2, 100, 0.005, 0.08, 0.3) / np.median(tailed(2, 100, 0.005, 0.08, 0.3)) - 1.0
    assert lu["shape"]["long_tail"] and lu["slow"]["slowest"] == pytest.approx(slow.max())
    assert lu["slow"]["share"] == pytest.approx((slow > lu["slow"]["over"]).mean())
    assert sum(part["share"] for part in lu["components"]["parts"]) == pytest.approx(1.0)
    requests = {each["cell"]: each["walltime"] for each in plain["variation"]["walltimes"]}
    assert requests[LU.id]["seconds"] >= tailed(2, 100, 0.005, 0.08, 0.3).max()
    (adapter,) = (c for c in plain["factors"]["comparisons"] if c["factor"] == "adapter")
    assert adapter["spread"]["verdict"] == "differs"
    assert adapter["spread"]["effect"] == pytest.approx(4.0, rel=0.3)
    assert adapter["cells"] == [cell.id for cell in FT]
    assert {each["cell"] for each in plain["causes"]["cells"]} == {
        cell.id for cell in (EP, LU, *FT)
    }
    (component,) = plain["noise"]["components"]
    assert component["periodic"]["period"] == pytest.approx(PERIOD, rel=0.01)
    assert component["periodic"]["length"] == pytest.approx(LENGTH, rel=0.1)
    assert component["ranks"] == [1]
    assert plain["noise"]["headline"] == {"cell": component["cell"], "metric": "noise"}
    assert plain["arrivals"] is None and plain["host_effects"] is None


def test_every_finding_is_described(run: RunData) -> None:
    seen: set[type] = set()

    def walk(found: object) -> None:
        if isinstance(found, (tuple, list)):
            for each in found:
                walk(each)
        if not is_dataclass(found) or not type(found).__module__.startswith(STEADINESS):
            return
        for field in fields(found):
            if type(found) not in seen:
                assert field_comments(type(found)).get(field.name), (type(found), field.name)
            walk(getattr(found, field.name))
        seen.add(type(found))

    walk(reply_to("steadiness", summarise_cells(run), run).findings)
    assert SteadinessFindings in seen and len(seen) > 10


STEADINESS = "assay.questions.steadiness"


def test_each_analysis_runs_once_per_report(run: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, int] = {}

    def counting(module: str, name: str) -> None:
        import importlib

        where = importlib.import_module(module)
        original = getattr(where, name)

        def counted(*args: object, **more: object) -> object:
            calls[name] = calls.get(name, 0) + 1
            return original(*args, **more)

        monkeypatch.setattr(where, name, counted)

    cells = summarise_cells(run)
    counting("assay.stats.repeats.repeats", "repeats_of")
    counting("assay.stats.repeats.spread", "describe")
    counting("assay.stats.repeats.spread", "variance_components")
    counting("assay.stats.compare.groups", "spread_differs")
    counting("assay.stats.cells.summarise", "summarise_cells")
    counting(f"{STEADINESS}.causes.findings", "attribute")
    counting(f"{STEADINESS}.noise.findings", "trace_spectrum")
    counting(f"{STEADINESS}.noise.findings", "traces")
    model = build(run, cells)
    (section,) = (section for section in model.sections if section.id == "steadiness")
    assert {"variation-histogram-1", "noise-spectrum", "variation-factors"} <= {
        figure.id for figure in section.figures
    }
    assert calls == {
        "repeats_of": 1,
        "describe": 4,  # one per cell
        "variance_components": 4,
        "spread_differs": len(section.findings["factors"]["comparisons"]),
        "attribute": 4,
        "trace_spectrum": 2,  # one per rank
        "traces": 1,
    }
