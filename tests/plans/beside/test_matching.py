"""Cells of the site's executables beside those of kernels: where they run, and why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.linpack import linpack_flops
from assay.kernels.memory import STREAM_WORK
from assay.kernels.naming import cell_name
from assay.model.cell import OWN_TOOLCHAIN, Cell
from assay.model.placement import Placement
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.plans.beside.hpl_input import hpl_input
from assay.plans.beside.limits import first_limit
from assay.plans.beside.matching import with_beside
from assay.plans.beside.programs import SiteProgram
from assay.questions.placement.best.recommendations import own_line
from plan_files import measure

CG = SiteProgram(
    Path("/x/cg.A.x"), "npb", "cg", "A", None, "mpi", "ab", "3.4", "mpich", "/x/mpirun"
)
LATENCY = replace(CG, path=Path("/x/osu_latency"), tool="osu", benchmark="latency", size="")


def planned(kernel: str, *placements: Placement, **parameters: object) -> Plan:
    given = {p.name: p.default for p in find_kernel(kernel).parameters} | parameters
    cells = tuple(Cell(kernel, given, each, "embedded") for each in placements or (Placement(),))
    return Plan("p", "p", cells, Replication(), 1)


def added(plan: Plan, program: SiteProgram) -> list[Cell]:
    return [c for c in with_beside(plan, [program]).cells if c.toolchain == OWN_TOOLCHAIN]


def why_not(plan: Plan, program: SiteProgram) -> str:
    with pytest.raises(AssayError, match="No executable corresponds to a cell") as caught:
        with_beside(plan, [program])
    return caught.value.what


def test_the_executable_has_the_placement_of_the_kernel() -> None:
    two = Placement(nodes=2, ppn=2, binding="spread", node_set=1)
    plan = planned("npb.cg", Placement(), two, **{"class": "A"})
    one, other = added(plan, CG)
    assert (one.placement, other.placement) == (Placement(), two)
    assert one.kernel == "beside.npb"
    assert one.parameters["of"] == "npb.cg" and one.parameters["at"] == "class=A"
    assert one.parameters["sha256"] == "ab"
    work = find_kernel("npb.cg").work({"class": "A"}, 1, 1)["operations"]
    assert one.parameters["work"] == work
    assert one.parameters == other.parameters
    assert cell_name(one) == "cg.A.x"
    assert with_beside(plan, [CG]).choices == (
        "Beside assay's kernels: cg.A.x (NPB 3.4), 2 cells with /x/mpirun; its first launch may "
        "take 1 min 30 s (--timeout).",
    )
    given = with_beside(plan, [CG], timeout=5.0)
    assert {c.parameters["timeout"] for c in given.cells if c.kernel == "beside.npb"} == {5.0}
    assert given.choices[0].endswith("/x/mpirun; a launch may take 5.00 s.")


def test_its_command_can_be_run_by_hand_whatever_the_names_of_folders() -> None:
    odd = replace(CG, path=Path("/my {n} codes/cg.A.x"))
    (cell,) = added(planned("npb.cg", Placement(ppn=2), **{"class": "A"}), odd)
    assert own_line(cell) == "OMP_NUM_THREADS=1 /x/mpirun -n 2 '/my {n} codes/cg.A.x'"


def test_a_plan_can_not_name_an_executable(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"only by `assay run SUITE --beside DIR`"):
        measure(tmp_path, "kernel = 'beside.npb'\nprogram = '/bin/ls'")


def test_another_class_and_another_benchmark_are_named() -> None:
    ep = replace(CG, path=Path("/x/ep.A.x"), benchmark="ep")
    plan = planned("npb.cg", **{"class": "A"})
    both = with_beside(plan, [CG, ep, replace(CG, path=Path("/x/cg.B.x"), size="B")])
    assert both.notes == ("The plan has no cell that corresponds to ep.A.x and cg.B.x.",)
    assert "ep.A.x" in why_not(plan, ep)


@pytest.mark.parametrize(
    ("changes", "placement", "says"),
    [
        ({"ranks": 4}, Placement(ppn=2), "it is compiled for 4 ranks"),
        ({"parallel": "serial"}, Placement(ppn=2), "it is not linked with MPI"),
        ({"parallel": "serial"}, Placement(threads=2), "neither MPI nor OpenMP"),
        ({}, Placement(threads=2), "several threads"),
        ({}, Placement(ppn=2, order="reversed"), "the order reversed"),
        ({}, Placement(ppn=6), "only powers of two"),
        ({"benchmark": "sp"}, Placement(ppn=8), "only square numbers"),
    ],
)
def test_seats_that_it_can_not_have_are_refused(
    changes: dict, placement: Placement, says: str
) -> None:
    program = replace(CG, **changes)
    plan = planned(f"npb.{program.benchmark}", placement, **{"class": "A"})
    assert says in why_not(plan, program)


def test_openmp_and_square_numbers_are_no_reason() -> None:
    openmp = replace(CG, parallel="openmp", mpi="", mpirun="")
    assert added(planned("npb.cg", Placement(threads=4), **{"class": "A"}), openmp)
    nine = planned("npb.bt", Placement(ppn=9), **{"class": "A"})
    assert added(nine, replace(CG, benchmark="bt"))


def test_a_refusal_at_one_placement_is_a_note(tmp_path: Path) -> None:
    plan = planned("npb.cg", Placement(), Placement(ppn=3), Placement(ppn=5), **{"class": "A"})
    assert with_beside(plan, [CG]).notes == (
        "cg.A.x is not measured beside CG class A on 3 ranks and 1 other cell: it takes only "
        "powers of two as numbers of ranks.",
    )


def test_osu_gets_the_message_size_and_hpl_the_order() -> None:
    (latency,) = added(planned("network.pingpong", Placement(ppn=2), bytes=4096), LATENCY)
    assert latency.parameters["arguments"] == "-m 4096:4096"
    assert "bytes=4096" in str(latency.parameters["at"])
    old = replace(LATENCY, takes_size=False)
    (latency,) = added(planned("network.pingpong", Placement(ppn=2), bytes=4096), old)
    assert latency.parameters["arguments"] == ""
    assert "bytes=4096" in str(latency.parameters["at"])
    assert "two ranks" in why_not(planned("network.pingpong", Placement(ppn=4)), LATENCY)
    hpl = replace(CG, path=Path("/x/xhpl"), tool="hpl", benchmark="hpl", size="")
    (cell,) = added(planned("linpack", Placement(ppn=6), n=1000, nb=64), hpl)
    assert cell.parameters["work"] == linpack_flops(1000)
    lines = str(cell.parameters["input"]).splitlines()
    assert [lines[place].split()[0] for place in (4, 5, 6, 7, 9, 10, 11)] == [
        *("1", "1000", "1", "64", "1", "2", "3")
    ]
    assert "n=20000" in why_not(planned("linpack"), hpl)


def test_one_sided_programs_stand_beside_flush_and_lock() -> None:
    two = Placement(ppn=2)
    put = replace(LATENCY, path=Path("/x/osu_put_latency"), benchmark="put_latency")
    for sync in ("flush", "lock"):
        (cell,) = added(planned("network.one_sided", two, bytes=64, sync=sync), put)
        assert cell.parameters["arguments"] == f"-w allocate -s {sync} -m 64:64"
        assert cell.parameters["at"] == f"bytes=64 op=put sync={sync} window=1"
        assert cell.parameters["of"] == "network.one_sided"
    for other in ({"sync": "fence"}, {"op": "get"}, {"window": 64}, {"from": 1, "to": 0}):
        assert "no cell that corresponds" in why_not(
            planned("network.one_sided", two, **other), put
        )
    assert "two ranks" in why_not(planned("network.one_sided", Placement(ppn=4)), put)
    bandwidth = replace(put, path=Path("/x/osu_get_bw"), benchmark="get_bw")
    (cell,) = added(planned("network.one_sided", two, op="get", window=64), bandwidth)
    assert cell.kernel == "beside.osu"
    # OSU's atomic operations are on characters.
    atomic = replace(put, path=Path("/x/osu_fop_latency"), benchmark="fop_latency")
    plan = planned("network.one_sided", two, op="fetch_and_op")
    assert "no cell that corresponds" in why_not(plan, atomic)


def test_persistent_programs_stand_beside_persistent_calls() -> None:
    two = Placement(ppn=2)
    blocking = replace(LATENCY, path=Path("/x/osu_allreduce"), benchmark="allreduce")
    persistent = replace(blocking, benchmark="allreduce_persistent")
    plan = planned("network.collective", two, op="allreduce", bytes=64, call="persistent")
    (cell,) = added(plan, persistent)
    assert cell.parameters["at"] == "op=allreduce bytes=64 call=persistent"
    assert "no cell that corresponds" in why_not(plan, blocking)
    plain = planned("network.collective", two, op="allreduce", bytes=64)
    assert "no cell that corresponds" in why_not(plain, persistent)
    unequal = planned("network.collective", two, op="alltoallv", bytes=64, imbalance=1.5)
    alltoallv = replace(blocking, benchmark="alltoallv")
    assert "no cell that corresponds" in why_not(unequal, alltoallv)


def test_hpcg_gets_the_grid_of_each_rank() -> None:
    hpcg = replace(CG, path=Path("/x/xhpcg"), tool="hpcg", benchmark="hpcg", size="")
    plan = planned("hpcg", Placement(ppn=2, threads=3), nx=64, nz=32)
    (cell,) = added(plan, hpcg)
    assert cell.kernel == "beside.hpcg"
    assert str(cell.parameters["input"]).splitlines()[2:] == ["64 64 32", "5"]
    assert (
        cell.parameters["work"] == find_kernel("hpcg").work(plan.cells[0].parameters, 2, 3)["flops"]
    )
    assert cell_name(cell) == "xhpcg nx=64 ny=0 nz=32"
    # A core that reaches 0.05 Gflop/s ends within the limit of the first launch.
    eight_sets = 8 * float(cell.parameters["work"]) / 5e7 / 6
    assert first_limit(cell.parameters, 6) == pytest.approx(65.0 + eight_sets)
    assert "name one, such as nx=104" in why_not(planned("hpcg"), hpcg)


def test_stream_stands_beside_arrays_in_memory() -> None:
    stream = replace(
        CG, path=Path("/x/stream"), tool="stream", benchmark="stream", size="", parallel="openmp"
    )
    for op in STREAM_WORK:
        (cell,) = added(planned("memory.stream", Placement(threads=2), op=op), stream)
        assert cell.parameters["at"] == f"op={op} elements=0"
        assert cell.parameters["of"] == "memory.stream"
    assert "compiled with" in why_not(planned("memory.stream", elements=1000), stream)
    assert "NUMA" in why_not(planned("memory.stream", memory_node=1), stream)


def test_collectives_need_the_operation_and_the_first_root() -> None:
    bcast = replace(LATENCY, path=Path("/x/osu_bcast"), benchmark="bcast")
    four = Placement(ppn=4)
    (cell,) = added(planned("network.collective", four, op="bcast", bytes=1024), bcast)
    assert cell.parameters["arguments"] == "-m 1024:1024"
    assert cell.parameters["at"] == "op=bcast bytes=1024"
    for other in ({"op": "bcast", "root": 1}, {"op": "allreduce"}):
        assert "no cell that corresponds" in why_not(
            planned("network.collective", four, **other), bcast
        )


def test_other_settings_of_the_sites_hpl_stay(tmp_path: Path) -> None:
    lines = hpl_input(Path("/none/xhpl"), 10, 0, 1, 1).splitlines()
    assert lines[7].split()[0] == "192"
    lines[7], lines[21] = "232 104      NBs", "3            BCASTs"
    (tmp_path / "HPL.dat").write_text("\n".join(lines))
    own = hpl_input(tmp_path / "xhpl", 5000, 0, 2, 4).splitlines()
    assert own[5].split() == ["5000", "Ns"] and own[7].split() == ["232", "NBs"]
    assert own[10].split() == ["2", "Ps"] and own[11].split() == ["4", "Qs"]
    assert own[21] == lines[21]
    (tmp_path / "HPL.dat").write_text("short\n")
    assert "1000" in hpl_input(tmp_path / "xhpl", 1000, 8, 1, 1)


def test_candidates_of_a_search_stay_candidates() -> None:
    plan = planned("npb.cg", Placement(), Placement(ppn=2), **{"class": "A"})
    one, two = (cell.id for cell in plan.cells)
    plan = Plan("p", "p", plan.cells, plan.replication, 1, search=Search((one, two), (two,)))
    beside = with_beside(plan, [CG])
    ids = [cell.id for cell in beside.cells[2:]]
    assert beside.search is not None
    assert beside.search.cells == (one, two, *ids)
    assert beside.search.optional == (two, ids[1])


def test_message_rates_are_of_all_pairs() -> None:
    rate = replace(LATENCY, path=Path("/x/osu_mbw_mr"), benchmark="mbw_mr")
    four = Placement(ppn=4)
    for pairs in (0, 2):
        (cell,) = added(planned("network.rate", four, bytes=8, pairs=pairs), rate)
        assert cell.kernel == "beside.osu_rate"
        assert cell.parameters["arguments"] == "-m 8:8"
        assert cell.parameters["at"] == f"bytes=8 pairs={pairs} window=64"
        assert cell.parameters["work"] == 2.0
    assert "it pairs all ranks" in why_not(planned("network.rate", four, pairs=1), rate)
    assert "no cell that corresponds" in why_not(planned("network.rate", four, window=8), rate)


def test_nonblocking_collectives_are_beside_overlap() -> None:
    reduction = replace(LATENCY, path=Path("/x/osu_iallreduce"), benchmark="iallreduce")
    barrier = replace(LATENCY, path=Path("/x/osu_ibarrier"), benchmark="ibarrier")
    two = Placement(ppn=2)
    (cell,) = added(planned("network.overlap", two, op="iallreduce", bytes=64), reduction)
    assert cell.parameters["arguments"] == "-m 64:64"
    assert cell.parameters["at"] == "op=iallreduce bytes=64"
    (cell,) = added(planned("network.overlap", two, op="ibarrier"), barrier)
    assert cell.parameters["arguments"] == "" and cell.parameters["at"] == "op=ibarrier bytes=-1"
    assert "no cell that corresponds" in why_not(planned("network.overlap", two), reduction)
