"""Display names: one per kernel, metric and cell, all of them from one module."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

import assay
from assay.kernels import kernels, naming
from assay.kernels.naming import (
    cell_labels,
    cell_name,
    cell_title,
    kernel_name,
    layout_text,
    level_name,
    metric_name,
    order_text,
    placement_text,
    program_name,
)
from assay.kernels.outside import KERNELS as OUTSIDE
from assay.model.cell import Cell
from assay.model.placement import Placement

PACKAGE = Path(assay.__file__).parent
ALL = (*kernels(), *OUTSIDE)
SEATS = ",".join(map(str, [0, 8, 1, 9, 2, 10, 3, 11, 4, 12]))


@pytest.mark.parametrize("kernel", ALL, ids=lambda kernel: kernel.name)
def test_each_kernel_and_metric_of_the_catalogue_has_a_name(kernel: object) -> None:
    assert kernel.title.strip()  # type: ignore[attr-defined]
    assert kernel_name(kernel.name).strip()  # type: ignore[attr-defined]
    for metric in kernel.metrics:  # type: ignore[attr-defined]
        assert metric.name in naming._METRICS


def test_names_exist_only_for_entries_of_the_catalogue() -> None:
    assert set(naming._METRICS) == {metric.name for kernel in ALL for metric in kernel.metrics}
    for (name, parameter), levels in naming._LEVELS.items():
        [kernel] = [kernel for kernel in ALL if kernel.name == name]
        found = kernel.parameter(parameter)
        assert found is not None
        assert set(levels) <= set(found.choices)


def _is_a_list_of_names(node: ast.AST, constants: dict[str, object], known: set[str]) -> bool:
    """Whether it is a dictionary from kernels to texts that begin like a title."""
    if not isinstance(node, ast.Dict):
        return False
    keys = {
        constants.get(key.id) if isinstance(key, ast.Name) else getattr(key, "value", None)
        for key in node.keys
    }
    texts = [value.value for value in node.values if isinstance(value, ast.Constant)]
    titles = [text for text in texts if isinstance(text, str) and text[:1].isupper()]
    return bool(keys & known) and bool(titles)


def _offenders(source: str) -> list[int]:
    known = {kernel.name for kernel in ALL if kernel.name in source}
    if not known:
        return []
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [node.lineno for node in ast.walk(tree) if _is_a_list_of_names(node, constants, known)]


def test_no_other_module_maps_kernels_to_titles() -> None:
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := _offenders(path.read_text(encoding="utf-8")))
    }
    assert found == {}
    assert _offenders('TITLES = {"npb.cg": "CG"}') == [1]
    assert _offenders('K = "memory.stream"\nTITLES = {K: "STREAM"}') == [2]


def test_no_other_module_builds_the_name_of_a_cell() -> None:
    spelled = ('parameters_text(cell)}".rstrip', "kernel[4:]", 'removeprefix("npb.")')
    for path in PACKAGE.rglob("*.py"):
        if path.name != "naming.py":
            text = path.read_text(encoding="utf-8")
            assert not [each for each in spelled if each in text], path


def test_cells_are_named_by_kernel_and_parameters() -> None:
    stream = Cell("memory.stream", {"op": "triad"}, Placement(), "gcc")
    cg = Cell("npb.cg", {"class": "A"}, Placement(nodes=2, ppn=4, order="cyclic"), "gcc")
    command = Cell("app", {"command": "./solver " + "x" * 50}, Placement(), "gcc")
    assert cell_name(stream) == "memory.stream op=triad"
    assert cell_name(cg) == "CG class A"
    plain = Cell("npb.is", {"class": "A", "code": "plain"}, Placement(), "default")
    assert cell_name(plain) == "IS class A, plain code"
    assert cell_title(cg) == "CG class A, 2 nodes 8 ranks cyclic order"
    assert cell_name(command) == "solver " + "x" * 19 + "…" + "x" * 13
    assert metric_name("latency_p99", "µs") == "99th percentile of latency (µs)"
    assert metric_name("my_own") == "my own"
    assert level_name("storage.parallel", "layout", "own") == "file per rank"
    two = msgspec.structs.replace(cg, placement=Placement(ppn=2))
    one = msgspec.structs.replace(cg, placement=Placement(ppn=1))
    assert set(cell_labels([one, two]).values()) == {"CG on 1 rank", "CG on 2 ranks"}


def test_a_long_rank_order_is_shortened_in_the_middle() -> None:
    placement = Placement(nodes=2, ppn=5, order=SEATS)
    assert order_text("0,2,1,3") == "order 0,2,1,3"
    assert order_text(SEATS) == "order 0,8,1,9,…,3,11,4,12"
    assert placement_text(placement).endswith("order 0,8,1,9,…,3,11,4,12")
    assert layout_text(placement).endswith("order 0,8,1,9,…,3,11,4,12")
    assert layout_text(placement, whole_order=True).endswith(f"order {SEATS}")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("mpirun -n {ranks} ./cg.A.x", "cg.A.x"),
        ("/opt/apps/bin/solver in.dat", "solver in.dat"),
        ("OMP_NUM_THREADS={threads} srun -N 2 --exclusive /a/b/lu.C.x -v", "lu.C.x -v"),
        ("mpiexec -hostfile {hostfile} -np 4 python3 train.py --lr 0.1", "train.py --lr 0.1"),
        ("mpirun --bind-to=core -n 4 ./a.out", "a.out"),
        ("mpirun", "mpirun"),
        ("", ""),
        ("python3", "python3"),
        ("echo 'unfinished", "echo 'unfinished"),
        ("solver --mesh /data/mesh-of-the-whole-wing.h5 --steps 100",
         "solver --mesh /data/mesh-…--steps 100"),
    ],
)  # fmt: skip
def test_a_command_is_named_by_its_program(command: str, name: str) -> None:
    shown = program_name(command)
    assert len(shown) <= 40
    if "…" in name:
        begin, end = name.split("…")
        assert shown.startswith(begin) and shown.endswith(end) and len(shown) == 40
    else:
        assert shown == name


@pytest.mark.parametrize(
    ("at", "arguments", "shown"),
    [
        ("op=allreduce bytes=-1", "-m 8:8", "osu_x op=allreduce bytes=8"),
        ("op=barrier bytes=-1", "", "osu_x op=barrier"),
        ("op=allreduce bytes=64", "-m 64:64", "osu_x op=allreduce bytes=64"),
    ],
)
def test_a_size_that_is_left_to_the_kernel_is_shown_as_the_site_measures_it(
    at: str, arguments: str, shown: str
) -> None:
    parameters = {"program": "/opt/osu_x", "at": at, "arguments": arguments}
    assert cell_name(Cell("beside.osu", parameters, Placement(ppn=2), "site")) == shown
