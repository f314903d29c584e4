"""docs/findings.md equals the types, each field is described, and the JSON agrees."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions import NAMES, ask_all
from assay.questions.common.findings import INTERNAL, findings_json
from assay.questions.common.question import Measured
from assay.questions.common.selection import Point
from assay.records.group import read_group
from assay.records.store import RunFilter
from assay.report.documented import findings_page as page
from assay.report.documented.field_comments import field_comments
from assay.stats.core.model import CellSummary, MetricSummary
from assay.subjects.history.findings import find as find_history
from assay.subjects.history.query import HistoryQuery
from assay.subjects.nodes.findings import find as find_nodes
from fleet_builder import make_group
from history_builder import barrier, nightly
from report_builder import make_run, quick_cells

DOCS = Path(__file__).parents[2] / "docs"
DESCRIBED = {cls: name for name, _, found in page.findings_types() for cls in page.classes(found)}


def test_the_page_is_what_the_types_say() -> None:
    """`make docs` writes it again."""
    assert (DOCS / "findings.md").read_text(encoding="utf-8") == page.findings_page()


def test_every_question_has_its_findings_on_the_page() -> None:
    assert [name for name, _, _ in page.findings_types()] == [
        *(
            *NAMES,
            "history",
            "compare",
            "nodes",
            "checks",
            "clusters",
            "simulation",
            "acceptance",
            "usage",
            "profile",
            "trace",
            "samples",
            "profiles",
            "why",
        )
    ]


@pytest.mark.parametrize("cls", DESCRIBED, ids=lambda cls: f"{DESCRIBED[cls]}-{cls.__name__}")
def test_every_field_is_described_where_it_stands(cls: type) -> None:
    described = field_comments(cls)
    assert [name for name in page.fields(cls) if not described.get(name)] == []


def test_the_page_is_linked() -> None:
    assert "(findings.md)" in (DOCS / "report-format.md").read_text(encoding="utf-8")


# ---- the JSON agrees with the page ---------------------------------------------------------------


def agrees(found: object, plain: object) -> int:
    """How many objects with documented fields there are in findings; each has just these."""
    if isinstance(found, (CellSummary, Cell)):
        assert plain == found.id
        return 0
    if isinstance(found, Point):
        assert isinstance(plain, dict)
        chosen = {"among", "ci95"} if found.among > 1 else set()
        assert set(plain) == {"cell", "metric", *chosen}
        return 0
    if isinstance(found, (Placement, MetricSummary, str, np.ndarray, np.generic, enum.Enum)):
        return 0
    if dataclasses.is_dataclass(found) or isinstance(found, msgspec.Struct):
        assert isinstance(plain, dict)
        assert type(found) in DESCRIBED, f"{type(found).__name__} is not on the page"
        assert set(plain) == set(page.fields(type(found)))
        return 1 + sum(agrees(getattr(found, name), each) for name, each in plain.items())
    if isinstance(found, Mapping):
        assert isinstance(plain, dict)
        assert len(plain) == len(found)
        return sum(
            agrees(one, each) for one, each in zip(found.values(), plain.values(), strict=True)
        )
    if isinstance(found, Collection):
        assert isinstance(plain, list)
        return sum(agrees(one, each) for one, each in zip(found, plain, strict=True))
    return 0


def plain_of(found: object) -> object:
    return json.loads(json.dumps(findings_json(found), allow_nan=False))


def test_a_run_s_findings_have_the_documented_fields() -> None:
    cells = quick_cells()
    for reply in ask_all(Measured(make_run(cells), cells)):
        assert agrees(reply.findings, plain_of(reply.findings)) >= 1


def test_a_history_s_findings_have_the_documented_fields(tmp_path: Path) -> None:
    nightly(tmp_path, 40, [(barrier(), lambda night: 1e-6 * (1.0 + 0.06 * (night >= 25)))])
    found = find_history(tmp_path, HistoryQuery(RunFilter()))
    # The history, its cell, one change, two segments and 40 days; there may be differences.
    assert agrees(found, plain_of(found)) >= 1 + 1 + 1 + 2 + 40


def test_a_group_s_findings_have_the_documented_fields(tmp_path: Path) -> None:
    hosts = ["n1", "n2", "n3", "n4"]
    directory = make_group(tmp_path, hosts, lambda host, cell, launch: 1e-3 + 1e-6 * launch)
    found = find_nodes(read_group(directory.path))
    # The findings; four members, nodes and a kind; three cells on four nodes.
    assert agrees(found, plain_of(found)) >= 1 + 4 + 4 + 1 + 3 + 3 * 4


# ---- types as text -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Planted:
    """``name``, ``pair``, ``inner``."""

    name: str
    pair: tuple[float, float] | None
    inner: dict[str, Planted]
    long: list[float] = field(default_factory=list, metadata=INTERNAL)


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (float | None, "number or null"),
        (tuple[float, int], "list [number, integer]"),
        (tuple[str, ...], "list of text"),
        (frozenset[int], "list of integer"),
        (Mapping[str, Point], "object: point by name"),
        (dict[int, float], "object: number by number"),
        (dict[tuple[str, int], str], "object: text by key"),
        (Literal["a", "b"], '`"a"` or `"b"`'),
        (Colour, '`"red"` or `"blue"`'),
        (npt.NDArray[np.float64], "list of numbers"),
        (CellSummary, "cell (its id)"),
        (list[Planted], "list of [Planted](#planted)"),
        (np.float64, "number"),
    ],
    ids=str,
)
def test_types_in_words(hint: object, text: str) -> None:
    assert page.type_text(hint) == text


@dataclass(frozen=True)
class PlantedMore(Planted):
    """Also ``more``."""

    more: int = 0


def test_inherited_fields_are_documented_by_the_class_they_come_from() -> None:
    assert list(page.fields(PlantedMore)) == ["name", "pair", "inner", "more"]
    assert page.documentation(PlantedMore) == "Also ``more``.\n\n``name``, ``pair``, ``inner``."


def test_internal_fields_stay_out_and_a_class_that_holds_itself_ends() -> None:
    assert list(page.fields(Planted)) == ["name", "pair", "inner"]
    assert page.classes(Planted) == [Planted]
