"""A node whose adapter has become slow fails with two different partners, and with no less.

Three hosts with adapters of 100 Mbit/s measure messages in pairs with the real program; the token
bucket of one of them is set to a tenth. The measuring programs have real-time priority, so that
other work on this machine hardly changes what they measure. The two ends of a message run on the
same cores, and each is other work to the other one: all readings count as quiet.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

import node_faults
from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.baseline.samples import LearningCheck
from assay.check.components import MESSAGE_BANDWIDTH, WITH_PARTNER
from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.model import Given, NodeState
from assay.check.decision.next_state import next_state
from assay.check.measuring.answers import read_answer
from assay.check.model import CheckRecord, CheckVerdict, Quiet, Reading
from assay.lab.cluster import Host
from check_programs import plain
from virtual_cluster import FAST_ETHERNET, VirtualCluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make network namespaces"),
]

Round = dict[str, Reading]
# Rounds of a check, and learning checks of each pair, which count as made on several days.
_ROUNDS = 3
_CHECKS = 8
_BETWEEN = 9.0 * 3600.0
# What a busy machine does to a reading may be measured again this often.
_TRIES = 3
# Share of the rate that is set which an undisturbed learning check reaches.
_WIRED = 0.8


class Pairs:
    """Hosts that measure messages two and two, and what their checks keep."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.hosts: Sequence[Host] = cluster.hosts
        self.baseline = self._learned()
        self.records: dict[str, list[CheckRecord]] = {}
        self.states: dict[str, NodeState] = {}

    def set_rate(self, host: Host, rate: float) -> None:
        words = node_faults.rate_command(rate)
        subprocess.run(self.cluster.command(host, *words), check=True, timeout=60)

    def check(self, *pair: Host) -> dict[str, CheckVerdict]:
        """A check on both hosts of a pair, each with the other one as its partner."""
        found = {}
        for host, partner, rounds in self._measured(*pair):
            before = self.records.setdefault(host.name, [])
            for number in range(1, _ROUNDS + 1):
                given = Given(
                    baseline=self.baseline,
                    state=self.states.get(host.name, NodeState()),
                    records=before,
                    rounds=rounds[:number],
                    components=WITH_PARTNER,
                    partner=partner.name,
                    utc=self._utc(len(before)),
                    time_left=8.0 if number < _ROUNDS else 0.0,
                )
                verdict = decide(given)
                if isinstance(verdict, CheckVerdict):
                    break
            assert isinstance(verdict, CheckVerdict), verdict
            self.states[host.name] = next_state(given)
            before.append(
                CheckRecord(
                    utc=given.utc,
                    outcome=verdict.outcome,
                    seconds=1.0,
                    values=check_values(given),
                    slow=slow_components(verdict),
                    partner=partner.name,
                )
            )
            found[host.name] = verdict
        return found

    def _learned(self) -> Baseline:
        first, second, third = self.hosts
        checks = [
            LearningCheck(host=host.name, utc=self._utc(number - _CHECKS), rounds=rounds)
            for number in range(_CHECKS)
            for pair in ((first, second), (first, third), (second, third))
            for host, rounds in self._as_wired(*pair)
        ]
        return learn(Learning(kind="lab", program="0" * 64, checks=checks))

    def _as_wired(self, first: Host, second: Host) -> list[tuple[Host, list[Round]]]:
        """The rounds of both hosts at nearly the rate that is set, or of the last try."""
        for _ in range(_TRIES):
            found = [(host, rounds) for host, _, rounds in self._measured(first, second)]
            best = [
                max(max(each[MESSAGE_BANDWIDTH].values) for each in rounds) for _, rounds in found
            ]
            if min(best) > _WIRED * FAST_ETHERNET:
                break
        return found

    @staticmethod
    def _utc(number: int) -> float:
        return 1.8e9 + _BETWEEN * number

    def _measured(self, first: Host, second: Host) -> Iterator[tuple[Host, Host, list[Round]]]:
        """The rounds of both hosts, which measure at one time."""
        both = ((first, second), (second, first))
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda pair: self._rounds(*pair), both))
        for (host, partner), rounds in zip(both, found, strict=True):
            yield host, partner, rounds

    def _rounds(self, host: Host, partner: Host) -> list[Round]:
        command = [
            "chrt",
            "--rr",
            "1",
            str(plain()),
            "--partner",
            partner.addresses[0],
            "--wait",
            "60",
        ]
        orders = [f"measure {name} 0.2" for name in WITH_PARTNER] * _ROUNDS
        done = subprocess.run(
            self.cluster.command(host, *command),
            input="".join(f"{order}\n" for order in orders),
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        )
        read = []
        for order, line in zip(orders, done.stdout.splitlines()[1:], strict=True):
            reading = read_answer(line.encode(), order.split()[1])
            assert isinstance(reading, Reading), reading
            assert reading.values and not reading.failed, reading
            read.append(msgspec.structs.replace(reading, quiet=Quiet()))
        size = len(WITH_PARTNER)
        return [
            {each.component: each for each in read[begin : begin + size]}
            for begin in range(0, len(read), size)
        ]


@pytest.fixture(scope="module")
def pairs() -> Iterator[Pairs]:
    with VirtualCluster(3, rates=(FAST_ETHERNET,)) as cluster:
        yield Pairs(cluster)


@pytest.fixture
def slow(pairs: Pairs) -> Iterator[Host]:
    """The first host, at a tenth of its rate, and nothing known of any host."""
    pairs.records.clear()
    pairs.states.clear()
    pairs.set_rate(pairs.hosts[0], FAST_ETHERNET / 10)
    yield pairs.hosts[0]
    pairs.set_rate(pairs.hosts[0], FAST_ETHERNET)


def test_a_slow_adapter_fails_its_node_with_two_partners(pairs: Pairs, slow: Host) -> None:
    _, second, third = pairs.hosts
    for number in range(_TRIES):
        partner = (second, third)[number % 2]
        found = pairs.check(slow, partner)
        # The partner sees the same slowness, and must not fail for it.
        assert found[partner.name].outcome != "unhealthy", found
        # A single check, or one partner, doesn't suffice.
        if number == 0:
            assert found[slow.name].outcome != "unhealthy", found
        if found[slow.name].outcome == "unhealthy":
            break
        # A partner may say it only once; a third check is for a busy machine.
        pairs.records[partner.name].clear()
    verdict = found[slow.name]
    assert verdict.outcome == "unhealthy"
    assert verdict.findings[0].about == MESSAGE_BANDWIDTH
    assert verdict.reason.startswith("message bandwidth ") and "adapter" in verdict.reason
    assert len(verdict.reason) <= 100


def test_one_partner_is_not_enough(pairs: Pairs, slow: Host) -> None:
    for _ in range(_TRIES):
        found = pairs.check(slow, pairs.hosts[1])
        assert all(each.outcome != "unhealthy" for each in found.values()), found
    assert MESSAGE_BANDWIDTH in pairs.records[slow.name][-1].slow


def test_adapters_that_are_as_learned_fail_no_node(pairs: Pairs) -> None:
    pairs.records.clear()
    pairs.states.clear()
    first, second, third = pairs.hosts
    for pair in ((first, second), (first, third), (second, third)):
        found = pairs.check(*pair)
        assert all(each.outcome != "unhealthy" for each in found.values()), found
