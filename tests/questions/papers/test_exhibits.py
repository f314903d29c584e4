"""The exhibits of the papers: published numbers have their place, quantities their cells."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel
from assay.model.plan import PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.questions.papers.loading import chosen_figures, exhibits_of, paper_suites
from assay.questions.papers.model import PaperSuite
from assay.questions.papers.points import meets, names_of, parsed, shared_names
from assay.reference.papers.loading import PAPERS, figures_of

SUITES = ("dell-2005", "helix-2003", "isu-2005", "nersc-2003", "seth-2004")
CLUSTER = PlanContext(cores=2, nodes=8, adapters=("eth0", "eth1"))


def read(suite: str) -> PaperSuite:
    found = exhibits_of(suite)
    assert found is not None
    return found


def test_each_paper_has_a_suite() -> None:
    assert paper_suites() == SUITES
    assert {read(suite).paper for suite in SUITES} == set(PAPERS)
    assert exhibits_of("quick") is None


@pytest.mark.parametrize("suite", SUITES)
def test_each_published_number_is_beside_a_measured_one_or_named_as_not_comparable(
    suite: str,
) -> None:
    found = read(suite)
    beside = {
        figure.id
        for exhibit in found.exhibit
        for quantity in exhibit.quantity
        for figure in chosen_figures(found.paper, quantity.published)
    }
    apart = [
        figure.id for each in found.apart for figure in chosen_figures(found.paper, each.figures)
    ]
    assert all(each.reason.endswith(".") for each in found.apart)
    assert beside.isdisjoint(apart), "a number is compared and is said not to be"
    assert len(apart) == len(set(apart)), "a number has two reasons"
    assert beside | set(apart) == set(figures_of(found.paper))


@pytest.mark.parametrize("suite", SUITES)
def test_each_figure_and_table_of_the_paper_is_there_once(suite: str) -> None:
    numbers = [exhibit.number for exhibit in read(suite).exhibit]
    assert len(numbers) == len(set(numbers))
    wanted = {
        "seth-2004": [*(f"Figure {n}" for n in range(1, 7)), "Table II", "Table III"],
        "helix-2003": [*(f"Figure {n}" for n in range(2, 9)), "Table 1"],
        "nersc-2003": [f"{kind} {n}" for kind, n in NERSC],
        "isu-2005": [
            *(f"Figure {n}.B.{part}" for n in range(1, 7) for part in "abc"),
            *(f"Figures {n}.A.a to {n}.A.c" for n in range(1, 7)),
            *("Figure 7.a", "Figure 7.b", *(f"Figure 8.{part}" for part in "abcd")),
            *("Figure 9", "Figure 10", "Figure 11", "Figure 12", "Table 1", "Table 2"),
        ],
        "dell-2005": [f"Figure {n}" for n in range(1, 7)],
    }
    assert set(wanted[suite]) <= set(numbers)


NERSC = [*(("Figure", n) for n in range(1, 7)), *(("Table", n) for n in range(1, 5))]


@pytest.mark.parametrize("suite", SUITES)
def test_every_quantity_and_curve_selects_cells_of_its_suite(suite: str) -> None:
    """On a cluster with two adapters no expression has a wrong name, no exhibit lacks cells."""
    cells = load_plan(find_suite(suite), CLUSTER).cells
    shared, most = shared_names(cells)

    def selected(kernel: str, metric: str, where: str) -> bool:
        assert find_kernel(kernel).metric(metric) is not None
        return any(
            meets(where, {**shared, **most[kernel], **names_of(cell, cell.parameters)})
            if where
            else True
            for cell in cells
            if cell.kernel == kernel
        )

    for exhibit in read(suite).exhibit:
        for quantity in exhibit.quantity:
            if quantity.kernel and not quantity.counted:
                assert selected(quantity.kernel, quantity.metric, quantity.where), quantity.name
            if quantity.times:
                assert parsed(quantity.times).names <= {"node_cores", "all_nodes"}
        for curve in exhibit.curve:
            for kernel in curve.kernel:
                assert selected(kernel, curve.metric, curve.where), curve.name
                assert not curve.over or selected(kernel, curve.metric, curve.over), curve.name


def test_an_unknown_number_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no figure 'seth\.nothing'"):
        chosen_figures("edmundsson-2004", ("seth.nothing",))
