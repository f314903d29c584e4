"""Devices by slot: what is usual in a slot is learned, and a slow device is found in any slot."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline, DeviceSlots
from assay.check.baseline.samples import LearningCheck
from assay.check.components import DEVICE_LINK, DEVICE_TRIAD, OF_DEVICES
from assay.check.decision.decide import check_values, decide
from assay.check.decision.model import Given
from assay.check.devices.learned_slots import learn_slots
from assay.check.devices.slots import levelled
from assay.check.facts.groups.devices import device_facts, device_users
from assay.check.measuring.device_meter import with_users
from assay.check.model import DeviceSet, MeasureAgain, Quiet, Reading
from assay.system.devices.model import Device, DeviceUser
from check_baselines import component, normal_table

DEVICES = DeviceSet(backend="cuda", names=["A"] * 4)
#: The links of the last two devices are half as fast: they are at the other socket.
RATES = {DEVICE_TRIAD: [2e12] * 4, DEVICE_LINK: [50e9, 50e9, 25e9, 25e9]}


def reading(name: str, slower: float = 0.0, device: int = 0, noise: float = 0.0) -> Reading:
    values = [rate * math.exp(-noise) for rate in RATES[name]]
    values[device] *= 1.0 - slower
    return Reading(component=name, values=values, cpus=[0, 1, 2, 3], seconds=0.2)


def fleet(nodes: int, devices: DeviceSet = DEVICES, first: int = 0) -> list[LearningCheck]:
    draws = np.random.default_rng(nodes + first)
    return [
        LearningCheck(
            host=f"n{first + node}",
            utc=9.0 * 3600.0 * session,
            rounds=[
                {name: reading(name, noise=float(draws.normal(0.0, 0.005))) for name in RATES}
                for _ in range(3)
            ],
            devices=devices,
        )
        for session in range(10)
        for node in range(nodes)
    ]


def learned(checks: list[LearningCheck]) -> Baseline:
    slots, levelled_checks, _ = learn_slots(checks, None)
    return learn(Learning(kind="k", program="p", checks=levelled_checks, devices=slots))


def test_a_slot_that_is_farther_away_isnt_a_slow_device() -> None:
    slots, checks, said = learn_slots(fleet(6), None)
    assert slots is not None and (slots.names, said) == (["A"] * 4, [])
    half = math.log(2.0) / 2.0
    assert slots.shifts[DEVICE_LINK] == pytest.approx([-half, -half, half, half], abs=1e-9)
    assert slots.shifts[DEVICE_TRIAD] == pytest.approx([0.0] * 4, abs=1e-9)
    alike = checks[0].rounds[0][DEVICE_LINK].values
    assert max(alike) == pytest.approx(min(alike))
    # One device too few says nothing of slots.
    assert levelled(Reading(component=DEVICE_LINK, values=[1.0]), slots).values == [1.0]


def test_few_nodes_tell_no_slots_and_what_was_learned_stays() -> None:
    slots, _, _ = learn_slots(fleet(2), None)
    assert slots is not None and slots.shifts == {}
    known = DeviceSlots(backend="cuda", names=["A"] * 4, shifts={DEVICE_LINK: [0.0] * 4})
    assert learn_slots(fleet(6), known)[0] == known
    other = msgspec.structs.replace(known, names=["B"] * 4)
    found = learn_slots(fleet(6), other)[0]
    assert found is not None and found.names == ["A"] * 4


def test_nodes_with_other_devices_are_left_out() -> None:
    odd = DeviceSet(backend="cuda", names=["B"] * 4)
    checks = [*fleet(6), *fleet(1, odd, first=6)]
    slots, used, said = learn_slots(checks, None)
    assert slots is not None and slots.names == ["A"] * 4
    assert all(not each.rounds[0] for each in used if each.host == "n6")
    assert said == ["The devices of n6 aren't compared: most nodes have 4 devices of another kind."]


@pytest.mark.parametrize("device", range(4))
def test_a_slow_device_is_found_in_any_slot_and_named(device: int) -> None:
    baseline = learned(fleet(6))
    assert baseline.devices is not None and set(baseline.components) == set(RATES)
    table = normal_table(0.01)
    names = ("sessions", "movement", "moving", "fleet", "within", "between", "check_scatter")
    steady = {n: getattr(component(0.0, fleet=table, within=table), n) for n in names}
    parts = {
        name: msgspec.structs.replace(usual, **steady)
        for name, usual in baseline.components.items()
    }
    baseline = msgspec.structs.replace(baseline, components=parts)
    slow = levelled(reading(DEVICE_LINK, 0.2, device), baseline.devices)
    rounds = [{DEVICE_TRIAD: reading(DEVICE_TRIAD), DEVICE_LINK: slow}]
    given = Given(baseline=baseline, rounds=rounds, components=tuple(RATES))
    again = decide(given)
    assert isinstance(again, MeasureAgain) and again.components == (DEVICE_LINK,)
    confirmed = Given(
        baseline=baseline, rounds=[*rounds, {DEVICE_LINK: slow}], components=tuple(RATES)
    )
    found = decide(confirmed)
    assert not isinstance(found, MeasureAgain) and found.outcome == "healthy"
    (noted,) = found.suspected
    rate = "40.0 GB/s" if device < 2 else "20.0 GB/s"
    assert noted.text.startswith(f"device {device} link {rate}, -20% ")
    assert noted.text.endswith(f"; check device {device}")
    assert check_values(confirmed)[DEVICE_LINK] < 40e9


def test_a_device_that_others_use_leaves_the_check_undecided() -> None:
    used = [
        Device(address="0000:3b:00.0", source="nvml", users=[DeviceUser(pid=7, name="a")]),
        Device(address="0000:3c:00.0", source="nvml", users=[DeviceUser(pid=8, name="b")]),
    ]
    facts = list(device_facts(used))
    assert {each.name: each.value for each in facts}["device.1.users"] == "8"
    assert (device_users(facts), device_users(facts, own=8)) == (2, 1)
    baseline = learned(fleet(6))
    found = with_users({name: reading(name, 0.5, 1) for name in RATES}, 2)
    assert all(each.quiet == Quiet(users=2) for each in found.values())
    given = Given(baseline=baseline, rounds=[found, found], components=OF_DEVICES, time_left=0.0)
    verdict = decide(given)
    assert not isinstance(verdict, MeasureAgain) and verdict.outcome == "undecided"
    assert "busy: 2 other processes used the devices" in verdict.reason
