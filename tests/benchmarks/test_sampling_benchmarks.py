"""The benchmarks of sampling: overheads, the order of functions, and what they read of perf."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.trace.samples.model import Place, ProgramSamples, ThreadSamples

FOLDER = Path(__file__).parents[2] / "benchmarks"
MODULES = ("common", "overheads", "function_order", "sampling", "sampled_functions")


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of benchmarks/; their imports are removed afterwards."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    monkeypatch.syspath_prepend(str(FOLDER))
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def test_a_ratio_that_never_varies_has_no_interval(beside: Any) -> None:
    base = np.array([1.0, 2.0, 3.0, 5.0])
    draws = beside.overheads.ratio_draws(base, 1.02 * base, np.mean)
    assert beside.overheads.percent(1.02, draws) == "+2.00% [+2.00, +2.00]"
    assert beside.overheads.mean_difference(base, base + 3.0) == (3.0, (3.0, 3.0))


def test_intervals_of_overheads_contain_the_truth_in_most_series(beside: Any) -> None:
    generator = np.random.default_rng(7)
    inside = 0
    for _ in range(60):
        base, values = generator.normal((10.0, 10.1), 0.2, (20, 2)).T
        low, high = beside.overheads.limits(beside.overheads.ratio_draws(base, values, np.mean))
        inside += low <= 1.01 <= high
    assert inside >= 50


def test_a_single_value_has_no_variation(beside: Any) -> None:
    assert beside.overheads.variation([1.0, 2.0, 3.0]) == pytest.approx(0.5)
    assert beside.overheads.variation([4.0]) == 0.0
    assert beside.overheads.variation_interval([4.0]) == (0.0, 0.0)
    low, high = beside.overheads.variation_interval([1.0, 2.0, 3.0, 2.0, 1.0, 3.0])
    assert 0.0 < low < high


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [((0.99, 1.01), "met"), ((1.0, 1.02), "undecided"), ((1.011, 1.02), "missed")],
)
def test_a_goal_is_judged_by_the_whole_interval(
    beside: Any, interval: tuple[float, float], verdict: str
) -> None:
    assert beside.overheads.judged(interval, 1.01, 20) == verdict
    assert beside.overheads.judged(interval, 1.01, 5) == "undecided"


def named(beside: Any, counts: dict[str, int]) -> Any:
    return {beside.function_order.Function("a.out", name): n for name, n in counts.items()}


def test_two_samples_of_one_program_have_one_order(beside: Any) -> None:
    shares = [0.3, 0.2, 0.15, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02, 0.01, 0.01]
    generator = np.random.default_rng(3)
    first, second = (
        named(beside, {f"f{k}": int(n) for k, n in enumerate(generator.multinomial(of, shares))})
        for of in (2000, 20000)
    )
    order = beside.function_order.compare_order(first, second)
    assert order.same
    assert order.apart == []
    assert order.judged > 30
    assert order.common >= 9


def test_an_order_that_differs_is_found(beside: Any) -> None:
    first = named(beside, {"a": 600, "b": 300, "c": 100})
    second = named(beside, {"a": 300, "b": 600, "c": 100})
    order = beside.function_order.compare_order(first, second)
    assert [tuple(one.name for one in pair) for pair in order.reversed] == [("a", "b")]
    assert {one.function.name for one in order.apart} == {"a", "b"}
    assert order.judged == 3


def test_an_order_within_the_intervals_is_not_judged(beside: Any) -> None:
    first = named(beside, {"a": 510, "b": 490})
    order = beside.function_order.compare_order(first, named(beside, {"a": 490, "b": 510}))
    assert order.judged == 0
    assert order.same


def test_a_function_that_only_perf_sees_is_compared(beside: Any) -> None:
    order = beside.function_order.compare_order(
        named(beside, {"a": 1000}), named(beside, {"a": 500, "b": 500}), 1
    )
    assert order.common == 1
    assert [one.function.name for one in order.shares] == ["a"]
    assert order.shares[0].p < 1e-9
    order = beside.function_order.compare_order(
        named(beside, {"a": 900, "b": 100}), named(beside, {"b": 900, "a": 100}), 1
    )
    assert order.common == 0
    assert not order.same


PERF = """41  1649.000000100:
    ffffffff81690a75 do_syscall_64 ([kernel.kallsyms])
    20ca3 __grid_MOD_total (/opt/bin/cg.B.x)
    80c5 MAIN__ (/opt/bin/cg.B.x)

41  1649.000000200:
    20ca4 conj_grad_ (/opt/bin/cg.B.x)

41  1649.000000300:
    98f27 cfree@GLIBC_2.2.5 (/usr/lib/x86_64-linux-gnu/libc.so.6)

41  1649.000000350:
    7f8ddd9f88a8 [unknown] (/tmp/a (copy)/libx.so)

41  1649.000000900:
    20ca4 conj_grad_ (/opt/bin/cg.B.x)

42  1649.000000200:
    20ca4 conj_grad_ (/opt/bin/cg.B.x)
"""


def test_samples_of_perf_are_counted_by_the_function_outside_of_the_kernel(beside: Any) -> None:
    start = 1649 * 10**9
    found = beside.sampled_functions.perf_counts(
        PERF.splitlines(keepends=True), {41: (start, start + 500)}
    )
    assert found == {
        ("cg.B.x", "grid::total"): 1,
        ("cg.B.x", "conj_grad"): 1,
        ("libc.so.6", "cfree"): 1,
        ("libx.so", ""): 1,
    }


def test_inlined_functions_count_for_the_function_that_contains_them(beside: Any) -> None:
    places = (
        Place("main", "a.out"),
        Place("work", "a.out"),
        Place("tiny", "a.out", inlined=True),
        Place("", "libx.so", address=64),
    )
    threads = tuple(
        ThreadSamples(rank, "host", 0, "", np.zeros(4), np.array([0, 1, 1, 2]), np.zeros(4))
        for rank in range(2)
    )
    samples = ProgramSamples(0.01, "cpu-clock", places, ((0,), (0, 1, 2), (0, 3)), threads)
    found = beside.sampled_functions.assay_counts(samples)
    assert found == {("a.out", "main"): 2, ("a.out", "work"): 4, ("libx.so", ""): 2}


def test_runs_in_a_file_are_added(beside: Any, tmp_path: Path) -> None:
    module, function = beside.sampled_functions, beside.function_order.Function
    pair = module.Pair(Counter({function("a", "f"): 3}), Counter({function("a", "g"): 5}), 2, 1)
    line = json.dumps({"program": "CG", **module._plain(pair)})
    path = tmp_path / "kept.jsonl"
    path.write_text(f"{line}\n{line}\n")
    ((name, found),) = module._kept(path)
    assert name == "CG"
    assert (found.assay, found.perf, found.own, found.runs) == (
        {("a", "f"): 6},
        {("a", "g"): 10},
        4,
        2,
    )
    text = "\n".join(module.report(name, found))
    assert "| f (a) | 100.00 [" in text
    assert "28.571% of perf's" in text


NPB = """
 Iterations=       15
   iteration           ||r||                 zeta
       15       0.19E-12    17.1302350540
 Benchmark completed
 Time in seconds =                     0.97
 Mop/s total     =                  1541.31
 Verification    =               SUCCESSFUL
 Compile date    =              29 Nov 2026
mpiP: ratio 3.5
"""


def test_only_numbers_that_never_vary_are_compared(beside: Any) -> None:
    assert beside.sampling.printed_numbers(NPB) == ["0.19E-12", "17.1302350540"]


def rounds_of(beside: Any, name: str, ratio: float, memory: float = 3.0) -> list[Any]:
    run, found = beside.sampling.Run, []
    for number in range(8):
        time = 1.0 + 0.1 * number
        found.append(
            beside.sampling.Round(
                name,
                {
                    "without": run(time, 2.0, 40.0, 1.5),
                    "assay": run(ratio * time, 2.02, 40.0 + memory, 1.5, 100, 0.0005, number > 0),
                    "mpiP": run(1.1 * time, 2.4, 41.0, 1.6),
                },
            )
        )
    return found


def test_the_table_states_the_planted_overheads(beside: Any) -> None:
    rounds = [*rounds_of(beside, "cg.A.x", 1.004), *rounds_of(beside, "mg.A.x", 1.006, 12.0)]
    lines = list(beside.sampling.report(rounds))
    rows = [
        [word.strip() for word in line.strip("| ").split("|")] for line in lines if line[0] == "|"
    ]
    assay, mpip = (next(row for row in rows if way in row) for way in ("assay", "mpiP"))
    assert assay[2:4] == ["+0.40% [+0.40, +0.40]"] * 2
    assert assay[5:] == ["+1.00% [+1.00, +1.00]", "+3.0 [+3.0, +3.0]", "0.050%", "1"]
    assert mpip[2] == "+10.00% [+10.00, +10.00]"
    text = "\n".join(lines)
    assert "mean over 2 programs, assay, means: +0.50% [+0.50, +0.50] (at most 1%: met)" in text
    assert "largest additional memory of a rank, assay: 12.0 MiB (at most 10 MiB: missed)" in text
    assert "mean over 2 programs, mpiP, medians: +10.00% [+10.00, +10.00]" in text


def test_rounds_are_read_as_they_were_kept(beside: Any, tmp_path: Path) -> None:
    from dataclasses import asdict

    rounds = rounds_of(beside, "cg.A.x", 1.004)
    path = tmp_path / "rounds.jsonl"
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in rounds))
    assert list(beside.sampling.kept(path)) == rounds
    assert list(beside.sampling.kept(tmp_path / "none")) == []
