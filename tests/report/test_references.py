"""``assay references``: search against brute force, values as a reader would read them, output."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from assay.cli.app import main
from assay.reference.papers.loading import clusters, figures, papers
from assay.reference.papers.model import Paper, PublishedCluster, PublishedFigure
from assay.reference.papers.search import matching, named_cluster, of_kernel
from assay.report.references.values import (
    printed_value,
    shown_processors,
    shown_quantity,
    shown_value,
)
from assay.units import parse_quantity
from examples import ROOT

FIGURES = figures()
BY_ID = {figure.id: figure for figure in FIGURES}
CLUSTERS = {cluster.id: cluster for cluster in clusters()}
PAPERS = {paper.id: paper for paper in papers()}


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def found(*words: str) -> list[str]:
    return [figure.id for figure in matching(FIGURES, words, CLUSTERS, PAPERS)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seth.linpack.rate", "480.7 Gflop/s"),
        ("seth.linpack.order", "116,100"),
        ("seth.stream.one", "651 to 769 MB/s"),
        ("seth.stream.gain", "17 to 45%"),
        ("seth.memory", "1 to 3 GiB per node"),
        ("seth.pingpong.latency", "at least 3.7 µs"),
        ("seth.top500.rank", "94"),
        ("seth.torus", "120"),
        ("seth.price.usd", "about 500,000 USD"),
        ("t3e-900.npb.lu.128", "56.0 Mflop/s per processor"),
        ("helix.bisection.both_ways", "about 27.5 MB/s per process"),
        ("helix.grid.price", "about 1,000,000 USD"),
        ("mcurie.year", "1997"),
        ("mcurie.npb.lu.mean", "305.2 s"),
        ("mcurie.memory.bandwidth", "960 MB/s per processor"),
        ("seaborg.memory.ratio", "0.67 B/(flop/s)"),
        ("seaborg.table1.days", "50 d"),
        ("seaborg.npb.ep.256.deviation", "40 ms"),
        ("delicatearch.stream.ratio", "1.00 to 1.04"),
        ("npb.lu.c.points", "4,251,528"),
        ("lemieux.ep.one_node", "less than 1.6%"),
    ],
)  # fmt: skip
def test_a_value_is_scaled_and_keeps_its_digits(name: str, value: str) -> None:
    assert shown_value(BY_ID[name]) == value


def test_every_scaled_value_reads_as_the_stored_one() -> None:
    """Within half of the last digit shown."""
    wrong = []
    checked = 0
    for figure in FIGURES:
        if figure.upper or figure.si_unit not in ("s", "flop/s", "B/s", "Hz"):
            continue
        text = shown_value(figure).removeprefix(figure.bound).removesuffix(f" per {figure.per}")
        read = parse_quantity(text.strip(), figure.si_unit)
        decimals = len(re.match(r"\s*[\d,]*\.?(\d*)", text).group(1))
        unit = text.split()[-1]
        step = parse_quantity(f"{10**-decimals:.{decimals}f} {unit}", figure.si_unit)
        checked += 1
        if abs(read - figure.si) > 0.5001 * step:
            wrong.append(f"{figure.id}: {text}, {figure.si}")
    assert wrong == []
    assert checked > 150


def test_what_a_figure_is() -> None:
    assert shown_quantity(BY_ID["mcurie.npb.lu.mean"]) == "LU: mean run time, class C"
    assert shown_quantity(BY_ID["seth.npb.lu.speedup"]).startswith("speedup of LU, ")
    assert shown_processors(BY_ID["mcurie.npb.lu.mean"]) == "128 (128 × 1)"
    assert shown_processors(BY_ID["seth.npb.lu.speedup"]) == "128"
    assert shown_processors(BY_ID["seth.stream.one"]) == "1 node"
    assert shown_processors(BY_ID["tungsten.npb.is.loss"]) == "2 per node"
    assert printed_value(BY_ID["helix.bisection.both_ways"]) == "220 Mbps"
    assert printed_value(BY_ID["seth.stream.gain"]) == "17 to 45%"


def everything(figure: PublishedFigure) -> list[str]:
    """The words of a figure, its cluster and its paper."""
    entries = [figure, PAPERS[figure.paper]]
    entries += [CLUSTERS[figure.cluster]] if figure.cluster else []
    values = [getattr(entry, field) for entry in entries for field in entry.__struct_fields__]
    return re.findall(r"\w+", json.dumps(values, ensure_ascii=False, default=str).lower())


@pytest.mark.parametrize("words", [("latency",), ("bandwid", "SETH"), ("icc",), ("lu", "class")])
def test_search_finds_the_figures_with_all_words(words: tuple[str, ...]) -> None:
    expected = [
        figure.id
        for figure in FIGURES
        if all(any(each.startswith(word.lower()) for each in everything(figure)) for word in words)
    ]
    assert found(*words) == expected


def test_search_by_id_cluster_and_kernel() -> None:
    assert found("seth.linpack.rate") == ["seth.linpack.rate"]
    assert found("seth.linpack.") == [name for name in BY_ID if name.startswith("seth.linpack.")]
    assert found() == list(BY_ID)
    assert found("infiniband", "seth") == []
    assert {figure.kernel for figure in of_kernel(FIGURES, "npb.lu")} == {"npb.lu"}
    assert len(of_kernel(FIGURES, "npb")) == sum(f.kernel.startswith("npb.") for f in FIGURES)
    assert named_cluster("The Sisters", CLUSTERS) == "sisters"


def test_the_table_and_the_words_that_print_a_figure(capsys: pytest.CaptureFixture[str]) -> None:
    output = printed(capsys, "seth.linpack.half")
    assert "24,570" in output
    assert "Edmundsson et al. (2004), 5.4" in output
    assert "required to reach half of this performance was 24 570" in output
    assert "aren't comparable with assay's" in output
    output = printed(capsys, "--cluster", "helix", "--kernel", "network.pingpong")
    assert "* helix.pingpong.less_than: Printed in ms" in output
    assert "comparable" not in output


def test_the_overview_has_every_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    for cluster in CLUSTERS.values():
        row = next(line.split() for line in lines if line.startswith(f"{cluster.id} "))
        assert str(sum(figure.cluster == cluster.id for figure in FIGURES)) in row
    assert any(line.startswith(f"{len(FIGURES)} figures of 5 papers.") for line in lines)
    page = (ROOT / "docs" / "references.md").read_text("utf-8")
    assert f"{len(FIGURES)} figures of {len(CLUSTERS)} clusters" in page


def test_the_page_documents_every_field() -> None:
    page = (ROOT / "docs" / "references.md").read_text("utf-8")
    for kind in (Paper, PublishedCluster, PublishedFigure):
        assert [name for name in kind.__struct_fields__ if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["infiniband", "--cluster", "seth"],
            "The papers print no figure of seth with 'infiniband'.",
        ),
        (["quantum", "torus"], "The papers print no figure with all of 'quantum', 'torus'."),
        (["--kernel", "noise.fwq"], "The papers print no figure for noise.fwq."),
    ],
)
def test_nothing_found_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert printed(capsys, *arguments).startswith(sentence)
    assert json.loads(printed(capsys, *arguments, "--json"))["figures"] == []


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (["--cluster", "sethh"], ("There is no cluster 'sethh'.", "Did you mean 'seth'?")),
        (["--kernel", "npb.lv"], ("There is no kernel 'npb.lv'.", "Did you mean 'npb.lu'?")),
    ],
)
def test_a_misspelt_name_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentences: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["references", *arguments])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert all(sentence in error for sentence in sentences)


def test_json_has_the_figures_with_their_papers_and_clusters(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    with pytest.raises(SystemExit):
        main(["references", "--kernel", "linpack", "--json"])
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["schema"] == 1
    wanted = [figure for figure in FIGURES if figure.kernel == "linpack"]
    assert [each["id"] for each in answer["figures"]] == [figure.id for figure in wanted]
    for each in answer["figures"]:
        figure = BY_ID[each["id"]]
        assert {name: each[name] for name in figure.__struct_fields__} == {
            name: list(value) if isinstance(value := getattr(figure, name), tuple) else value
            for name in figure.__struct_fields__
        }
        assert (each["si"], each["si_upper"], each["si_unit"]) == (
            figure.si, figure.si_upper, figure.si_unit,
        )  # fmt: skip
    assert {each["id"] for each in answer["papers"]} == {figure.paper for figure in wanted}
    assert {each["id"] for each in answer["clusters"]} == {figure.cluster for figure in wanted}


def test_the_list_of_commands_does_not_read_the_figures() -> None:
    done = subprocess.run(
        [
            sys.executable, "-c",
            "import assay.cli.app, assay.cli.results.references, sys; "
            "print([name for name in sys.modules if name.startswith('assay.reference')])",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["references", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out
