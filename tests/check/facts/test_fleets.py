"""What a fleet has in common: spread, groups, single nodes that differ, counters, kinds."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.check.facts.counters import (
    burst,
    counters_of,
    highest_rate,
    pack_counters,
    unpack_counters,
)
from assay.check.facts.fleet import (
    FactsBaseline,
    compare_facts,
    divided,
    failing,
    learn_facts,
    new_facts,
)
from assay.check.facts.kind import installed_memory, kind_of, kinds_of_fleet, nearest_kind
from assay.check.facts.reading import read_facts
from assay.check.model import Fact
from node_trees import GIB, server_files, write_tree
from small_process import called

DAY = 86400.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    tree = write_tree(tmp_path_factory.mktemp("server"), server_files())
    found = called(read_facts, tree, seconds=20, expect_idle=True).facts
    disk = Fact(name="disk./local.free", value=8e11, unit="B", rule="not below", look_at="/local")
    return [*found, disk, Fact(name="mount./home.answers", value=True, rule="not below")]


def changed(facts, **values):
    """The facts with other values; ``net__eth0__speed`` is net.eth0.speed, None leaves one out."""
    by_name = {name.replace("__", "."): value for name, value in values.items()}
    assert set(by_name) <= {fact.name for fact in facts}
    return [
        msgspec.structs.replace(fact, value=by_name.get(fact.name, fact.value))
        for fact in facts
        if by_name.get(fact.name, 0) is not None
    ]


def healthy(facts, draw, days):
    """A healthy node some days after boot: what varies between nodes and with time."""
    values = {
        "memory.total": 189.0 * GIB + draw.randint(-40, 40) * 2.0**20,
        "numa.node0.memory": 94.5 * GIB + draw.randint(-90, 90) * 2.0**20,
        "memory.available": (187.0 - draw.expovariate(1.0)) * GIB,
        "disk./local.free": 8e11 * draw.uniform(0.6, 1.0),
        "net.eth0.carrier_changes": draw.choice((1, 2, 2, 2, 4)),
        "net.eth0.rx_errors": draw.choice((0, 0, 0, 0, 0, 0, 3)),
        "ecc.mc0.corrected": draw.choice((0,) * 20 + (1, 2, 7)),
        "system.uptime": days * DAY,
        "sensor.temperature": draw.gauss(45, 5),
        "processes.users": 0.0,
        "throttle.events": draw.choice((0, 0, 0, 5, 900)),
    }
    return [msgspec.structs.replace(f, value=values.get(f.name, f.value)) for f in facts]


def test_healthy_nodes_of_a_fleet_have_no_findings(server):
    """1,000 checks of 50 nodes, 200 times on another fleet."""
    draw = random.Random(7)
    for _ in range(20):
        learned = learn_facts(
            {
                f"n{number}": [
                    healthy(server, draw, 2), healthy(server, draw, 9)
                ] for number in range(50)
            }
        )  # fmt: skip
        assert learned.different == []
        found = [
            finding.text
            for _ in range(50)
            for finding in failing(compare_facts(healthy(server, draw, 30), learned))
        ]
        assert found == []


def test_a_baseline_survives_its_file_and_is_small(server):
    draw = random.Random(1)
    learned = learn_facts({f"n{i}": [healthy(server, draw, 3)] for i in range(500)})
    text = msgspec.json.encode(learned)
    assert len(text) < 30_000
    assert msgspec.json.decode(text, type=FactsBaseline) == learned


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.integers(3, 60))
def test_any_healthy_fleet_is_learned_without_differences(server, seed, nodes):
    draw = random.Random(seed)
    learned = learn_facts({f"n{i}": [healthy(server, draw, 5)] for i in range(nodes)})
    assert failing(compare_facts(healthy(server, draw, 6), learned)) == []


def test_two_versions_are_groups_and_no_fault(server):
    old, new = "5.14.0-362.el9.x86_64", "5.14.0-427.el9.x86_64"
    by_host = {
        f"n{i}": [changed(server, version__kernel=old if i < 30 else new)] for i in range(50)
    }
    learned = learn_facts(by_host)
    assert learned.different == []
    assert divided(learned) == [f"kernel: {old} on 30 of 50 nodes, {new} on 20 of 50 nodes"]
    for version in (old, new):
        assert compare_facts(changed(server, version__kernel=version), learned) == []


def test_an_upgrade_in_progress_fails_no_node(server):
    """A version that no node had is told, and fails nobody; so does memory that a kernel keeps."""
    learned = learn_facts({f"n{i}": [server] for i in range(50)})
    upgraded = changed(
        server,
        version__kernel="6.1.0",
        version__microcode="0xa0011d5",
        version__driver__nvidia="550.54.14",
        memory__total=189.0 * GIB - 60 * 2**20,
    )
    findings = compare_facts(upgraded, learned)
    assert failing(findings) == []
    assert {finding.about for finding in findings} == {
        "version.kernel",
        "version.microcode",
        "version.driver.nvidia",
    }
    text = next(finding.text for finding in findings if finding.about == "version.kernel")
    assert text == ("kernel 6.1.0, fleet 5.14.0-362.el9.x86_64 (50 of 50 nodes); check kernel")


def test_a_group_of_several_nodes_is_no_fault_but_a_node_that_joins_it_is_told(server):
    slow = {f"n{i}" for i in (3, 4, 5, 6)}
    by_host = {
        f"n{i}": [changed(server, net__eth0__speed=10**8) if f"n{i}" in slow else server]
        for i in range(50)
    }
    learned = learn_facts(by_host)
    assert learned.different == []
    assert divided(learned) == ["eth0: 1 Gbit/s on 46 of 50 nodes, 100 Mbit/s on 4 of 50 nodes"]
    node = changed(server, net__eth0__speed=10**8)
    assert compare_facts(node, learned, host="n3") == []
    joined = compare_facts(node, learned, host="n20")
    assert failing(joined) == []
    assert [finding.about for finding in joined] == ["net.eth0.speed"]
    assert joined[0].probability == pytest.approx(4 / 50)
    assert failing(compare_facts(changed(server, net__eth0__speed=10**7), learned)) != []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("memory__total", 173.0 * GIB, "memory 173 GiB, fleet 189 GiB (49 of 50 nodes)"),
        ("net__eth0__speed", 10**8, "eth0 100 Mbit/s, fleet 1 Gbit/s (49 of 50 nodes)"),
        ("mount__/home__type", None, "mount /home missing, 49 of 50 nodes have it; check mount"),
        ("daemon__chronyd", False, "clock daemon chronyd not running; start the daemon"),
        ("memory__available", 60.0 * GIB, "available memory 60 GiB, fleet at least 187 GiB"),
    ],
)  # fmt: skip
def test_a_single_node_that_differs_is_named_and_not_learned(server, name, value, text):
    by_host = {f"n{i}": [changed(server, **{name: value}) if i == 7 else server] for i in range(50)}
    learned = learn_facts(by_host)
    assert [each.host for each in learned.different] == ["n7"]
    assert learned.different[0].text.startswith(text)
    assert failing(compare_facts(by_host["n7"][0], learned))[0].text.startswith(text)
    assert compare_facts(server, learned) == []


def test_a_fact_that_each_node_has_for_itself_is_not_judged(server):
    by_host = {f"n{i}": [changed(server, version__bios=f"serial {i}")] for i in range(50)}
    learned = learn_facts(by_host)
    assert learned.facts["version.bios"].groups == []
    assert divided(learned) == ["bios: a different value on nearly each of 50 nodes"]
    assert compare_facts(changed(server, version__bios="serial 99"), learned) == []


def test_a_new_fact_is_shown_and_not_judged(server):
    learned = learn_facts({f"n{i}": [server] for i in range(50)})
    new = Fact(name="net.eth7.state", value="down")
    assert compare_facts([*server, new], learned) == []
    assert new_facts([*server, new], learned) == [new]
    assert new_facts(server, learned) == []


def test_a_mount_that_nobody_knows_and_that_hangs_fails(server):
    learned = learn_facts({f"n{i}": [server] for i in range(50)})
    hung = Fact(name="mount./data.answers", value=False, rule="not below")
    assert [f.text for f in failing(compare_facts([*server, hung], learned))] == [
        "mount /data hangs"
    ]


def test_a_quantity_may_lie_beyond_the_fleet_by_the_width_of_its_range(server):
    by_host = {f"n{i}": [changed(server, memory__total=(185.0 + i / 10) * GIB)] for i in range(40)}
    learned = learn_facts(by_host)
    for size, bad in ((182.0, False), (180.0, True)):
        assert (
            bool(failing(compare_facts(changed(server, memory__total=size * GIB), learned))) == bad
        )


def test_a_part_that_several_nodes_lack_is_a_group(server):
    without = [fact for fact in server if not fact.name.startswith("mount./home")]
    learned = learn_facts({f"n{i}": [server if i >= 5 else without] for i in range(50)})
    assert learned.different == []
    assert "mount /home: nfs4 on 45 of 50 nodes, none on 5 of 50 nodes" in divided(learned)
    assert compare_facts(without, learned) == []
    # 2 of 50 are fewer than 5%.
    learned = learn_facts({f"n{i}": [server if i >= 2 else without] for i in range(50)})
    assert {each.host for each in learned.different} == {"n0", "n1"}
    assert failing(compare_facts(without, learned)) != []


@pytest.mark.parametrize(
    ("name", "usual", "better"),
    [
        ("net.eth0.state", "down", "up"),
        ("ib.mlx5_0.1.state", "down", "active"),
        ("memory.total", 189.0 * GIB, 380.0 * GIB),
        ("frequency.turbo", False, True),
        ("mount./home.type", "nfs", "nfs4"),
    ],
)
def test_what_is_better_than_the_fleet_fails_no_node(server, name, usual, better):
    def having(value):
        return changed(server, **{name.replace(".", "__"): value})

    learned = learn_facts({f"n{i}": [having(usual)] for i in range(50)})
    findings = compare_facts(having(better), learned)
    assert [(finding.about, finding.probability) for finding in findings] == [(name, 1.0)]
    if not name.startswith("mount"):
        other = learn_facts({f"n{i}": [having(better)] for i in range(50)})
        assert [f.about for f in failing(compare_facts(having(usual), other))] == [name]


def test_small_fleets(server):
    other = changed(server, net__eth0__mtu=9000)
    # One node is its own measure; of two that differ neither is right; of three one is named.
    assert failing(compare_facts(other, learn_facts({"a": [server]})))
    two = learn_facts({"a": [server], "b": [other]})
    assert two.different == []
    assert divided(two) == ["eth0 MTU: a different value on nearly each of 2 nodes"]
    three = learn_facts({"a": [server], "b": [other], "c": [server]})
    assert [each.host for each in three.different] == ["b"]
    assert learn_facts({}) == FactsBaseline(nodes=0, facts={})
    assert compare_facts(server, learn_facts({})) == []
    assert learn_facts({"a": []}).nodes == 1


def test_free_space_of_the_fleet_declines_without_a_fault(server):
    draw = random.Random(3)
    learned = learn_facts({f"n{i}": [healthy(server, draw, 5)] for i in range(50)})
    for free, full in ((4e11, False), (2e11, False), (1e10, True), (1e8, True)):
        found = failing(compare_facts(changed(server, **{"disk__/local__free": free}), learned))
        assert bool(found) == full, (free, found)
    assert found[0].text.startswith("/local full: 95.4 MiB free, fleet at least ")


class TestCounters:
    """Events since the last check against the fleet's rates."""

    @pytest.fixture
    def fleet(self, server):
        """Five nodes have many corrected errors, 30 a day, and the others none."""
        by_host = {
            f"n{i}": [
                changed(server, system__uptime=10 * DAY, ecc__mc0__corrected=0 if i > 4 else 310)
            ]
            for i in range(50)
        }
        return learn_facts(by_host)

    @staticmethod
    def after(server, days, events, more_days, more_events):
        first = changed(server, system__uptime=days * DAY, ecc__mc0__corrected=events)
        packed = pack_counters(counters_of(first))
        later = changed(
            server, system__uptime=(days + more_days) * DAY, ecc__mc0__corrected=more_events
        )
        return later, packed

    def test_only_the_increase_counts(self, server, fleet):
        later, packed = self.after(server, 100, 9000, 0.5, 9005)
        assert compare_facts(later, fleet, packed) == []
        later, packed = self.after(server, 100, 9000, 0.5, 99000)
        found = failing(compare_facts(later, fleet, packed))
        assert [finding.text for finding in found] == [
            "90000 corrected memory errors of mc0 in 12 h, fleet below 1.2/h; check DIMMs"
        ]

    def test_a_rate_up_to_ten_times_the_highest_of_the_fleet_is_healthy(self, server, fleet):
        for events, bad in ((300, False), (330, False), (800, True)):
            later, packed = self.after(server, 10, 100, 1, 100 + events)
            assert bool(compare_facts(later, fleet, packed)) == bad, events

    def test_few_events_are_no_burst_however_short_the_time(self, server, fleet):
        later, packed = self.after(server, 10, 0, 0.0001, 9)
        assert compare_facts(later, fleet, packed) == []

    def test_a_boot_restarts_the_count(self, server, fleet):
        first = changed(server, system__uptime=90 * DAY, ecc__mc0__corrected=5000)
        packed = pack_counters(counters_of(first))
        rebooted = changed(server, system__uptime=0.1 * DAY, ecc__mc0__corrected=7)
        assert compare_facts(rebooted, fleet, packed) == []
        rebooted = changed(server, system__uptime=0.1 * DAY, ecc__mc0__corrected=4000)
        assert failing(compare_facts(rebooted, fleet, packed)) != []

    def test_any_uncorrected_error_fails_and_is_told_once(self, server, fleet):
        broken = changed(server, ecc__mc1__uncorrected=1)
        assert failing(compare_facts(broken, fleet))[0].about == "ecc.mc1.uncorrected"
        packed = pack_counters(counters_of(broken))
        assert compare_facts(broken, fleet, packed) == []
        again = changed(server, ecc__mc1__uncorrected=2)
        assert failing(compare_facts(again, fleet, packed)) != []

    def test_throttling_and_links_that_change_are_told_and_fail_nobody(self, server, fleet):
        node = changed(server, throttle__events=10**7, net__eth0__carrier_changes=10**5)
        findings = compare_facts(node, fleet)
        assert {finding.about for finding in findings} == {
            "throttle.events",
            "net.eth0.carrier_changes",
        }
        assert failing(findings) == []

    def test_a_node_with_a_burst_while_learning_is_named_and_not_learned(self, server):
        by_host = {
            f"n{i}": [
                changed(server, system__uptime=10 * DAY, net__eth0__rx_crc_errors=0 if i else 10**6)
            ]
            for i in range(50)
        }
        learned = learn_facts(by_host)
        assert [(each.host, each.about) for each in learned.different] == [
            ("n0", "net.eth0.rx_crc_errors")
        ]
        assert failing(compare_facts(by_host["n0"][0], learned)) != []

    @given(st.dictionaries(st.text(max_size=20), st.floats(0, 2**48 - 1), max_size=60))
    @example({"system.uptime": 1.0} | {f"c{i}": float(i) for i in range(50)})
    def test_packed_counters_are_short_and_come_back(self, counters):
        packed = pack_counters(counters)
        assert len(packed) <= 256
        back = unpack_counters(packed)
        assert len(back) <= 32
        from assay.check.facts.counters import key

        same = {key(name) for name in counters}
        if len(same) == len(counters) <= 32:
            assert back == {key(name): float(int(value)) for name, value in counters.items()}
        if "system.uptime" in counters and len(same) == len(counters):
            assert back[key("system.uptime")] == int(counters["system.uptime"])

    @given(st.binary(max_size=300))
    def test_damaged_counters_are_read_as_something(self, server, packed):
        compare_facts(server, learn_facts({"a": [server]}), packed)

    @given(st.integers(10, 300), st.floats(0.01, 30))
    def test_the_chance_is_an_upper_limit_of_the_tail(self, events, mean):
        from scipy import stats

        exact = float(stats.poisson.sf(events - 1, mean))
        assert burst(events, mean, 0.1) >= exact * (1 - 1e-9)

    def test_the_highest_rate_without_an_event_is_the_rule_of_three(self):
        rate, exposure = highest_rate({f"n{i}": (0.0, 100.0) for i in range(30)})
        assert (rate, exposure) == (3 / 3000, 3000)


def named(facts, memory=189.0 * GIB, accelerators=4, sockets=2, cpus=8):
    return changed(
        facts,
        memory__total=memory,
        pci__accelerator__count=accelerators,
        cpu__sockets=sockets,
        cpu__present=cpus,
    )


@pytest.mark.parametrize(
    ("usable", "installed"),
    [
        (188.6, 192), (251.4, 256), (503.2, 512), (754.7, 768), (376.4, 384), (1007.3, 1024),
        (1510.0, 1536), (15.4, 16), (31.2, 32), (62.6, 64), (125.5, 128), (2015.0, 2048),
        (94.0, 96), (23.5, 24), (7.6, 8), (0.9, 1),
    ],
)  # fmt: skip
def test_memory_as_it_is_sold(usable, installed):
    assert installed_memory(usable * GIB) == installed


def test_memory_that_is_unknown():
    assert [installed_memory(each) for each in (None, 0.0, -1.0, float("inf"), "x")] == [0] * 5


def test_a_node_that_lost_a_part_is_compared_with_its_kind(server):
    full, other = kind_of(server), kind_of(named(server, memory=377.0 * GIB))
    assert full == "amd-epyc-7313-2s-8c-192g-4a"
    known = [full, other, "intel-xeon-gold-6248-2s-8c-192g"]
    assert nearest_kind(server, known) == full
    for node in (
        named(server, memory=173.0 * GIB),
        named(server, accelerators=3),
        named(server, accelerators=None),
        named(server, sockets=1, cpus=4, memory=94.0 * GIB),
        named(server, cpus=7),
    ):
        assert nearest_kind(node, known) == full
    # More memory than the node has is nearer than less.
    between = [kind_of(named(server, memory=size * GIB)) for size in (157.0, 252.0)]
    assert nearest_kind(server, between) == between[1]
    # Half of the memory is gone, and there is a kind with half the memory.
    halved = named(server, memory=189.0 * GIB)
    assert nearest_kind(halved, known, before=other) == other
    assert nearest_kind(halved, known) == full
    assert nearest_kind(server, ["intel-xeon-gold-6248-2s-8c-192g", "readme"]) == ""
    assert nearest_kind(server, []) == ""
    # The processor could not be read.
    assert nearest_kind([], known, before=full) == full


def test_kinds_of_a_fleet(server):
    by_host = {f"n{i}": server for i in range(40)}
    by_host |= {f"big{i}": named(server, memory=377.0 * GIB) for i in range(8)}
    by_host |= {"lost": named(server, memory=173.0 * GIB), "gpu": named(server, accelerators=3)}
    other = [
        msgspec.structs.replace(f, value="Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz")
        if f.name == "cpu.model"
        else f
        for f in server
    ]
    by_host["login"] = other
    kinds = kinds_of_fleet(by_host)
    assert {kind: len(hosts) for kind, hosts in kinds.items()} == {
        "amd-epyc-7313-2s-8c-192g-4a": 42,
        "amd-epyc-7313-2s-8c-384g-4a": 8,
        "intel-xeon-gold-6248-2s-8c-192g-4a": 1,
    }
    assert {"lost", "gpu"} <= set(kinds["amd-epyc-7313-2s-8c-192g-4a"])


@given(st.text())
def test_a_kind_is_always_a_file_name(model):
    kind = kind_of([Fact(name="cpu.model", value=model)])
    assert kind.isascii() and kind[0].isalnum() and len(kind) < 100
    assert all(character.isalnum() or character == "-" for character in kind)
