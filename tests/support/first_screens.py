"""States of a report's first screen, a line each, for tests of its layout.

A state is what each question says, and what stands above them. All other parts of a page are those
of a small run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assay.questions.common.answer import QUESTIONS, ImpossibleValue
from assay.questions.common.tables import Column, Entry, Table, fact_table
from assay.report.build import report_without_cells
from assay.report.model import CompanionFile, ReportModel, Section

WIDTHS = (360, 400, 768, 1200, 1920)
_SHORT = "2 cores sustain 35.1 GB/s from memory (STREAM triad)."
_LONG = (
    "16 cores sustain 58.8 GB/s from memory (STREAM triad) and 612 Gflop/s in DGEMM, 73.5% of the "
    "peak; from 1 to 16 cores memory bandwidth grows 5.93-fold; from 1 to 64 cores EP grows "
    "29.95-fold, CG 26.95-fold, MG 36.60-fold, BT 28.11-fold, SP 22.41-fold; from 4 to 64 cores FT "
    "grows 9.15-fold, IS 1.00-fold, LU 9.03-fold."
)
_PATH = "/home/someone/projects/solver/build-release/bin/solver-with-a-long-name.x" * 2
_WORDS = f"The fastest is `{_PATH}`, of which " + "_".join(["toolchain"] * 20) + " is the slowest."
_CANNOT = (
    "This number is impossible: STREAM triad, 2 cores, pinned: 35.1 GB/s [34.9, 35.3] is 351% of "
    "its limit (10.0 GB/s, reported by dmidecode). Either the reported speed is wrong, as virtual "
    "adapters' often are, or the data took a different path: check which adapter was used and its "
    "speed (`ethtool`), or select the adapter (`--adapter`)."
)
_BUSY = "Other processes kept 1.7 of 2 CPUs busy, so confidence can't exceed low."
_MISSED = "Missed: memory.stream triad at least 40.0 GB/s: 35.1 GB/s [34.9, 35.3] on node0017."


def cannot(count: int, of: str = "speed") -> list[str]:
    """This number of sentences on impossible numbers."""
    return [f"{_CANNOT} (cell {n} of {of})" for n in range(1, count + 1)]


def said(
    of: str,
    verdict: str = _SHORT,
    confidence: str | None = "high",
    *,
    why: str = "Narrow intervals.",
    impossible: Sequence[str] = (),
    advice: Sequence[str] = (),
    caveats: Sequence[str] = (),
    measured: bool = True,
    title: str = "",
) -> Section:
    """What a question says."""
    evidence = Table(
        f"{of}-evidence", "Measured", [Column("what", "Measured")], [[Entry("STREAM triad")]]
    )
    return msgspec.convert(
        {
            "id": of, "title": title or QUESTIONS.get(of, of),
            "status": "answered" if measured else "unmeasured", "verdict": verdict,
            "confidence": confidence if measured else None, "confidence_why": why * measured,
            "evidence": [], "figures": [], "tables": [evidence] * measured,
            "method": ["STREAM: each pass is a sample."] * measured, "limits": [],
            "advice": advice, "caveats": caveats,
            "impossible": [
                ImpossibleValue("above", "STREAM triad", 35.1e9, "B/s", 1e10, [], sentence)
                for sentence in impossible
            ],
        },
        Section,
        from_attributes=True,
    )  # fmt: skip


def nothing(of: str, verdict: str = "Not measured in this run.", **more: Any) -> Section:
    """A question that was not measured."""
    return said(of, verdict, measured=False, **more)


def _each(**more: Any) -> list[Section]:
    return [said(of, **more) for of in QUESTIONS]


def _one(of: str, **more: Any) -> list[Section]:
    """A question with something, among the others without."""
    return [said(each, **(more if each == of else {})) for each in QUESTIONS]


# The sections, and what the page has above them.
STATES: Mapping[str, tuple[list[Section], dict[str, Any]]] = {
    "plain": (_each(), {}),
    **{f"impossible in {of}": (_one(of, impossible=cannot(1)), {}) for of in QUESTIONS},
    "two impossible": (_one("speed", impossible=cannot(2), confidence="low"), {}),
    "impossible everywhere": ([said(o, impossible=cannot(3, o)) for o in QUESTIONS], {}),
    "forty impossible": (_one("network", impossible=cannot(40)), {"foremost": cannot(1)[0]}),
    "impossible and nothing else": (
        [nothing(of, "Not answered.", impossible=cannot(1, of)) for of in QUESTIONS], {},
    ),
    "impossible, no confidence": (_one("speed", impossible=cannot(1), confidence=None), {}),
    "the foremost is impossible": (_each(impossible=cannot(1)), {"foremost": cannot(1)[0]}),
    "foremost of many": (
        _each(impossible=cannot(3)), {"foremost": f"{cannot(1)[0]} (2 more below)"},
    ),
    "long verdicts": (_each(verdict=_LONG), {}),
    "long verdicts and impossible": (_each(verdict=_LONG, impossible=cannot(2)), {}),
    "long words": (_each(verdict=_WORDS, impossible=[_PATH * 2]), {"foremost": _PATH * 2}),
    "no spaces at all": (_each(verdict="x" * 400, impossible=["y" * 300]), {"title": "z" * 200}),
    "no confidence": (_each(confidence=None), {}),
    "low confidence": (_each(confidence="low", why=_BUSY), {}),
    "medium confidence": (_each(confidence="medium", advice=["Measure again."]), {}),
    "contention": (
        _each(confidence="low", why=_BUSY, advice=[f"{_BUSY} Measure again."]), {"foremost": _BUSY},
    ),
    "none measured": ([nothing(of) for of in QUESTIONS], {"asked": "speed"}),
    "all failed": (
        [nothing(of, f"Not measured: all {n} cells failed.", caveats=[_WORDS] * 6)
         for n, of in enumerate(QUESTIONS, 2)],
        {"unfinished": f"{_WORDS} It goes on with `{_PATH}`."},
    ),
    "one measured": ([said("speed"), *(nothing(of) for of in QUESTIONS if of != "speed")], {}),
    "expectations missed": (
        _each(caveats=[_MISSED] * 9, confidence="medium"), {"foremost": f"{_MISSED} ({_PATH})"},
    ),
    "many caveats and recommendations": (_each(caveats=[_LONG] * 9, advice=[_WORDS] * 9), {}),
    "a caveat alone": (_each(caveats=[_LONG]), {}),
    "a recommendation alone": (_each(advice=[_LONG]), {}),
    "long titles": ([said(of, title=f"{QUESTIONS[of]} {_LONG}") for of in QUESTIONS], {}),
    "titles without spaces": ([said(of, title="t" * 120) for of in QUESTIONS], {}),
    "a question of its own": ([said("comparison", _LONG, None, title="Which is faster?")], {}),
    "no sections": ([], {}),
    "a long machine": (_each(), {"machine": f"{_LONG} · {_PATH}", "summary": _LONG}),
    "files beside it": (_each(), {"files": [CompanionFile(f"Timeline of {_PATH}", "t.html")] * 3}),
    "everything at once": (
        _each(verdict=_LONG + _WORDS, impossible=cannot(5), confidence="low", why=_LONG,
              advice=[_WORDS] * 7, caveats=[_LONG] * 7),
        {"foremost": cannot(1)[0], "unfinished": _WORDS, "machine": _LONG, "title": _WORDS},
    ),
}  # fmt: skip
# One of each kind of layout.
QUICK = ("impossible in speed", "everything at once", "no spaces at all", "none measured")


def first_screen(state: str) -> ReportModel:
    """The report whose first screen is in a state."""
    sections, above = STATES[state]
    rows = Table("cells", "All cells", [Column("kernel", "Kernel")], [[Entry("memory.stream")]])
    report = report_without_cells(
        "r", "cluster: Quick look", 0.0, "14 cells", sections,
        rows=rows, facts=fact_table("system", "System", [("Processor", "Planted Xeon")]),
    )  # fmt: skip
    return msgspec.structs.replace(report, **above)
