"""Every figure of the papers: held to its quotation, and the quotations to the papers' own text.

The text is read from the folder that ``ASSAY_TEST_PAPERS`` names: one text file per paper, found by
its title.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.kernels import find_kernel
from assay.kernels.npb.cg import CG_SIZES
from assay.kernels.npb.ep import EP_LOG2_PAIRS
from assay.kernels.npb.ft import FT_SIZES
from assay.kernels.npb.is_ import IS_SIZES
from assay.kernels.npb.lu import LU_SIZES
from assay.kernels.npb.mg import MG_SIZES
from assay.reference.papers.loading import (
    PAPERS,
    clusters,
    clusters_of,
    figures,
    figures_of,
    paper,
    papers,
)
from assay.reference.papers.model import PublishedFigure, printed_number

FIGURES = figures()
BY_ID = {figure.id: figure for figure in FIGURES}
CLUSTERS = {cluster.id: cluster for cluster in clusters()}
FOLDER = os.environ.get("ASSAY_TEST_PAPERS", "")
needs_papers = pytest.mark.skipif(
    not FOLDER, reason="ASSAY_TEST_PAPERS does not name a folder with the text of the papers"
)


def plain(text: str) -> str:
    """Text without the markup of TeX and HTML, spacing as one space, quotes as ASCII.

    Bars between the cells of a quoted row are spaces, as tabs are.
    """
    text = unicodedata.normalize("NFKC", text).replace("\\,", " ")
    text = re.sub(r"</?su[bp]>|\\(?:text|mathrm|mathbf)\b|[\\{}$](?!mu|times|sim)", "", text)
    for markup, character in (
        ("\\times", "×"), ("\\mu", "μ"), ("\\sim", "~"), ("μ s", "μs"), ("|", " "),
        ("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"'), ("s^-1", "s-1"), ("N_1", "N1"),
    ):  # fmt: skip
        text = re.sub(r"\s+", " ", text).replace(markup, character)
    return re.sub(r"\s+", " ", text).strip()


@cache
def text_of(name: str) -> str:
    """The plain text of a paper."""
    title = plain(paper(name).title).casefold()
    found = [
        text
        for path in sorted(Path(FOLDER).glob("*.txt"))
        if title in (text := plain(path.read_text("utf-8"))).casefold()
    ]
    assert len(found) == 1, f"{len(found)} files have the title of {name}"
    return found[0]


def passages(figure: PublishedFigure) -> list[str]:
    return [figure.quote, *([figure.header] if figure.header else []), *figure.context]


def is_printed(value: str, text: str) -> bool:
    """Whether a number or word stands in a text by itself, not as a part of a longer number."""
    before = r"(?<![\d.,])" if value[0].isdigit() else r"(?<![\w.])"
    after = r"(?![\d^]|[.,]\d)" if value[-1].isdigit() else r"(?!\w)"
    return bool(re.search(before + re.escape(value) + after, text))


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.split("|")]


@needs_papers
@pytest.mark.parametrize("name", PAPERS)
def test_each_quotation_is_in_the_paper(name: str) -> None:
    text = text_of(name)
    checked = [
        (figure, quoted) for figure in figures_of(name).values() for quoted in passages(figure)
    ]
    missing = [f"{figure.id}: {quoted}" for figure, quoted in checked if plain(quoted) not in text]
    assert missing == []


@needs_papers
@pytest.mark.parametrize("name", PAPERS)
def test_each_property_of_a_cluster_is_in_the_paper(name: str) -> None:
    missing = [
        f"{cluster.id}: {phrase}"
        for cluster in clusters_of(name)
        for field in cluster.__struct_fields__
        if field not in ("id", "name", "paper")
        for phrase in getattr(cluster, field)
        if plain(phrase) not in text_of(name)
    ]
    assert missing == []


@needs_papers
@pytest.mark.parametrize("name", PAPERS)
def test_each_author_is_in_the_paper(name: str) -> None:
    names = [author.rsplit(" ", 1)[-1] for author in paper(name).authors]
    head = text_of(name)[:2000].casefold()
    assert [author for author in names if author.casefold() not in head] == []


def test_plain_text_keeps_every_digit() -> None:
    assert plain("$N = 116\\,100$ and\n $2.664 \\text{ Gflops s}^{-1}$") == (
        "N = 116 100 and 2.664 Gflops s-1"
    )
    assert plain("\\$500 000, ( $2^{22}$ bytes), 3.7  $\\mu$ s, $6 \\times 4$") == (
        plain("$500 000, ( 2^22 bytes), 3.7 μs, 6 × 4")
    )
    assert plain("480.8 Gflops s-1") not in plain("$480.7 \\text{ Gflops s}^{-1}$")


@pytest.mark.parametrize(
    ("value", "text", "printed"),
    [
        ("80", "corresponds to 80% of", True),
        ("80", "480.7", False),
        ("80", "80,000", False),
        (".63", "1.63", False),
        (".63", "| .63", True),
        ("two", "two-way", True),
        ("two", "network", False),
        ("6.7", "6.7 times", True),
        ("6.7", "6.75 times", False),
        ("256", "256^3", False),
    ],
)  # fmt: skip
def test_what_counts_as_printed(value: str, text: str, printed: bool) -> None:
    assert is_printed(value, text) == printed


def objections_to_passages(figure: PublishedFigure) -> Iterator[str]:
    """What of value, unit and column its quotation does not print."""
    for value in filter(None, (figure.value, figure.upper)):
        if not is_printed(value, figure.quote):
            yield f"{value} is not in '{figure.quote}'"
    if len(figure.quote.replace("|", " ").split()) > 25:
        yield "the quotation is long"
    unit = figure.unit.strip("-").removesuffix(" million")
    if unit not in " ".join(passages(figure)):
        yield f"the unit {figure.unit} is in none of its passages"
    if figure.column:
        heads, row = cells(figure.header), cells(figure.quote)
        row = ["", *row] if len(row) < len(heads) else row  # the empty cell before its first one
        if len(row) != len(heads):
            yield "the row has other cells than the header"
        elif not is_printed(figure.value, row[heads.index(figure.column)]):
            yield f"{figure.value} is in another column"


def objections_to_names(figure: PublishedFigure) -> Iterator[str]:
    """Names of clusters, kernels and metrics that do not exist or have another unit."""
    if figure.cluster and CLUSTERS[figure.cluster].paper != figure.paper:
        yield "its cluster is of another paper"
    if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", figure.id):
        yield "its id is not of words and dots"
    if figure.cluster and figure.id.split(".")[0] != figure.cluster:
        yield "its id does not begin with its cluster"
    if figure.metric:
        metrics = {metric.name: metric for metric in find_kernel(figure.kernel).metrics}
        unit = metrics[figure.metric].unit
        # The "Mflop/s" of NPB are operations per second.
        unit = "flop/s" if figure.kernel.startswith("npb.") and unit == "op/s" else unit
        if figure.si_unit != unit:
            yield f"{figure.metric} has the unit {unit}"
    elif figure.kernel:
        find_kernel(figure.kernel)
    if figure.si < 0 or (figure.si_upper is not None and figure.si_upper <= figure.si):
        yield "its range is none"


def objections_to_counts(figure: PublishedFigure) -> Iterator[str]:
    """Processes, nodes and ppn that do not fit together or exceed the cluster."""
    counts = (figure.processes, figure.nodes, figure.ppn)
    if any(count is not None and count < 1 for count in counts):
        yield "a count is not positive"
    if None not in counts and figure.processes != figure.nodes * figure.ppn:
        yield "processes are not nodes times ppn"
    if figure.conditions.startswith("projection"):
        return
    limits = ("processors", "nodes", "processors_per_node")
    for count, limit in zip(counts, limits, strict=True):
        printed = BY_ID.get(f"{figure.cluster}.{limit}")
        if count is not None and printed is not None and count > printed.si:
            yield f"{count} are more than the {limit}"


@pytest.mark.parametrize(
    "objections", [objections_to_passages, objections_to_names, objections_to_counts]
)
def test_figures(objections: Callable[[PublishedFigure], Iterator[str]]) -> None:
    found = [f"{figure.id}: {why}" for figure in FIGURES for why in objections(figure)]
    assert found == []


@pytest.mark.parametrize(
    ("changes", "objection"),
    [
        ({"value": "15.85"}, "15.85 is not in"),
        ({"column": "FT"}, "15.58 is in another column"),
        ({"unit": "GHz"}, "the unit GHz is in none"),
        ({"metric": "time"}, "time has the unit s"),
        ({"nodes": 64}, "processes are not nodes times ppn"),
        ({"processes": 1024, "nodes": 1024}, "1024 are more than the processors"),
        ({"cluster": "seth"}, "its cluster is of another paper"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_seen(changes: dict[str, Any], objection: str) -> None:
    wrong = msgspec.structs.replace(BY_ID["mcurie.npb.lu.cov"], **changes)
    checks = (objections_to_passages, objections_to_names, objections_to_counts)
    assert any(objection in why for check in checks for why in check(wrong))


def test_there_are_the_figures_of_all_papers_and_clusters() -> None:
    assert len(BY_ID) == len(FIGURES)  # ids are unique across papers too
    assert {name: len(figures_of(name)) for name in PAPERS} == {
        "edmundsson-2004": 93,
        "barczak-2003": 47,
        "kramer-2003": 197,
        "luecke-2005": 104,
        "pepper-2005": 29,
    }
    assert {figure.cluster for figure in FIGURES} - {""} == set(CLUSTERS)
    assert [each.short for each in papers()] == [
        "Edmundsson et al. (2004)",
        "Barczak, Messom & Johnson (2003)",
        "Kramer & Ryan (2003)",
        "Luecke, Li & Cuma (2005)",
        "Pepper & Gupta (2005)",
    ]


@pytest.mark.parametrize(
    ("name", "value", "upper", "unit"),
    [
        ("seth.linpack.rate", 480.7e9, None, "flop/s"),
        ("seth.linpack.order", 116_100, None, ""),
        ("seth.pingpong.latency", 3.7e-6, None, "s"),
        ("seth.stream.one", 651e6, 769e6, "B/s"),
        ("seth.pingpong.largest", 2**22, None, "B"),  # the paper says so
        ("seth.utilization", 0.9, None, "1"),
        ("seth.price.usd", 500_000, None, "USD"),
        ("seth.top500.rank", 94, None, ""),
        ("seth.torus", 120, None, ""),
        ("helix.grid.price", 1e6, None, "USD"),
        ("helix.bisection.both_ways", 27.5e6, None, "B/s"),
        ("helix.grid.linpack", 1.88e12, None, "flop/s"),
        ("mcurie.clock", 450e6, None, "Hz"),
        ("mcurie.npb.lu.cov", 0.1558, None, "1"),
        ("lemieux.linpack.rate", 4.06e12, None, "flop/s"),
        ("mcurie.memory.bandwidth", 0.96e9, None, "B/s"),
        ("seaborg.table1.days", 50 * 86400, None, "s"),
        ("seaborg.memory.processor", 1000 * 2**20, 4000 * 2**20, "B"),
        ("hpc-class.random.read.1", 15.7e-3, None, "s"),
        ("tungsten.npb.mg.loss", 0.37, 0.50, "1"),
        ("sc1425.pingpong.bandwidth.myrinet", 235e6, None, "B/s"),
        ("npb.lu.c.points", 162**3, None, ""),
    ],
)  # fmt: skip
def test_values_in_si_units(name: str, value: float, upper: float | None, unit: str) -> None:
    figure = BY_ID[name]
    assert (figure.si, figure.si_upper, figure.si_unit) == (value, upper, unit)


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("116 100", 116_100), ("94,118", 94_118), (".96", 0.96), ("94th", 94), ("seven", 7),
        ("2^28", 2**28), ("256^2 × 128", 256 * 256 * 128), ("6 × 4 × 5", 120), ("1.00", 1),
    ],
)  # fmt: skip
def test_numbers_as_printed(printed: str, number: float) -> None:
    assert float(printed_number(printed)) == number


def test_figures_that_follow_from_others() -> None:
    """The papers' own arithmetic, within the rounding of what they print."""

    def value(name: str) -> float:
        return BY_ID[name].si

    assert value("seth.peak") == pytest.approx(
        value("seth.processors") * value("seth.clock") * value("seth.flops_per_cycle"), rel=0.001
    )
    assert value("seth.linpack.of_peak") == pytest.approx(
        value("seth.linpack.rate") / value("seth.peak"), abs=0.0005
    )
    assert value("seth.linpack.of_nodes") == pytest.approx(
        value("seth.linpack.rate") / value("seth.dgemm.two") / value("seth.nodes"), abs=0.0005
    )
    for name in ("mcurie", "seaborg", "lemieux", "alvarez"):
        peak = value(f"{name}.processors") * value(f"{name}.peak.processor")
        assert value(f"{name}.peak") == pytest.approx(peak, rel=0.02)
    for name, ratio in (("t3e-900", 3.71), ("t3e-1200", 2.78)):
        for figure in FIGURES:
            if figure.id.endswith(".scaled") and figure.cluster == name:
                measured = value(figure.id.removesuffix(".scaled"))
                assert figure.si / measured == pytest.approx(ratio, rel=0.005)


def test_kernels_have_the_published_problem_sizes() -> None:
    """STREAM's bytes and flops, and the sizes of the NPB classes."""
    stream = find_kernel("memory.stream")
    defaults = {parameter.name: parameter.default for parameter in stream.parameters}
    for op in ("copy", "scale", "sum", "triad"):
        work = stream.work({**defaults, "op": op, "elements": 1000}, 1, 1)
        assert work["bytes"] == 1000 * BY_ID[f"stream.{op}.bytes"].si
        for paper_id in ("stream", "luecke.stream"):
            assert work.get("flops", 0) == 1000 * BY_ID[f"{paper_id}.{op}.flops"].si
    for name in "ABC":
        sizes = {
            "cg.{}.order": CG_SIZES[name][0],
            "cg.{}.nonzeros": CG_SIZES[name][1],
            "ep.{}.pairs": 2 ** EP_LOG2_PAIRS[name],
            "mg.{}.points": 2 ** (3 * MG_SIZES[name][0]),
            "mg.{}.iterations": MG_SIZES[name][1],
            "ft.{}.points": prod(FT_SIZES[name][:3]),
            "lu.{}.points": LU_SIZES[name][0] ** 3,
            "is.{}.keys": 2 ** IS_SIZES[name][0],
        }
        published = {key: BY_ID["npb." + key.format(name.lower())].si for key in sizes}
        assert published == sizes
