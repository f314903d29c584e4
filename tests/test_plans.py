"""Plans: what a person writes, the cells it comes to, and how mistakes are told."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assay.errors import AssayError
from assay.kernels import kernels
from assay.plans.factors import FACTORS
from assay.plans.model import PlanContext
from assay.plans.suites import find_plan, find_suite, load_plan, suites
from assay.plans.words import plan_from_words, read_words

DATA = Path(__file__).parent / "data" / "plans"
TWO = PlanContext(cores=2)


def write(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return path


def load(tmp_path, text, context=TWO, **options):
    return load_plan(write(tmp_path, text), context, **options)


def measure(tmp_path, lines, context=TWO, head=""):
    return load(tmp_path, f"schema = 1\n{head}[[measure]]\n{lines}\n", context)


def levels(plan, name):
    return [cell.parameters[name] for cell in plan.cells]


# --- Cells ---


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


def test_a_kernel_gets_as_many_ranks_as_it_needs():
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
    one_node = "adapter = 'eth0', but ranks on one node talk through memory."
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
    from assay.plans.model import Plan

    plan = load_plan(find_suite("quick"), TWO)
    again = msgspec.json.decode(msgspec.json.encode(plan), type=Plan)
    assert again == plan
    assert [c.id for c in again.cells] == [c.id for c in plan.cells]


def test_more_than_there_is_only_when_allowed(tmp_path):
    lines = 'kernel = "npb.ep"\nppn = 3'
    with pytest.raises(AssayError, match="ppn = 3 needs 3 cores, but a node has 2"):
        measure(tmp_path, lines)
    plan = measure(tmp_path, lines, head="oversubscribe = true\n")
    assert plan.cells[0].placement.ppn == 3
    words = plan_from_words("npb.ep", context=TWO, placement={"ppn": 3}, oversubscribe=True)
    assert words.cells == plan.cells


# --- Mistakes: file, line, what, and the nearest word ---

HEAD = 'schema = 1\n[[measure]]\nkernel = "memory.stream"\n'


@pytest.mark.parametrize(
    ("text", "line", "complaint", "mend"),
    [
        ('schema = 1\n[[measure]]\nkernel = "memory.steam"', 3, "no kernel", "'memory.stream'"),
        (HEAD + 'opp = "copy"', 4, "no parameter 'opp'", "'op'"),
        (HEAD + "thread = 2", 4, "no parameter 'thread'", "'threads'"),
        (HEAD + 'op = ["copy",\n  "tried"]', 5, "'op' can't be 'tried'", "'triad'"),
        (HEAD + "op = 3", 4, "'op' must be a word", ""),
        (HEAD + "op = true", 4, "must be a number, a word", ""),
        (HEAD + "op = []", 4, "empty list", ""),
        (HEAD + "elements = -1", 4, "at least 0", ""),
        (HEAD + "elements = 1.5", 4, "whole number", ""),
        (HEAD + "elements = inf", 4, "can't be inf", ""),
        (HEAD + 'elements = "64 KiB"', 4, "a plain number", ""),
        (HEAD + 'elements = "2 * coors"', 4, "speaks of 'coors'", "'cores'"),
        (HEAD + 'ppn = "al"', 4, "speaks of 'al'", ""),
        (HEAD + "ppn = 0", 4, "at least 1", ""),
        (HEAD + "ppn = 3", 4, "needs 3 cores", "oversubscribe"),
        (HEAD + "nodes = 2", 4, "nodes = 2, but there is 1 node", ""),
        (HEAD + 'order = "cylic"', 4, "'order' can't be 'cylic'", "'cyclic'"),
        (HEAD + 'toolchain = "embeded"', 4, "no toolchain 'embeded'", "'embedded'"),
        (HEAD + 'where = "ppn >"', 4, "ends too early", ""),
        (HEAD + 'where = "pnp > 1"', 4, "speaks of 'pnp'", "'ppn'"),
        (HEAD + "where = 3", 4, "must be a text", ""),
        (HEAD + "elements = { from = 1 }", 4, "has no 'to'", ""),
        (HEAD + "elements = { from = 1, to = 2 }", 4, "no way to step", "powers of 2"),
        (HEAD + "elements = { from = 1, to = 2, step = 1, times = 2 }", 4, "several ways", ""),
        (HEAD + "elements = { from = 1, to = 2, stap = 1 }", 4, "key 'stap'", "'step'"),
        (HEAD + 'elements = { from = 1, to = 9, steps = "squares" }', 4, "can't step", "powers"),
        (HEAD + "elements = { from = 9, to = 1, step = 1 }", 4, "empty", ""),
        (HEAD + "elements = { from = 1, to = 9, step = 0 }", 4, "above 0", ""),
        (HEAD + "elements = { from = 1, to = 9, times = 1 }", 4, "above 1", ""),
        (HEAD + "elements = { from = 0, to = 1e9, step = 1 }", 4, "more than 10000", ""),
        (HEAD + "op = { from = 1, to = 2, step = 1 }", 4, "must be a word", ""),
        ("schema = 1\n[[measure]]\nppn = 1", 2, "names no kernel", ""),
        ("schema = 1\n[[measure]]\nkernel = 7", 3, "must be a string", ""),
        ('schema = 1\n[[measures]]\nkernel = "npb.ep"', 2, "key 'measures'", "'measure'"),
        ("schema = 1\ntitle = 'x'", None, "measures nothing", ""),
        ("schema = 2", 1, "schema 2, and this assay reads 1", ""),
        ("title = 'x'", None, "which schema", "schema = 1"),
        ("schema = 1\ntitle = [[measure", 2, "not TOML", ""),
        ("schema = 1\n[replication]\nprecison = 1", 3, "key 'precison'", "'precision'"),
        ("schema = 1\n[replication]\nprecision = 1", 3, "between 0 and 1", ""),
        ('schema = 1\n[replication]\nbudget = "90 B"', 3, "'budget'", ""),
        ("schema = 1\n[replication]\nmin_launches = 40", 3, "more than max_launches", ""),
        ("schema = 1\n[replication]\nmin_samples = 2.5", 3, "whole number", ""),
        ("schema = 1\n[factors]\nop = 'copy'", 3, "key 'op' in [factors]", "ppn"),
    ],
)
def test_mistakes_are_told_with_line_and_mend(tmp_path, text, line, complaint, mend):
    if "[[measure" not in text and "measures nothing" not in complaint:
        text += '\n[[measure]]\nkernel = "npb.ep"'
    path = write(tmp_path, text)
    with pytest.raises(AssayError) as caught:
        load_plan(path, TWO)
    assert complaint in caught.value.what
    assert caught.value.where == (f"{path}:{line}" if line else str(path))
    assert mend in caught.value.mend


def test_nothing_left_says_why(tmp_path):
    text = 'kernel = "network.barrier"\nppn = "all"'
    with pytest.raises(AssayError, match="Nothing of this plan") as caught:
        measure(tmp_path, text, PlanContext(1), head="portable = true\n")
    assert "1 rank, but it needs at least 2" in caught.value.detail


def test_a_plan_that_is_too_large(tmp_path):
    lines = 'kernel = "network.pingpong"\nbytes = { from = 1, to = 9999, step = 1 }\n'
    lines += 'order = ["block", "cyclic", "reversed"]\nbinding = ["compact", "spread", "none"]\n'
    lines += "nodes = [1, 2, 3, 4]\nppn = 2"
    with pytest.raises(AssayError, match="more than 100000 cells"):
        measure(tmp_path, lines, PlanContext(2, 4))


# --- Words ---


def test_what_does_not_fit_into_memory_is_refused_before_anything_is_launched(tmp_path):
    text = 'kernel = "compute.dgemm"\nn = [100, 20000]\nppn = 2'
    room = PlanContext(2, memory=2 * 3 * 8 * 20000**2)
    assert len(measure(tmp_path, text, room).cells) == 2
    tight = PlanContext(2, memory=2 * 3 * 8 * 20000**2 - 1)
    with pytest.raises(
        AssayError, match=r"compute.dgemm n=20000 needs 19\.2 GB a node, but 19\.2 GB"
    ) as told:
        measure(tmp_path, text, tight)
    assert "plan.toml:" in told.value.where
    assert "smaller" in told.value.mend
    plan = measure(tmp_path, text, tight, head="portable = true\n")
    assert [cell.parameters["n"] for cell in plan.cells] == [100]
    assert "n=20000 needs" in plan.notes[0]


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
    ("words", "placement", "complaint", "mend"),
    [
        (["n"], {}, "'n' is no assignment", "key=value"),
        (["n=1", "n=2"], {}, "given twice", ""),
        (["n=1,,2"], {}, "empty level", ""),
        (["n=1..9"], {}, "doesn't say how to step", "n=1..9:x2"),
        (["n=1..9:x1"], {}, "above 1", ""),
        (["n=1..9:+1.2.3"], {}, "above 0", ""),
        (["n=0"], {}, "at least 1", ""),
        (["m=1"], {}, "no parameter 'm'", "smt"),
        ([], {"ppn": 9}, "needs 9 cores", "oversubscribe"),
        ([], {"threads": "2", "ppn": "2"}, "ppn = 2 with threads = 2 needs 4 cores", ""),
        ([], {"binding": "tight"}, "'binding' can't be 'tight'", "compact"),
    ],
)
def test_wrong_words(words, placement, complaint, mend):
    with pytest.raises(AssayError) as caught:
        plan_from_words("compute.dgemm", words, context=TWO, placement=placement)
    assert complaint in caught.value.what
    assert mend in caught.value.mend


def test_threads_for_a_kernel_without():
    with pytest.raises(AssayError, match=r"'network\.barrier' has no threads"):
        plan_from_words("network.barrier", context=PlanContext(4), placement={"threads": 2})


# --- What is shipped ---


@pytest.mark.parametrize("name", sorted(suites()))
@pytest.mark.parametrize("context", [PlanContext(1), TWO, PlanContext(128, 16)])
def test_shipped_suites_load_everywhere(name, context):
    two_toolchains = replace(context, toolchains=("embedded", "site"))
    plan = load_plan(find_suite(name), two_toolchains)
    assert plan.name == name
    assert plan.cells
    # Nothing may be left out but what takes more nodes than there are, or too many bytes for MPI.
    few = ("nodes = 2", "network.pairs: 1 rank") if context.nodes == 1 else ("int of MPI",)
    if context.cores > 1:
        assert [note for note in plan.notes if not any(word in note for word in few)] == []


def test_standard_and_full_hold_everything():
    parts = {"quick", "memory", "network", "storage", "noise"}
    wide = PlanContext(128, 16, toolchains=("embedded", "site"))
    plans = {name: load_plan(find_suite(name), wide).cells for name in suites()}
    cells = {name: {c.id for c in plan} for name, plan in plans.items()}
    assert set().union(*(cells[part] for part in parts)) < cells["standard"] < cells["full"]
    assert cells["npb"] < cells["full"]
    benchmarks = {kernel.name for kernel in kernels() if kernel.name.startswith("npb.")}
    for name in ("standard", "npb"):
        assert benchmarks == {c.kernel for c in plans[name] if c.kernel.startswith("npb.")}
    measured = {c.kernel for c in load_plan(find_suite("full"), wide).cells}
    assert measured == {kernel.name for kernel in kernels()}


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
def test_what_can_not_be_included_is_told(tmp_path, word, complaint):
    with pytest.raises(AssayError) as told:
        load(tmp_path, f'schema = 1\ninclude = ["{word}"]\n[[measure]]\nkernel = "npb.ep"\n')
    assert complaint in str(told.value)


def classes(plan, kernel="npb.is"):
    return {c.parameters["class"] for c in plan.cells if c.kernel == kernel}


def is_memory(size, *counts):
    kernel = next(kernel for kernel in kernels() if kernel.name == "npb.is")
    return max(ranks * kernel.memory({"class": size}, ranks, 1) for ranks in counts)


def test_the_largest_choice_is_the_last_that_the_condition_allows(tmp_path):
    def chosen(condition, context=TWO):
        lines = f'kernel = "npb.is"\nppn = [1, "all"]\nclass = {{ largest = "{condition}" }}'
        return measure(tmp_path, lines, context)

    # 10 * 2^m keys: m = 16, 20, 23, 25, 27, 31 for S, W, A, B, C, D.
    for size, keys in {"S": 16, "W": 20, "A": 23, "B": 25, "C": 27, "D": 31}.items():
        plan = chosen(f"operations <= {10 * 2**keys}")
        assert classes(plan) == {size}
        assert plan.choices == (
            f"npb.is: class={size}, the largest with operations <= {10 * 2**keys}.",
        )
    assert classes(chosen("operations <= 1e7 * cores", PlanContext(1))) == {"S"}
    assert classes(chosen("operations <= 1e7 * cores", PlanContext(64))) == {"B"}
    with pytest.raises(AssayError, match="no class has operations < 5"):
        chosen("operations < 5")
    with pytest.raises(AssayError, match="speaks of 'operation'"):
        chosen("operation <= 1e9")


def test_the_largest_choice_may_go_by_expected_time(tmp_path):
    """Operations of IS take a hundred times as long as those of LU: counts say nothing of time."""

    def chosen(kernel, condition):
        lines = f'kernel = "{kernel}"\nclass = {{ largest = "{condition}" }}'
        return classes(measure(tmp_path, lines, TWO), kernel)

    assert chosen("npb.lu", "core_seconds <= 2.5") == {"A"}
    assert chosen("npb.is", "core_seconds <= 2.5") == {"B"}
    for kernel in (k for k in kernels() if k.name.startswith("npb.")):
        (size,) = chosen(kernel.name, "core_seconds <= 1.5")
        sizes = kernel.parameter("class").choices
        times = [kernel.work({"class": c}, 1, 1)["operations"] / kernel.pace for c in sizes]
        assert times[sizes.index(size)] <= 1.5 < times[sizes.index(size) + 1]
    with pytest.raises(AssayError, match="speaks of 'core_seconds'"):
        measure(tmp_path, 'kernel = "memory.stream"\nop = { largest = "core_seconds <= 1" }')


def test_all_works_of_the_suite_placement_take_about_as_long():
    plan = load_plan(find_suite("placement"), TWO)
    taken = {}
    for cell in plan.cells:
        if cell.kernel.startswith("npb."):
            kernel = next(kernel for kernel in kernels() if kernel.name == cell.kernel)
            taken.setdefault(cell.kernel, set()).add(
                kernel.work(cell.parameters, 1, 1)["operations"] / kernel.pace
            )
    assert all(len(times) == 2 for times in taken.values())
    larger = [max(times) for times in taken.values()]
    assert min(larger) > 0.2 and max(larger) <= 1.5


def test_the_largest_choice_fits_into_memory_on_one_rank_as_on_all(tmp_path):
    lines = 'kernel = "npb.is"\nppn = [1, "all"]\nclass = { largest = "operations > 0" }'
    need = is_memory("B", 1, 8)
    enough = measure(tmp_path, lines, PlanContext(8, memory=need))
    assert classes(enough) == {"B"}
    assert enough.choices[0].endswith("operations > 0 that memory can hold.")
    assert is_memory("B", 8) > is_memory("B", 1)  # so one rank alone would have had room
    assert classes(measure(tmp_path, lines, PlanContext(8, memory=need - 1))) == {"A"}
    with pytest.raises(AssayError, match="and fits into memory"):
        measure(tmp_path, lines, PlanContext(2, memory=1000))
    head = "portable = true\n"
    both = lines + '\n[[measure]]\nkernel = "npb.ep"'
    small = measure(tmp_path, both, PlanContext(2, memory=1000), head)
    assert {c.kernel for c in small.cells} == {"npb.ep"} and small.choices == ()


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("class = { largest = 5 }", "by a condition alone"),
        ('class = { largest = "1", to = 3 }', "by a condition alone"),
        ('class = { largest = "1 +" }', "is not an expression"),
        ('ppn = { largest = "1" }', "no choices to take the largest of"),
    ],
)
def test_a_largest_that_makes_no_sense_is_told(tmp_path, lines, complaint):
    with pytest.raises(AssayError, match=re.escape(complaint)):
        measure(tmp_path, f'kernel = "npb.is"\n{lines}')


def test_only_choices_that_made_a_cell_are_told(tmp_path):
    text = 'kernel = "npb.is"\nclass = [{ largest = "operations < 1e6" }, "W"]\n'
    assert measure(tmp_path, text + "where = \"class == 'W'\"").choices == ()
    assert len(measure(tmp_path, text).choices) == 1
    first = 'kernel = "npb.is"\nclass = { largest = "operations < 1e6" }\nwhere = "cores > 2"\n'
    two = first + '[[measure]]\nkernel = "memory.stream"'
    assert measure(tmp_path, two).choices == ()


def test_a_pattern_stands_for_all_kernels_that_match(tmp_path):
    plan = measure(tmp_path, 'kernel = ["npb.*", "npb.cg"]')
    assert [c.kernel for c in plan.cells] == [
        kernel.name for kernel in kernels() if kernel.name.startswith("npb.")
    ]
    with pytest.raises(AssayError, match=r"No kernel's name matches 'nbp\.\*'"):
        measure(tmp_path, 'kernel = "nbp.*"')


def test_factors_of_the_command_line_take_the_place_of_the_plan_s():
    def cells(*words):
        plan = load_plan(find_suite("npb"), PlanContext(4), instead=read_words(words))
        return plan, [c for c in plan.cells if c.kernel == "npb.cg"]

    plan, changed = cells("class=S,W", "ppn=1,2")
    assert {(c.parameters["class"], c.placement.ppn) for c in changed} == {
        (size, ppn) for size in "SW" for ppn in (1, 2)
    }
    assert plan.choices == ()
    assert {c.placement.ppn for c in plan.cells if c.kernel == "memory.stream"} == {1, 2}
    with pytest.raises(AssayError, match="No kernel of the plan has a parameter 'clas'") as told:
        cells("clas=S")
    assert "'class'" in str(told.value)
    with pytest.raises(AssayError, match="class"):
        cells("class=Z")


def test_the_npb_suite_takes_the_same_class_over_all_counts_of_its_speedup():
    for cores, memory in ((1, 2e9), (2, 24e9), (8, 3e10), (192, 8e11)):
        plan = load_plan(find_suite("npb"), PlanContext(cores, memory=memory))
        for kernel in ("npb.ep", "npb.cg", "npb.is"):
            own = [c for c in plan.cells if c.kernel == kernel and c.placement.threads == 1]
            alone = [c.parameters["class"] for c in own if c.placement.ppn == 1]
            counts = {c.placement.ppn for c in own if c.parameters["class"] == alone[0]}
            powers = {1 << power for power in range(8) if 1 << power <= cores}
            odd = {count for count in (3, 5, 7) if count <= cores}
            assert len(alone) == 1 and counts >= powers | odd | {cores}
    assert plan.replication.budget == 600
    assert {c.parameters["class"] for c in own} == {"C", "D"}  # IS on many cores
    assert any(c.placement.threads > 1 for c in plan.cells)


def test_quick_measures_what_it_promises():
    plan = load_plan(find_suite("quick"), TWO)
    assert {c.kernel for c in plan.cells} == {
        *("memory.stream", "compute.peak", "compute.dgemm"),
        *("network.pingpong", "network.barrier", "npb.ep", "npb.cg"),
    }
    assert plan.replication.min_launches >= 6
    assert plan.replication.budget <= 100
    stream = {
        (c.parameters["op"], c.placement.ranks) for c in plan.cells if c.kernel == "memory.stream"
    }
    assert len(stream) == 8
    sizes = [c.parameters["bytes"] for c in plan.cells if c.kernel == "network.pingpong"]
    assert sizes == [0, *(1 << k for k in range(23))]


def test_suites_are_found_by_name():
    assert find_plan("quick") == find_suite("quick")
    assert find_plan("./quick") == Path("./quick")
    assert find_plan("mine.toml") == Path("mine.toml")
    with pytest.raises(AssayError, match="Did you mean 'quick'"):
        find_suite("quik")


def test_no_parameter_is_called_like_a_placement_word():
    reserved = {*FACTORS, "kernel", "where", "cores", "ranks"}
    for kernel in kernels():
        assert not reserved & {parameter.name for parameter in kernel.parameters}, kernel.name


# --- Searches ---


def test_a_plan_says_what_it_leaves_to_a_search(tmp_path):
    search = 'kernel = "linpack.search"\nppn = 2\n'
    plan = measure(tmp_path, search + '[[measure]]\nkernel = "linpack"\nppn = [1, 2]\nnb = 64')
    assert plan.choices == (
        "linpack on 1 rank: n, p, broadcast, swap and depth as the kernel chooses, for there is no "
        "linpack.search at that placement.",
        "linpack: n, p, broadcast, swap and depth by linpack.search.",
    )
    given = 'nb = 64\nn = 100\np = 1\nbroadcast = "ring"\nswap = "spread"\ndepth = 0'
    assert measure(tmp_path, f'{search}[[measure]]\nkernel = "linpack"\n{given}').choices == ()


def test_suite_linpack_searches_at_each_placement_that_it_measures():
    for context in (TWO, PlanContext(cores=12, nodes=5), PlanContext(cores=1)):
        cells = load_plan(find_suite("linpack"), context).cells
        searches = [c.placement for c in cells if c.kernel == "linpack.search"]
        assert {c.placement for c in cells if c.kernel == "linpack"} == set(searches)
        assert len(set(searches)) == len(searches)
        whole = [c for c in cells if c.kernel == "linpack" and c.parameters["fraction"] == 1.0]
        assert [c.placement.ranks for c in whole] == [context.cores * context.nodes]


def test_a_grid_that_can_t_hold_the_ranks_is_refused_before_anything_is_launched(tmp_path):
    with pytest.raises(AssayError, match="2 doesn't divide 3"):
        measure(tmp_path, 'kernel = "linpack"\nppn = 3\np = 2', PlanContext(cores=4))


def test_an_order_that_memory_can_t_hold_is_refused(tmp_path):
    context = PlanContext(cores=4, memory=8e9)
    assert measure(tmp_path, 'kernel = "linpack"\nppn = 4\nn = 30000', context).cells
    with pytest.raises(AssayError, match=r"needs .* a node"):
        measure(tmp_path, 'kernel = "linpack"\nppn = 4\nn = 32000', context)
    assert measure(tmp_path, 'kernel = "linpack"\nppn = 4', context).cells  # its own affair
