"""The NPB classes that suites choose: those that fit the machine and the available time."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from assay.kernels import kernels
from assay.model.cell import Cell
from assay.model.plan import Plan, PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import read_words
from plan_files import TWO, classes

NPB = {kernel.name: kernel for kernel in kernels() if kernel.name.startswith("npb.")}
GB = 1e9


def alike(text: str) -> Mapping[str, str]:
    """``"ep B, cg A"``: the class of each kernel."""
    return {f"npb.{name}": size for name, size in (part.split() for part in text.split(", "))}


# By hand, in seconds on one core, the chosen class and the next one: official operations over the
# catalogue's rates. EP, 2^31 and 2^33 / 1.1e9: 1.95, 7.8. CG, 1.5e9 and 5.5e10 / 2.5e9: 0.6, 22.
# MG, 1.95e10 and 1.56e11 / 8e9: 2.4, 19. FT, 7.1e9 and 9.2e10 / 2e10: 0.36, 4.6. IS, 10 * 2^25 and
# 10 * 2^27 / 2.5e8: 1.3, 5.4. LU, 1.2e11 and 5e11 / 6e10: 2.0, 8.3. BT, 1.7e11 and 7e11 / 5e10:
# 3.4, 14. SP, 8.5e10 and 3.6e11 / 3e10: 2.8, 12.
FOUR_SECONDS = alike("ep B, cg A, mg B, ft A, is B, lu A, bt A, sp A")
# The same up to two seconds: MG A, 3.9e9 / 8e9 = 0.5; BT W, 7.7e9 / 5e10 = 0.15 (A takes 3.4);
# SP W, 1.4e10 / 3e10 = 0.5 (A takes 2.8).
TWO_SECONDS = alike("ep B, cg A, mg A, ft A, is B, lu A, bt W, sp W")
# Up to 6 seconds also FT B, 4.6, and IS C, 5.4.
HALF_OF_12 = FOUR_SECONDS | alike("ft B, is C")
# Up to 32 seconds: EP C 7.8 (D 125), CG B 22 (C 57), MG C 19 (D 389), FT C 20 (D 448), IS C 5.4
# (D 86), LU B 8.3 (C 34), BT B 14 (C 57), SP B 12 (C 48).
HALF_OF_64 = alike("ep C, cg B, mg C, ft C, is C, lu B, bt B, sp B")
# Up to 96 seconds: EP C, IS D 86, and class C of the others, of which CG and BT take longest, 57.
HALF_OF_192 = alike("ep C, cg C, mg C, ft C, is D, lu C, bt C, sp C")

# Cores, nodes, bytes of a node; the classes of the speedup over one core and up; those of the
# larger part, where there is one.
MACHINES = [
    (1, 1, 2 * GB, FOUR_SECONDS, None),
    (2, 1, 2 * GB, FOUR_SECONDS, None),
    (2, 1, 24 * GB, FOUR_SECONDS, None),
    # MG A and B have two grids of 256^3, 0.32 GB with the coarser ones; FT A two arrays of 2^23
    # points of 16 B, 0.27 GB; IS B 2^25 keys of 4 B, 0.13 GB, and as many to move on two ranks.
    (2, 1, 0.25 * GB, FOUR_SECONDS | alike("mg W, ft W, is A"), None),
    (8, 1, 30 * GB, FOUR_SECONDS, None),
    (12, 1, 30 * GB, FOUR_SECONDS, HALF_OF_12),
    (64, 1, 256 * GB, FOUR_SECONDS, HALF_OF_64),
    # FT C has two arrays of 512^3 points of 16 B, 4.3 GB; of IS C each of 64 ranks has counts of
    # 2^23 values of 4 B twice, 4.3 GB in addition to the keys.
    (64, 1, 4 * GB, FOUR_SECONDS, HALF_OF_64 | alike("ft B, is B")),
    (192, 1, 800 * GB, FOUR_SECONDS, HALF_OF_192),
    # IS D has counts of 2^27 values twice on each of 192 ranks, 206 GB; C of 2^23, 12.9 GB.
    (192, 1, 16 * GB, FOUR_SECONDS, HALF_OF_192 | alike("is C")),
    (2, 4, 8 * GB, FOUR_SECONDS, None),
    (1, 4, 8 * GB, FOUR_SECONDS, None),
    (64, 16, 256 * GB, FOUR_SECONDS, HALF_OF_64),
]


def plan_of(suite: str, cores: int, nodes: int, memory: float, **changes: str) -> Plan:
    context = PlanContext(cores, nodes, memory=memory)
    return load_plan(find_suite(suite), context, seed=1, changes=changes)


def benchmarks(plan: Plan) -> list[Cell]:
    return [cell for cell in plan.cells if cell.kernel in NPB]


def core_seconds(cell: Cell) -> float:
    kernel = NPB[cell.kernel]
    assert kernel.pace is not None
    return kernel.work(cell.parameters, 1, 1)["operations"] / kernel.pace


def seconds(cell: Cell) -> float:
    """On all its cores, with perfect scaling. Plain code takes 3 to 4 times as long."""
    slower = 3.5 if cell.parameters.get("code") == "plain" else 1.0
    return slower * core_seconds(cell) / (cell.placement.ranks * cell.placement.threads)


@pytest.mark.parametrize(("cores", "nodes", "memory", "speedup", "larger"), MACHINES)
def test_suite_npb_takes_classes_of_a_few_seconds(
    cores: int,
    nodes: int,
    memory: float,
    speedup: Mapping[str, str],
    larger: Mapping[str, str] | None,
) -> None:
    plan = plan_of("npb", cores, nodes, memory)
    assert plan.notes == ()
    counts = {1 << power for power in range(8) if 1 << power <= cores}
    counts |= {count for count in (3, 5, 7) if count <= cores} | {max(cores - 1, 1), cores}
    over = {1 << power for power in range(5) if 1 << power <= nodes}
    for kernel, size in speedup.items():
        own = [cell for cell in benchmarks(plan) if cell.kernel == kernel]
        of_one = [c for c in own if (c.placement.nodes, c.placement.threads) == (1, 1)]
        most = larger[kernel] if larger else size
        # Quarter, half and all of the cores; and the speedup over nodes from one whole node on.
        parts = {max(cores // 4, 1), max(cores // 2, 1), cores}
        also = parts if most == size and cores > 8 else set()
        assert {c.placement.ppn for c in of_one if c.parameters["class"] == size} == counts | also
        assert {c.placement.ppn for c in of_one if c.parameters["class"] == most} >= parts
        whole = [c for c in own if c.placement.ppn == cores and c.parameters["class"] == most]
        assert {c.placement.nodes for c in whole} == over
        assert {c.parameters["class"] for c in own} == {size, most}
        # Threads are compared with as many processes.
        assert {c.parameters["class"] for c in own if c.placement.threads > 1} <= {size}


@pytest.mark.parametrize(("cores", "nodes", "memory"), [machine[:3] for machine in MACHINES])
def test_the_minimum_launches_of_suite_npb_fit_into_its_budget(
    cores: int, nodes: int, memory: float
) -> None:
    """By hand, of a block: on one core all kernels take 15 s, on all counts of a speedup 2.7 times
    as long, 40 s; threads less than 4 s beside that, but 7 s on two cores, where the speedup takes
    22 s; the larger classes 1.8 s on all cores, and 7 times that with half and a quarter of them,
    12 s; further nodes less again than the first, 2 s (of one core, 11 s, beside 15 s); plain code
    of four kernels, 7.9 s of these 15 s, 3.5 times that on one core, 28 s, less on all, 14 s on two
    cores. So 82 s of 120: memory that all cores wait for, slower cores and launches have the rest.
    """
    plan = plan_of("npb", cores, nodes, memory)
    cells = benchmarks(plan)
    assert all(core_seconds(c) <= 4 for c in cells if c.placement.ranks == 1)
    assert all(seconds(c) <= (14 if c.parameters.get("code") == "plain" else 4) for c in cells)
    full = [c for c in cells if c.placement.ppn == cores > 8 and "code" not in c.parameters]
    assert all(seconds(c) <= 0.5 for c in full)
    rule = plan.replication
    assert sum(map(seconds, cells)) <= 0.7 * rule.budget / rule.min_launches


# By hand, of core_seconds as above. A tenth of the time, 0.4 s: EP W and MG W 0.06 (A 0.49), CG W
# 0.17 (A 0.6), FT A 0.36, IS A 0.34, LU W 0.30, BT W 0.15, SP S (W 0.47). Six times as much, 24 s:
# as up to 32 s. No less than 0.2 s: FT W 0.02 (A 0.36), IS W 0.04 (A 0.34), LU S (W 0.30).
TENTH = alike("ep W, cg W, mg W, ft A, is A, lu W, bt W, sp S")
LEAST = alike("ep W, cg W, mg W, ft W, is W, lu S, bt W, sp S")


@pytest.mark.parametrize(
    ("changes", "speedup"),
    [
        ({}, FOUR_SECONDS),
        ({"budget": "72 s"}, TENTH),
        ({"budget": "72 min"}, HALF_OF_64),
        ({"budget": "1 s"}, LEAST),
        # At the plan's launches per time, the pace is the plan's own; with more launches, their own
        # time.
        ({"budget": "360 s", "launches": "3"}, FOUR_SECONDS),
        ({"budget": "720 s", "launches": "60"}, TENTH),
        ({"launches": "60"}, FOUR_SECONDS),
        ({"launches": "1"}, FOUR_SECONDS),
    ],
)
def test_classes_of_suite_npb_follow_the_given_time(
    changes: Mapping[str, str], speedup: Mapping[str, str]
) -> None:
    plan = plan_of("npb", 4, 1, 64 * GB, **changes)
    assert {cell.kernel: str(cell.parameters["class"]) for cell in benchmarks(plan)} == speedup
    if "72 s" in changes.values():
        assert "npb.sp: class=S, the largest with core_seconds" in " ".join(plan.choices)


def test_an_included_suite_keeps_its_share_of_the_time() -> None:
    own = plan_of("full", 4, 1, 64 * GB)
    assert {cell.id for cell in plan_of("npb", 4, 1, 64 * GB).cells} < {c.id for c in own.cells}
    rule = own.replication
    less = plan_of("full", 4, 1, 64 * GB, budget=f"{rule.budget / 10} s")
    tenth = plan_of("npb", 4, 1, 64 * GB, budget="72 s")
    assert {cell.id for cell in tenth.cells} < {cell.id for cell in less.cells}


@pytest.mark.parametrize(("cores", "nodes", "memory"), [machine[:3] for machine in MACHINES])
def test_suite_standard_takes_classes_of_two_seconds(cores: int, nodes: int, memory: float) -> None:
    plan = plan_of("standard", cores, nodes, memory)
    small = memory < 2 * GB
    quick = {cell.id for cell in plan_of("quick", cores, nodes, memory).cells}
    own = [cell for cell in benchmarks(plan) if cell.id not in quick]
    for kernel, size in (TWO_SECONDS | (alike("mg W, ft W, is A") if small else {})).items():
        if kernel == "npb.cg":  # class A belongs to suite quick
            assert classes(plan, kernel) == {size}
        else:
            assert {c.parameters["class"] for c in own if c.kernel == kernel} == {size}
    assert {c.placement.ppn for c in own} == {1, cores}
    # Three samples of each, in the minimum number of launches: less than a third of the time.
    rule = plan.replication
    block = rule.min_samples * sum(map(seconds, own))
    assert block <= rule.budget / rule.min_launches / 3


def test_suite_steadiness_takes_classes_of_two_or_three_seconds_on_all_ranks() -> None:
    """EP B takes 1.95 s of a core, C 7.8, D 125; LU A 2.0, B 8.3, C 34; FT A 0.36, B 4.6, C 20."""
    wanted = {
        1: alike("ep B, lu A, ft A"),  # up to 2.5
        2: alike("ep B, lu A, ft B"),  # 5
        4: alike("ep C, lu B, ft B"),  # 10
        64: alike("ep D, lu C, ft C"),  # 160
    }
    for cores, sizes in wanted.items():
        plan = plan_of("steadiness", cores, 1, 256 * GB)
        assert {c.kernel: c.parameters["class"] for c in benchmarks(plan)} == sizes
    # Another benchmark instead: ten times 2^25 keys are 1.3 s, 2^27 5.4 s, 2^31 86 s.
    for cores, size in ((1, "B"), (2, "B"), (4, "C"), (64, "D")):
        plan = load_plan(
            find_suite("steadiness"),
            PlanContext(cores, memory=256 * GB),
            instead=read_words(["kernel=npb.is"]),
        )
        assert classes(plan, "npb.is") == {size}


def test_all_kernels_of_the_suite_placement_take_about_the_same_time() -> None:
    taken: dict[str, set[float]] = {}
    for cell in benchmarks(load_plan(find_suite("placement"), TWO)):
        taken.setdefault(cell.kernel, set()).add(core_seconds(cell))
    assert all(len(times) == 2 for times in taken.values())
    larger = [max(times) for times in taken.values()]
    assert min(larger) > 0.2 and max(larger) <= 1.5
