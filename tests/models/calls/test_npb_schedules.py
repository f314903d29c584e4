"""Schedules of the NPB: messages and bytes are the catalogue's, and no rank waits forever."""

from __future__ import annotations

from collections import Counter

import pytest

from assay.kernels import find_kernel
from assay.models.calls.actions import CallSchedule
from assay.models.calls.npb import NPB, npb_messages, npb_schedule
from assay.trace.exports.simgrid import SPEED
from call_schedules import executed

ALL = 10**9
RANKS = (1, 2, 4, 6, 9)


def work(kernel: str, ranks: int) -> dict[str, float]:
    entry = find_kernel(f"npb.{kernel}")
    parameters = {each.name: each.default for each in entry.parameters} | {"class": "S"}
    return dict(entry.work(parameters, ranks, 1))


@pytest.mark.parametrize("kernel", NPB)
@pytest.mark.parametrize("ranks", RANKS)
def test_messages_and_bytes_are_the_catalogues(kernel: str, ranks: int) -> None:
    made = npb_schedule(kernel, "S", ranks, 10.0, ALL)
    counted = work(kernel, ranks)
    alone = ranks == 1  # the catalogue counts the calls that a single rank makes for itself
    assert made.factor == 1.0
    assert made.schedule.messages == (0 if alone else counted["messages"])
    assert made.schedule.sent == pytest.approx(0.0 if alone else counted["sent"])


@pytest.mark.parametrize("kernel", NPB)
@pytest.mark.parametrize("ranks", RANKS)
def test_the_computing_is_all_there(kernel: str, ranks: int) -> None:
    made = npb_schedule(kernel, "S", ranks, 10.0)
    flop = sum(
        float(line.split()[2])
        for lines in made.schedule.lines
        for line in lines
        if " compute " in line
    )
    seconds = flop / SPEED * made.factor
    if kernel == "mg" and ranks > 1:  # every rank computes the coarse levels
        assert 10.0 < seconds < 10.0 * (1.0 + ranks / 7.0)
    else:
        assert seconds == pytest.approx(10.0, rel=1e-6)


@pytest.mark.parametrize("kernel", NPB)
@pytest.mark.parametrize("ranks", [2, 5, 8])
def test_every_rank_comes_to_its_end(kernel: str, ranks: int) -> None:
    assert executed(npb_schedule(kernel, "S", ranks, 1.0, 2).schedule) == ranks


def test_a_receive_without_a_send_is_seen() -> None:
    schedule = CallSchedule(2)
    schedule.receive(0, 1, 8)
    assert executed(schedule) == 1


def test_collectives_pass_the_messages_of_their_algorithm() -> None:
    schedule = CallSchedule(4)
    schedule.allreduce(16)
    assert schedule.passed == {16: 8}  # two steps of each rank
    schedule = CallSchedule(4)
    schedule.allgather(100)
    assert schedule.passed == {100: 12}
    schedule = CallSchedule(3)
    schedule.alltoall(10)
    assert (schedule.passed, schedule.sent) == ({10: 6}, 60)


def test_a_part_of_the_iterations_stands_for_all() -> None:
    whole = npb_schedule("bt", "S", 4, 60.0, ALL)
    part = npb_schedule("bt", "S", 4, 60.0, 3)
    assert part.factor == 20.0
    for size, number in part.schedule.passed.items():
        assert number * part.factor == whole.schedule.passed[size]
    assert npb_messages("bt", "S", 4) == pytest.approx(whole.schedule.passed)


@pytest.mark.parametrize("kernel", ["bt", "sp"])
@pytest.mark.parametrize("ranks", [2, 4, 9, 16])
def test_each_pair_exchanges_what_the_catalogue_says(kernel: str, ranks: int) -> None:
    made = npb_schedule(kernel, "S", ranks, 1.0, 2)
    sent: Counter[tuple[int, int]] = Counter()
    for rank, lines in enumerate(made.schedule.lines):
        for line in lines:
            words = line.split()
            if words[1] in ("send", "isend"):
                sent[rank, int(words[2])] += int(words[4])
    entry = find_kernel(f"npb.{kernel}")
    parameters = {each.name: each.default for each in entry.parameters} | {"class": "S"}
    assert entry.peers is not None
    expected = entry.peers(parameters, ranks, 1)
    assert {pair: size * made.factor for pair, size in sent.items()} == pytest.approx(expected)
