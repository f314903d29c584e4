"""Communication matrices of commands: orders fitted to them, how they are passed, mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.launch.commands.launch_command import rankfile_text
from assay.model.placement import Placement
from assay.model.plan import Plan, PlanContext
from assay.model.rank_order import seats_by_rank
from assay.plans.app import App, read_app
from assay.plans.fitted_order import read_matrix, share_between
from assay.plans.suites import Source, find_suite, load_plan
from assay.plans.words import read_words

CONTEXT = PlanContext(cores=2, nodes=2)
COMMAND = "mpirun -n {ranks} -f {hostfile} ./a.out"
# Ranks 0 and 2 communicate, and 1 and 3; a little also 0 and 1.
PAIRS = "0 2 100\n2 0 100\n1 3 100\n3 1 100\n0 1 1\n"


def plan_of(tmp_path: Path, matrix: str, *words: str, command: str = COMMAND) -> Plan:
    path = tmp_path / "matrix.txt"
    path.write_text(matrix)
    app = read_app(command, None, None, None, matrix=path)
    return load_plan(find_suite("placement"), CONTEXT, 1, read_words(words), app=app)


def test_an_order_is_fitted_to_the_command_s_matrix(tmp_path: Path) -> None:
    """Ranks 0 and 2 on one node and 1 and 3 on the other, which is cyclic order."""
    plan = plan_of(tmp_path, PAIRS)
    four = {c.placement.order: c for c in plan.cells if c.placement.ranks == 4}
    assert {"block", "cyclic", "reversed"} == set(four)  # the best one has a name
    assert plan.fitted == ()
    assert any("order cyclic: 100% fewer bytes between nodes" in c for c in plan.choices)
    assert plan.between[four["block"].id] == pytest.approx(400 / 401)
    assert plan.between[four["cyclic"].id] == pytest.approx(1 / 401)
    assert all(c.placement.ranks == 4 for c in plan.cells if c.id in plan.between)


def test_for_other_numbers_of_ranks_nothing_is_fitted(tmp_path: Path) -> None:
    path = tmp_path / "matrix.txt"
    path.write_text("0 3 9\n3 0 9\n1 2 9\n2 1 9\n")
    app = read_app(COMMAND, None, None, None, matrix=path)
    plan = load_plan(find_suite("placement"), PlanContext(cores=4, nodes=2), 1, app=app)
    assert {c.placement.ranks for c in plan.cells if c.id in plan.fitted} == {4}
    note_text = "order = fitted on 8 ranks, but the communication matrix covers 4."
    assert [note for note in plan.notes if note_text in note]


def test_an_order_without_a_name_is_a_list_of_seats(tmp_path: Path) -> None:
    pairs = "0 3 9\n3 0 9\n1 2 9\n2 1 9\n"
    plan = plan_of(tmp_path, pairs)
    (fitted,) = [c for c in plan.cells if c.id in plan.fitted]
    seats = seats_by_rank(fitted.placement.order, 2, 2)
    assert seats[0][0] == seats[3][0] != seats[1][0] == seats[2][0]
    assert plan.between[fitted.id] == 0.0
    assert plan.search is not None and fitted.id in plan.search.cells


def test_without_a_matrix_nothing_is_fitted(tmp_path: Path) -> None:
    plan = load_plan(find_suite("placement"), CONTEXT, 1, app=App(COMMAND))
    assert plan.between == {} and plan.fitted == ()
    assert {c.placement.order for c in plan.cells} == {"block", "cyclic", "reversed"}
    words = read_words(["order=block,fitted", "ppn=2"])
    with pytest.raises(AssayError, match="without a communication matrix") as refused:
        load_plan(find_suite("placement"), CONTEXT, 1, words, app=App(COMMAND))
    assert "--matrix" in refused.value.fix


def test_a_matrix_of_a_number_that_is_not_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="covers 3 ranks, but no placement") as refused:
        plan_of(tmp_path, "0 1 5\n1 2 5\n2 0 5\n")
    assert refused.value.where.endswith("matrix.txt")
    assert "(1, 2, 4)" in refused.value.what
    assert "ppn=" in refused.value.fix


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("0 1\n1 0\n2 2\n", "2 numbers in a line, and 3 lines", ":"),
        ("0 -1\n1 0\n", "at least 0", "line 1"),
        ("0 1\nx 0\n", "not a row of numbers", "line 2"),
        ("0 nan\n1 0\n", "at least 0", "line 1"),
        ("", "there are no numbers", "line 1"),
        ("5 0\n0 7\n", "no message between different ranks", "matrix.txt"),
    ],
)
def test_invalid_matrices(tmp_path: Path, text: str, what: str, where: str) -> None:
    with pytest.raises(AssayError, match=re.escape(what)) as refused:
        plan_of(tmp_path, text)
    if where != ":":
        assert where in refused.value.where
    assert refused.value.fix


def test_files_that_can_t_be_read(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="No such file") as refused:
        read_matrix(tmp_path / "none.txt")
    assert refused.value.where == str(tmp_path / "none.txt") and refused.value.fix
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AssayError, match="it is not text"):
        read_matrix(tmp_path / "binary")


def test_a_command_that_ignores_the_order_needs_no_matrix(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no placeholder that gives it an order") as refused:
        plan_of(tmp_path, PAIRS, command="mpirun -n {ranks} ./a.out")
    assert refused.value.where == "--matrix" and "{hostfile}" in refused.value.fix


def test_a_plans_own_matrix_is_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text(PAIRS)
    text = (
        'schema = 1\nmatrix = "m.txt"\n[[measure]]\nkernel = "app"\n'
        'command = "./a {hostfile}"\nnodes = 2\nppn = 2\norder = ["block", "fitted"]\n'
    )
    path = tmp_path / "plan.toml"
    path.write_text(text)
    source = Source()
    plan = load_plan(path, CONTEXT, 1, source=source)
    assert [c.placement.order for c in plan.cells] == ["block", "cyclic"]
    # The content is kept: a job that plans later uses the same, even if the file changes.
    (tmp_path / "m.txt").write_text("nonsense")
    assert load_plan(path, CONTEXT, 1, source=Source(source.texts)).cells == plan.cells
    path.write_text(text.replace("ppn = 2", "ppn = 1"))
    with pytest.raises(AssayError, match="nonsense"):
        load_plan(path, CONTEXT, 1)


def test_the_share_between_nodes_excludes_messages_of_a_rank_to_itself(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("1000 6\n2 500\n")
    matrix = read_matrix(tmp_path / "m")
    assert share_between(matrix, [(0, 0), (1, 0)]) == 1.0
    assert share_between(matrix, [(0, 0), (0, 1)]) == 0.0


def test_rankfiles_name_each_rank_s_host_and_cores() -> None:
    placement = Placement(2, 2, threads=1, order="0,2,1,3")
    assert rankfile_text(placement, ["a", "b"]) == (
        "rank 0=a slot=0\nrank 1=b slot=0\nrank 2=a slot=1\nrank 3=b slot=1\n"
    )
    threaded = Placement(1, 2, threads=3)
    assert rankfile_text(threaded, ["a"]) == "rank 0=a slot=0-2\nrank 1=a slot=3-5\n"
