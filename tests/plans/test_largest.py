"""The largest choice that fits a machine: by work, by expected time, by memory."""

from __future__ import annotations

import re

import pytest

from assay.errors import AssayError
from assay.kernels import kernels
from assay.model.choices import grouped_choices
from assay.model.plan import PlanContext
from plan_files import TWO, classes, measure


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
    with pytest.raises(AssayError, match="uses 'operation'"):
        chosen("operation <= 1e9")


def test_choices_by_the_same_rule_are_one_sentence():
    choices = [
        "npb.ep: class=B, the largest with core_seconds <= 2.",
        "npb.cg: class=A, the largest with core_seconds <= 2.",
        "npb.cg: class=S, the largest with core_seconds <= 0.2.",
        "linpack: n, nb and p by linpack.search.",
    ]
    assert grouped_choices(choices) == [
        "npb.ep class=B, npb.cg class=A: the largest with core_seconds <= 2.",
        "npb.cg class=S: the largest with core_seconds <= 0.2.",
        "linpack: n, nb and p by linpack.search.",
    ]


def test_the_largest_choice_may_depend_on_expected_time(tmp_path):
    """Operations of IS take a hundred times as long as those of LU: counts don't determine time."""

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
    with pytest.raises(AssayError, match="uses 'core_seconds'"):
        measure(tmp_path, 'kernel = "memory.stream"\nop = { largest = "core_seconds <= 1" }')


def test_the_largest_choice_fits_into_memory_on_one_rank_as_on_all(tmp_path):
    lines = 'kernel = "npb.is"\nppn = [1, "all"]\nclass = { largest = "operations > 0" }'
    need = is_memory("B", 1, 8)
    enough = measure(tmp_path, lines, PlanContext(8, memory=need))
    assert classes(enough) == {"B"}
    assert enough.choices[0].endswith("operations > 0 that memory can hold.")
    assert is_memory("B", 8) > is_memory("B", 1)  # so it would have fitted on one rank alone
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
        ("class = { largest = 5 }", "by a single condition"),
        ('class = { largest = "1", to = 3 }', "by a single condition"),
        ('class = { largest = "1 +" }', "is not an expression"),
        ('ppn = { largest = "1" }', "no choices to take the largest of"),
    ],
)
def test_an_invalid_largest_is_reported(tmp_path, lines, complaint):
    with pytest.raises(AssayError, match=re.escape(complaint)):
        measure(tmp_path, f'kernel = "npb.is"\n{lines}')


def test_only_choices_with_a_cell_are_reported(tmp_path):
    text = 'kernel = "npb.is"\nclass = [{ largest = "operations < 1e6" }, "W"]\n'
    assert measure(tmp_path, text + "where = \"class == 'W'\"").choices == ()
    assert len(measure(tmp_path, text).choices) == 1
    first = 'kernel = "npb.is"\nclass = { largest = "operations < 1e6" }\nwhere = "cores > 2"\n'
    two = first + '[[measure]]\nkernel = "memory.stream"'
    assert measure(tmp_path, two).choices == ()
