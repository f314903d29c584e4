"""The levels of factors, from a plan file and from the command line."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.model.plan import PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import plan_from_words, read_words
from plan_files import TWO, levels, measure


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{ from = 0, to = "1 KiB", steps = "powers of 4" }', [0, 1, 4, 16, 64, 256, 1024]),
        ('{ from = 3, to = 20, steps = "powers of 2" }', [4, 8, 16]),
        ("{ from = 3, to = 20, times = 2 }", [3, 6, 12]),
        ("{ from = 0, to = 5, times = 2 }", [0, 1, 2, 4]),
        ("{ from = 2, to = 10, times = 1.5 }", [2, 3, 4, 7]),
        ("{ from = 1, to = 10, step = 3 }", [1, 4, 7, 10]),
        ("{ from = 1, to = 10, count = 4 }", [1, 4, 7, 10]),
        ('{ from = 1, to = 1000, count = 4, spacing = "geometric" }', [1, 10, 100, 1000]),
        ('[7, "2 kB", "3 * ranks", { from = 5, to = 5, step = 1 }]', [7, 2000, 6, 5]),
    ],
)
def test_ranges(tmp_path, written, expected):
    plan = measure(tmp_path, f'kernel = "network.pingpong"\nbytes = {written}')
    assert levels(plan, "bytes") == expected


@pytest.mark.parametrize(
    ("lines", "placements"),
    [
        ('ppn = "half"\nthreads = "all"', [(1, 4, 2)]),
        (
            'ppn = { from = 1, to = "all", steps = "powers of 2" }',
            [(1, n, 1) for n in (1, 2, 4, 8)],
        ),
        ('ppn = [1, 3]\nthreads = "cores // ppn"', [(1, 1, 8), (1, 3, 2)]),
        ('nodes = ["half", "all"]\nppn = "4 // nodes"', [(2, 2, 1), (4, 1, 1)]),
        (
            'nodes = [1, 4]\nppn = [1, "all"]\nwhere = "ranks != 8"',
            [(1, 1, 1), (4, 1, 1), (4, 8, 1)],
        ),
    ],
)
def test_placement_words(tmp_path, lines, placements):
    context = PlanContext(cores=8, nodes=4)
    plan = measure(tmp_path, f'kernel = "npb.cg"\n{lines}', context)
    found = [(c.placement.nodes, c.placement.ppn, c.placement.threads) for c in plan.cells]
    assert found == placements


def ids_of(kernel, *words):
    return [cell.id for cell in plan_from_words(kernel, ["class=S", *words], context=TWO).cells]


# As before the kernels had the parameter ``code``.
@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        ("npb.is", "696a352f91dd"),
        ("npb.ft", "ed9b8a596148"),
        ("npb.bt", "00ea56639438"),
        ("npb.sp", "87faa9e1148a"),
    ],
)
def test_an_omitted_default_leaves_the_ids_of_cells_as_they_were(kernel, known):
    assert ids_of(kernel) == ids_of(kernel, "code=tuned") == [known]
    plan = plan_from_words(kernel, ["class=S", "code=tuned,plain"], context=TWO)
    tuned, plain = plan.cells
    assert (tuned.parameters, tuned.id) == ({"class": "S"}, known)
    assert plain.parameters == {"class": "S", "code": "plain"} and plain.id != known


def test_words_sweep_lists_and_ranges():
    plan = plan_from_words(
        "npb.cg", ["class=A,B"], context=TWO, placement={"ppn": "1,all", "threads": None}
    )
    assert [(c.parameters["class"], c.placement.ppn) for c in plan.cells] == [
        ("A", 1),
        ("B", 1),
        ("A", 2),
        ("B", 2),
    ]
    assert plan.title == "npb.cg class=A,B --ppn 1,all"
    sizes = plan_from_words("compute.dgemm", ["n=5,10..40:+10,1..8:x2,2*cores"], context=TWO)
    assert levels(sizes, "n") == [5, 10, 20, 30, 40, 1, 2, 4, 8]
    assert levels(
        plan_from_words("network.pingpong", ["to=-1", "bytes=0..4KiB:x4"], context=TWO), "bytes"
    ) == [0, 1, 4, 16, 64, 256, 1024, 4096]


@pytest.mark.parametrize(
    ("words", "placement", "complaint", "fix"),
    [
        (["n"], {}, "'n' is not an assignment", "key=value"),
        (["n=1", "n=2"], {}, "given twice", ""),
        (["n=1,,2"], {}, "empty level", ""),
        (["n=1..9"], {}, "has no step", "n=1..9:x2"),
        (["n=1..9:x1"], {}, "above 1", ""),
        (["n=1..9:x" + "9" * 5000], {}, "finite", ""),
        (["n=1..9:+1.2.3"], {}, "above 0", ""),
        (["n=0"], {}, "at least 1", ""),
        (["m=1"], {}, "no parameter 'm'", "smt"),
        ([], {"ppn": 9}, "needs 9 cores", "oversubscribe"),
        ([], {"threads": "2", "ppn": "2"}, "ppn = 2 with threads = 2 needs 4 cores", ""),
        ([], {"binding": "tight"}, "'binding' can't be 'tight'", "compact"),
    ],
)
def test_wrong_words(words, placement, complaint, fix):
    with pytest.raises(AssayError) as caught:
        plan_from_words("compute.dgemm", words, context=TWO, placement=placement)
    assert complaint in caught.value.what
    assert fix in caught.value.fix


def test_factors_of_the_command_line_replace_those_of_the_plan():
    def cells(*words):
        plan = load_plan(find_suite("npb"), PlanContext(4), instead=read_words(words))
        return plan, [c for c in plan.cells if c.kernel == "npb.cg"]

    plan, changed = cells("class=S,W", "ppn=1,2")
    assert {(c.parameters["class"], c.placement.ppn) for c in changed} == {
        (size, ppn) for size in "SW" for ppn in (1, 2)
    }
    assert plan.choices == ()
    assert {c.placement.ppn for c in plan.cells if c.kernel == "memory.stream"} == {1, 2}
    with pytest.raises(AssayError, match="No kernel of the plan has a parameter 'clas'") as caught:
        cells("clas=S")
    assert "'class'" in str(caught.value)
    with pytest.raises(AssayError, match="class"):
        cells("class=Z")
