"""CPUs of a fake machine's ranks: by hand, and by the documented rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.campaign.machine.bench import FakeMachine
from assay.errors import AssayError
from assay.launch.fake.seats import of_domain, ranks_of, siblings_of
from assay.model.placement import Placement

# CPUs of each rank on a node of 8 cores of 2 hardware threads in 2 domains.
SEATS = [
    (Placement(ppn=3), [[0], [1], [2]]),
    (Placement(ppn=2, threads=2), [[0, 1], [2, 3]]),
    (Placement(ppn=2, threads=2, binding="spread"), [[0, 2], [4, 6]]),
    (Placement(ppn=3, binding="spread"), [[0], [2], [5]]),
    (Placement(ppn=4, threads=1, binding="per-numa"), [[0], [1], [4], [5]]),
    (Placement(ppn=2, threads=3, binding="per-numa"), [[0, 1, 2], [4, 5, 6]]),
    (Placement(ppn=2, binding="numa:1"), [[4], [5]]),
    (Placement(ppn=2, threads=2, smt="on"), [[0, 8], [1, 9]]),
    (Placement(ppn=3, smt="on"), [[0], [8], [1]]),
    (Placement(ppn=2, threads=2, smt="on", binding="spread"), [[0, 8], [4, 12]]),
    (Placement(ppn=2, threads=2, smt="on", binding="per-numa"), [[0, 8], [4, 12]]),
]


@pytest.mark.parametrize(("placement", "cpus"), SEATS)
def test_ranks_are_pinned_as_by_kernels(placement: Placement, cpus: list[list[int]]) -> None:
    ranks = list(ranks_of(placement, ["fake0"], 8, 2, 2))
    assert [rank.cpus for rank in ranks] == cpus
    assert [rank.numa for rank in ranks] == [int(own[0] % 8 >= 4) for own in cpus]
    assert all(rank.pinned and not rank.oversubscribed for rank in ranks)


def test_too_many_threads_share_cpus() -> None:
    ranks = list(ranks_of(Placement(ppn=9), ["fake0"], 8, 2, 2))
    assert all(rank.oversubscribed for rank in ranks) and ranks[8].cpus == [8]
    assert not any(r.oversubscribed for r in ranks_of(Placement(ppn=9, smt="on"), ["a"], 8, 2, 2))
    assert not any(r.pinned for r in ranks_of(Placement(ppn=2, binding="none"), ["a"], 8, 2, 2))
    # If the number of cores is unknown, ranks are consecutive.
    loose = [rank.cpus for rank in ranks_of(Placement(ppn=2, threads=2), ["a"], None, 1, 1)]
    assert loose == [[0, 1], [2, 3]]


def test_domains_share_the_cores_evenly() -> None:
    assert [len(of_domain(domain, 10, 4)) for domain in range(4)] == [2, 3, 2, 3]
    assert siblings_of(2, 2) == [[0, 2], [1, 3]]


def test_a_scenario_describes_its_cores_and_domains(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text("schema = 1\ncores = 8\nsmt = 2\ndomains = 2\n")
    machine = FakeMachine(scenario)
    assert machine.context.numa == {0: 4, 1: 4}
    assert machine.context.threads_per_core == 2
    assert machine.system.memory.nodes[1].cpus == [4, 5, 6, 7, 12, 13, 14, 15]
    scenario.write_text("schema = 1\ncores = 8\n")
    assert FakeMachine(scenario).context.numa == {}
    scenario.write_text("schema = 1\ncores = 2\ndomains = 3\n")
    with pytest.raises(AssayError, match="'domains' must be between 1 and 2"):
        FakeMachine(scenario)
