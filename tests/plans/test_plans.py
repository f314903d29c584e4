"""Plans: their text and the resulting cells."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assay.errors import AssayError
from assay.kernels import kernels
from assay.model.plan import PlanContext
from assay.plans.factors import FACTORS
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import plan_from_words
from plan_files import TWO, load, measure

DATA = Path(__file__).parents[1] / "data" / "plans"


def test_lists_are_factors_and_defaults_are_filled_in(tmp_path):
    plan = measure(tmp_path, 'kernel = "memory.stream"\nop = ["copy", "triad"]\nppn = [1, "all"]')
    assert [(c.parameters["op"], c.placement.ppn) for c in plan.cells] == [
        ("copy", 1),
        ("triad", 1),
        ("copy", 2),
        ("triad", 2),
    ]
    assert all(
        c.parameters
        == {"op": c.parameters["op"], "elements": 0, "stores": "auto", "memory_node": -1}
        for c in plan.cells
    )
    assert {c.toolchain for c in plan.cells} == {"embedded"}


def test_equal_cells_are_one(tmp_path):
    text = 'kernel = "memory.stream"\nppn = [1, "all"]\nop = ["triad", "triad"]'
    assert len(measure(tmp_path, text, PlanContext(1)).cells) == 1


def test_a_pattern_selects_all_matching_kernels(tmp_path):
    plan = measure(tmp_path, 'kernel = ["npb.*", "npb.cg"]')
    assert [c.kernel for c in plan.cells] == [
        kernel.name for kernel in kernels() if kernel.name.startswith("npb.")
    ]
    with pytest.raises(AssayError, match=r"No kernel's name matches 'nbp\.\*'"):
        measure(tmp_path, 'kernel = "nbp.*"')


def test_a_kernel_gets_the_ranks_that_it_needs():
    plan = plan_from_words("network.pingpong", context=PlanContext(2))
    assert plan.cells[0].placement.ppn == 2
    spread = plan_from_words(
        "network.pingpong", context=PlanContext(2, nodes=2), placement={"nodes": 2}
    )
    assert spread.cells[0].placement.ppn == 1


def test_every_feature_together():
    """By hand from the file: 2 nodes of 4 cores, two toolchains."""
    context = PlanContext(4, 2, "gcc", ("gcc", "clang"))
    plan = load_plan(DATA / "every-feature.toml", context)
    assert (plan.name, plan.title, plan.seed) == ("every-feature", "Every feature", 11)
    rule = plan.replication
    assert (rule.precision, rule.budget, rule.min_launches, rule.max_launches) == (0.02, 120, 6, 8)
    npb = [c for c in plan.cells if c.kernel.startswith("npb.")]
    # Per kernel and toolchain: class S on 1 rank; class W on 1, 2 and 4.
    assert len(npb) == 2 * 2 * (1 + 3)
    pings = [c for c in plan.cells if c.kernel == "network.pingpong"]
    # 3, 1024, and 0 1 2 4 8, in two orders, on one node and over two adapters on two.
    assert len(pings) == 7 * 2 * (1 + 2)
    assert {(c.placement.nodes, c.placement.ppn) for c in pings} == {(1, 2), (2, 1)}
    assert {c.placement.adapter for c in pings} == {None, "eth0"}
    sizes = [c.parameters["n"] for c in plan.cells if c.kernel == "compute.dgemm"]
    assert sizes == [400, 10, 20, 30, 40]
    one_node = "adapter = 'eth0', but ranks on one node communicate through shared memory."
    assert plan.notes == (f"Left out network.pingpong: {one_node}",)
    small = load_plan(DATA / "every-feature.toml", PlanContext(1, 1, "gcc", ("gcc",)))
    assert {c.kernel for c in small.cells} == {"npb.ep", "npb.cg", "compute.dgemm"}
    assert small.notes == (
        'Left out npb.ep: ppn = "half" would be 0.',
        'Left out npb.cg: ppn = "half" would be 0.',
        "Left out network.pingpong: ppn = 2 needs 2 cores, but a node has 1.",
        "Left out network.pingpong: nodes = 2, but there is 1 node.",
    )


def test_seed_of_argument_file_or_chance(tmp_path):
    text = 'schema = 1\nseed = 5\n[[measure]]\nkernel = "npb.ep"\n'
    assert load(tmp_path, text).seed == 5
    assert load(tmp_path, text, seed=0).seed == 0
    drawn = {load(tmp_path, text.replace("seed = 5\n", "")).seed for _ in range(3)}
    assert len(drawn) == 3


def test_a_plan_survives_json(tmp_path):
    from assay.model.plan import Plan

    plan = load_plan(find_suite("quick"), TWO)
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert again == plan
    assert [c.id for c in again.cells] == [c.id for c in plan.cells]


def test_plans_include_others_with_their_own_factors(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "two.toml").write_text(
        'schema = 1\n[factors]\nppn = 2\n[[measure]]\nkernel = "network.barrier"\n'
    )
    text = 'schema = 1\nseed = 1\ninclude = ["deep/two.toml"]\n'
    assert [c.placement.ppn for c in load(tmp_path, text).cells] == [2]
    more = load(tmp_path, text + '[[measure]]\nkernel = "npb.ep"\n')
    assert [(c.kernel, c.placement.ppn) for c in more.cells] == [
        ("network.barrier", 2),
        ("npb.ep", 1),
    ]


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("memry", "There is no suite 'memry'"),
        ("plan.toml", "'plan.toml' would include itself"),
        ("./none.toml", "none.toml"),
    ],
)
def test_a_failed_include_is_reported(tmp_path, word, complaint):
    with pytest.raises(AssayError) as caught:
        load(tmp_path, f'schema = 1\ninclude = ["{word}"]\n[[measure]]\nkernel = "npb.ep"\n')
    assert complaint in str(caught.value)


def test_a_plan_reports_what_it_leaves_to_a_search(tmp_path):
    search = 'kernel = "linpack.search"\nppn = 2\n'
    plan = measure(tmp_path, search + '[[measure]]\nkernel = "linpack"\nppn = [1, 2]\nnb = 64')
    assert plan.choices == (
        "linpack on 1 rank: n, p, broadcast, swap and depth chosen by the kernel, since there is "
        "no linpack.search at that placement.",
        "linpack: n, p, broadcast, swap and depth by linpack.search.",
    )
    given = 'nb = 64\nn = 100\np = 1\nbroadcast = "ring"\nswap = "spread"\ndepth = 0'
    assert measure(tmp_path, f'{search}[[measure]]\nkernel = "linpack"\n{given}').choices == ()


def test_no_parameter_has_the_name_of_a_placement_option():
    reserved = {*FACTORS, "kernel", "where", "cores", "ranks"}
    for kernel in kernels():
        assert not reserved & {parameter.name for parameter in kernel.parameters}, kernel.name


def test_the_cells_of_measures_that_go_first_are_named_in_the_plan(tmp_path):
    plan = load(
        tmp_path,
        'schema = 1\n[[measure]]\nkernel = "memory.stream"\nop = "copy"\n'
        '[[measure]]\nkernel = "memory.stream"\nop = ["triad", "scale"]\nfirst = true\n',
    )
    assert plan.first == tuple(cell.id for cell in plan.cells[1:])
    assert [cell.parameters["op"] for cell in plan.cells[1:]] == ["triad", "scale"]


def test_whether_a_measure_goes_first_is_a_truth_value(tmp_path):
    with pytest.raises(AssayError, match="first"):
        measure(tmp_path, 'kernel = "memory.stream"\nfirst = "yes"')
