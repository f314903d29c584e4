"""Commands with placeholders: filled in, quoted, and refused if invalid."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.model.command import PLACEHOLDERS, check_command, command_words, placeholders
from assay.model.plan import PlanContext
from assay.plans.app import App, app_measures, read_app
from assay.plans.suites import find_suite, load_plan

VALUES = {name: str(place) for place, name in enumerate(PLACEHOLDERS)}
CONTEXT = PlanContext(cores=4, nodes=2, adapters=("eth0", "eth1"))


def test_words_are_split_first_and_filled_in_afterwards() -> None:
    words = command_words(
        "mpirun -n {ranks} -f '{hostfile}' ./a.out --name 'two words'",
        {"ranks": "8", "hostfile": "/tmp/my hosts; rm *"},
    )
    assert words == ["mpirun", "-n", "8", "-f", "/tmp/my hosts; rm *", "./a.out", "--name",
                     "two words"]  # fmt: skip


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_any_value_stays_one_word(value: str) -> None:
    assert command_words("a {hostfile} b", {"hostfile": value}) == ["a", value, "b"]
    shell = command_words("a {hostfile} b", {"hostfile": value}, shell=True)
    assert shell[:2] == ["/bin/sh", "-c"]
    assert shlex.split(shell[2]) == ["a", value, "b"]


def test_braces_that_are_no_placeholder_stay() -> None:
    words = command_words("awk '{print $1}' {{ranks}} ${HOME}", VALUES)
    assert words == ["awk", "{print $1}", "{ranks}", "${HOME}"]
    assert placeholders("awk '{print $1}' {{ranks}} {ppn}") == {"ppn"}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("mpirun -n {rank} ./a", "{rank}"),
        ("mpirun 'open", "No closing quotation"),
        ("  ", "empty"),
    ],
)
def test_invalid_commands_are_refused(command: str, says: str) -> None:
    with pytest.raises(AssayError, match=says):
        command_words(command, VALUES)


@pytest.mark.parametrize(
    ("time", "verify", "says"),
    [("(", "", "time"), ("", "[", "verify"), ("(a)(b)", "", "several groups")],
)
def test_invalid_patterns_are_refused(time: str, verify: str, says: str) -> None:
    with pytest.raises(AssayError, match=says):
        check_command("./a", time, verify)


def test_the_time_out_is_a_time() -> None:
    assert read_app("./a {ranks}", None, None, "2 min").timeout == 120.0
    with pytest.raises(AssayError, match="not a time"):
        read_app("./a", None, None, "0 s")


def placements(command: str) -> set[tuple[int, int, int, str, str, str | None]]:
    plan = load_plan(find_suite("placement"), CONTEXT, seed=1, app=App(command))
    assert {(cell.kernel, cell.toolchain) for cell in plan.cells} == {("app", "own")}
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)
    return {
        (p.nodes, p.ppn, p.threads, p.binding, p.order, p.adapter)
        for p in (cell.placement for cell in plan.cells)
    }


def test_only_used_placeholders_are_varied() -> None:
    found = placements("mpirun -n {ranks} ./a.out")
    assert found == {(1, ppn, 1, "compact", "block", None) for ppn in (1, 2, 4)}
    found = placements("mpirun -n {ranks} -ppn {ppn} ./a.out")
    assert {place[:2] for place in found} == {(n, ppn) for n in (1, 2) for ppn in (1, 2, 4)}
    assert {place[2:] for place in found} == {(1, "compact", "block", None)}
    found = placements("env T={threads} mpirun -n {ranks} -ppn {ppn} --net {adapter} ./a.out")
    assert {place[2] for place in found} == {1, 2, 4}
    assert {place[5] for place in found} == {None, "eth0", "eth1"}
    assert all(ppn * threads <= 4 for _, ppn, threads, *_ in found)
    assert all(adapter is None for nodes, *_, adapter in found if nodes == 1)
    found = placements("mpirun -f {hostfile} ./a.out")
    assert {place[4] for place in found} == {"block", "cyclic", "reversed"}
    assert {place[4] for place in placements("mpirun -r {rankfile} ./a")} == {
        "block", "cyclic", "reversed",
    }  # fmt: skip


def test_a_command_without_placeholders_is_measured_unchanged() -> None:
    assert placements("./a.out") == {(1, 1, 1, "compact", "block", None)}


def test_the_suite_searches_all_nodes_and_compares_the_others() -> None:
    plan = load_plan(find_suite("placement"), CONTEXT, seed=1)
    assert plan.search is not None
    cells = {cell.id: cell for cell in plan.cells}
    searched = [cells[name].placement for name in plan.search.optional]
    assert {p.nodes for p in searched} == {2}
    # Compared cells are measured in any case, and are among its candidates.
    compared = [c.placement for name, c in cells.items() if name not in plan.search.optional]
    assert {(p.nodes, p.ppn) for p in compared} == {(n, k) for n in (1, 2) for k in (1, 2, 4)}
    assert {(p.threads, p.binding, p.adapter) for p in compared} == {(1, "compact", None)}
    others = [(p.nodes, p.ppn, p.order) for p in compared if p.order != "block"]
    # The messages of MG, LU and FT suit block order best, or a fitted order.
    assert {place[:2] for place in others} == {(2, 4)}
    assert {"cyclic", "reversed"} <= {place[2] for place in others}


def test_a_command_in_a_plan_file_needs_no_option(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'schema = 1\n[[measure]]\nkernel = "app"\ncommand = "./a {ranks}"\nppn = [1, 2]\n'
        "search = true\n"
    )
    plan = load_plan(tmp_path / "plan.toml", CONTEXT, seed=1)
    assert [cell.parameters["command"] for cell in plan.cells] == ["./a {ranks}"] * 2
    assert plan.search is not None and len(plan.search.cells) == 2
    (tmp_path / "plan.toml").write_text(
        'schema = 1\n[search]\nwithin = "5%"\n[[measure]]\nkernel = "app"\n'
        'command = "./a {rank}"\nsearch = true\n'
    )
    with pytest.raises(AssayError, match="placeholder"):
        load_plan(tmp_path / "plan.toml", CONTEXT, seed=1)


def test_measures_that_do_not_apply_to_a_command_are_left_out() -> None:
    assert load_plan(find_suite("quick"), CONTEXT, seed=1).search is None
    plan = load_plan(find_suite("quick"), CONTEXT, seed=1, app=App("mpirun -n {ranks} ./a"))
    # Of STREAM, DGEMM, ping-pong and the others only what concerns ranks remains.
    assert {cell.kernel for cell in plan.cells} == {"app"}
    assert {cell.placement.ppn for cell in plan.cells} == {1, 4}
    assert [measure.kernel for measure in app_measures([], App("./a {ranks}"))] == ["app"]
