"""Schedules worked out by hand, and properties that hold for every load."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.usage.jobs import State
from assay.usage.scheduler.machine import (
    EqualNodes,
    FailedNodes,
    Machine,
    Partition,
    Reservation,
)
from assay.usage.scheduler.policy import Maui, Multifactor, Policy, Timing
from assay.usage.scheduler.replay import replay, replay_all
from assay.usage.scheduler.schedule import Workload
from schedule_cases import workload
from schedule_program import plain

pytestmark = pytest.mark.slow
TEN = Machine(nodes=(EqualNodes(count=10),))


def starts(jobs: Workload, machine: Machine = TEN, **policy) -> list[float]:
    return replay(jobs, machine, Policy(**policy), program=plain()).start.tolist()


# Job 0 holds 6 of 10 nodes until 10. Job 1 needs 8: it waits until 10. Job 2 needs all: until 15.
# Job 3, with 2 nodes for 20 s, leaves 8 nodes for job 1, but delays job 2. Job 4, with 2 nodes for
# 6 s, ends at 10 and delays neither.
TEXTBOOK = workload(submit=[0, 1, 2, 3, 4], run=[10, 5, 5, 20, 6], nodes=[6, 8, 10, 2, 2])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"backfill": "none"}, [0, 10, 15, 20, 20]),
        ({"backfill": "easy"}, [0, 10, 23, 3, 4]),
        ({"backfill": "easy", "reservations": 2}, [0, 10, 15, 20, 4]),
        ({"backfill": "conservative"}, [0, 10, 15, 20, 4]),
    ],
)
def test_a_textbook_schedule(policy, expected):
    assert starts(TEXTBOOK, **policy) == expected


def test_without_a_reservation_small_jobs_pass_a_large_one():
    jobs = workload(submit=[0, 1, 2], run=[10, 5, 20], nodes=[6, 8, 4])
    assert starts(jobs, backfill="easy", reservations=0) == [0, 22, 2]
    assert starts(jobs, backfill="easy", reservations=1) == [0, 10, 15]


def test_an_early_end_compresses_the_plan():
    jobs = workload(submit=[0, 1, 2], run=[4, 5, 5], limit=[10, 5, 5], nodes=[6, 8, 10])
    assert starts(jobs, backfill="conservative") == [0, 4, 9]


def test_consecutive_nodes_wait_for_a_gap_that_is_wide_enough():
    # Nodes 0-2, 3-5 and 6-9; at 4 the first and the last are free, 7 nodes, but at most 4 in a row.
    jobs = workload(submit=[0, 0, 0, 1], run=[4, 9, 4, 5], nodes=[3, 3, 4, 5])
    assert starts(jobs, allocation="free") == [0, 0, 0, 4]
    assert starts(jobs, allocation="contiguous") == [0, 0, 0, 9]


def test_nodes_are_shared_by_processors_memory_and_gpus():
    machine = Machine(nodes=(EqualNodes(count=2, processors=4, memory=16.0, gpus=1),))
    jobs = workload(
        submit=[0, 1, 2, 3],
        run=[10, 10, 10, 10],
        nodes=[2, 1, 1, 1],
        processors=[4, 2, 1, 1],
        memory=[16, 4, 0, 8],
        gpus=[0, 1, 1, 0],
    )
    made = replay(jobs, machine, Policy(sharing="processor"), program=plain())
    # Job 0 has 2 processors and 8 B of both nodes. Job 1 fits node 0, job 2 the GPU of node 1;
    # job 3 fits the memory of node 1 only: 8 B are left there, 4 B on node 0.
    assert made.start.tolist() == [0, 1, 2, 3]
    assert made.first_node.tolist() == [0, 0, 1, 1]
    # Without sharing job 0 has both nodes, then jobs 1 and 2 one each.
    assert starts(jobs, machine, sharing="node") == [0, 10, 10, 20]


def test_no_job_reaches_into_a_maintenance_window_but_its_users_may():
    window = Reservation(begin=10, end=20, users=("ann",))
    machine = Machine(nodes=(EqualNodes(count=10),), reservations=(window,))
    jobs = workload(submit=[1, 1, 1], run=[9, 10, 10], nodes=[5, 5, 5], user=[1, 1, 0])
    assert starts(jobs, machine) == [1, 20, 1]


def test_a_failed_node_ends_its_jobs_which_begin_anew():
    down = FailedNodes(begin=4, end=7, first=2, last=2)
    machine = Machine(nodes=(EqualNodes(count=4),), failures=(down,))
    jobs = workload(submit=[0, 0], run=[10, 5], nodes=[2, 2])
    made = replay(jobs, machine, Policy(), program=plain())
    assert made.start.tolist() == [0, 7]
    assert made.end.tolist() == [10, 12]
    assert made.runs.tolist() == [1, 2]
    assert made.lost.tolist() == [0, 8]
    given_up = replay(jobs, machine, Policy(requeue=False), program=plain())
    assert given_up.state.tolist() == [State.COMPLETED, State.NODE_FAILURE]
    assert given_up.end.tolist() == [10, 4]


def test_jobs_end_at_their_limit_and_come_back_with_twice_of_it():
    jobs = workload(submit=[0], run=[11], limit=[3], nodes=[4])
    killed = replay(jobs, TEN, Policy(), program=plain())
    assert (killed.end[0], killed.state[0]) == (3, State.TIMEOUT)
    free = replay(jobs, TEN, Policy(kill=False), program=plain())
    assert (free.end[0], free.state[0]) == (11, State.COMPLETED)
    again = replay(jobs, TEN, Policy(resubmit=True), program=plain())
    # Limits of 3, 6 and 12 s.
    assert (again.start[0], again.end[0], again.runs[0], again.lost[0]) == (9, 20, 3, 4 * 9)
    short = Machine(nodes=TEN.nodes, partitions=(Partition(name="a", longest=6),))
    most = replay(jobs, short, Policy(resubmit=True), program=plain())
    assert (most.end[0], most.state[0], most.runs[0]) == (9, State.TIMEOUT, 2)


def test_what_the_machine_or_a_partition_cannot_hold_is_refused():
    machine = Machine(
        nodes=TEN.nodes,
        partitions=(Partition(name="all"), Partition(name="small", last=3, largest=2, longest=5)),
    )
    jobs = workload(
        submit=[0, 0, 0, 0],
        run=[1, 1, 1, 6],
        nodes=[11, 10, 3, 1],
        partition=[0, 0, 1, 1],
    )
    made = replay(jobs, machine, Policy(), program=plain())
    refused, done = State.CANCELLED, State.COMPLETED
    assert made.state.tolist() == [refused, done, refused, refused]
    assert np.isnan(made.start).tolist() == [True, False, True, True]


def test_users_wait_for_their_jobs():
    jobs = workload(
        submit=[0, 0, 0], run=[5, 3, 1], nodes=[1, 1, 1], after=[-1, 0, 1], think=[0, 2, 4]
    )
    made = replay(jobs, TEN, Policy(), program=plain())
    assert made.submit.tolist() == made.start.tolist() == [0, 7, 14]


def test_launching_and_ending_hold_the_nodes():
    jobs = workload(submit=[0, 1], run=[5, 5], limit=[10, 10], nodes=[10, 10])
    made = replay(jobs, TEN, Policy(timing=Timing(launch=1, done=2)), program=plain())
    assert made.start.tolist() == [0, 8]
    assert made.end.tolist() == [6, 14]


def test_backfilling_in_intervals():
    # Job 2 could start at 2, but backfilling looks at the queue at 0, 30, 60 …
    jobs = workload(submit=[0, 1, 2], run=[100, 10, 10], nodes=[6, 10, 4])
    assert starts(jobs, timing=Timing(backfill=30)) == [0, 100, 30]


def test_nodes_that_a_reservation_takes():
    # At 1, node 0 is free; nodes 1 and 2 are at 10, node 3 at 100. Job 3 has two from 10 on: the
    # last to become free leave node 0 to job 4, the lowest do not.
    jobs = workload(
        submit=[0, 0, 0, 2, 3],
        run=[1, 10, 100, 5, 50],
        limit=[1, 10, 100, 5, 50],
        nodes=[1, 2, 1, 2, 1],
    )
    four = Machine(nodes=(EqualNodes(count=4),))
    for reserved, expected in (("latest", [0, 0, 0, 10, 3]), ("lowest", [0, 0, 0, 10, 10])):
        policy = Policy(backfill="conservative", reserved=reserved)
        assert replay(jobs, four, policy, program=plain()).start.tolist() == expected


def test_submissions_wait_for_the_delay_and_ends_do_not():
    # Job 1 comes 1 s after a pass for a submission. Job 3 waits for the end of job 2 only.
    jobs = workload(submit=[0, 1, 1, 4], run=[2, 1, 5, 1], nodes=[4, 1, 10, 10])
    assert starts(jobs, timing=Timing(delay=3)) == [0, 2, 3, 8]
    assert starts(jobs) == [0, 1, 2, 7]


def test_fair_share_prefers_who_used_less():
    # Both of job 1 and job 2 wait for job 0, which is ann's. Job 2 is bob's, who used nothing.
    jobs = workload(submit=[0, 1, 2], run=[100, 5, 5], nodes=[10, 10, 10], user=[0, 0, 1])
    weights = Multifactor(fair_share=1000, period=10)
    assert starts(jobs, order="multifactor", multifactor=weights) == [0, 105, 100]
    assert starts(jobs, order="fcfs") == [0, 100, 105]
    maui = Maui(queue_time=0, fair_share=1, targets={"ann": 50, "bob": 50})
    assert starts(jobs, order="maui", maui=maui) == [0, 105, 100]


def test_the_factor_of_the_classic_fair_share():
    """UE and F by hand, compared by weights between which the order changes.

    Ann (3 shares) used all, bob (1 share) nothing. Ann: UE = 1, F = 2^(−1 ÷ 0.75) = 0.397. Bob:
    UE = 0 + (1 − 0) × 0.25, F = 2^(−1) = 0.5. The difference of 0.103 against the one of QOS.
    """
    jobs = workload(
        submit=[0, 1, 2], run=[100, 5, 5], nodes=[10] * 3, user=[0, 0, 1], qos=[1, 1, 0]
    )
    shares = {"ann": 3.0, "bob": 1.0}
    difference = 0.5 - 2 ** (-1 / 0.75)

    def order(weight: float) -> list[float]:
        weights = Multifactor(
            fair_share=1.0, qos=weight, shares=shares, qos_priority={"high": 1.0}, period=10
        )
        return starts(jobs, order="multifactor", multifactor=weights)

    assert order(difference * 0.999) == [0, 105, 100]
    assert order(difference * 1.001) == [0, 100, 105]


def test_expansion_prefers_short_jobs():
    jobs = workload(submit=[0, 1, 2], run=[100, 50, 5], nodes=[10, 10, 10])
    maui = Maui(queue_time=0, expansion=1)
    assert starts(jobs, order="maui", maui=maui) == [0, 105, 100]


def test_several_replays_at_once_keep_their_order():
    jobs = [workload(submit=[k], run=[1], nodes=[1]) for k in range(7)]
    made = replay_all([(job, TEN, Policy()) for job in jobs], program=plain(), processes=3)
    assert [schedule.start[0] for schedule in made] == list(range(7))


def load(seed: int, jobs: int = 60, exact: bool = False) -> Workload:
    random = np.random.default_rng(seed)
    run = random.integers(1, 40, jobs)
    return workload(
        submit=np.sort(random.integers(0, 6 * jobs, jobs)).tolist(),
        run=run.tolist(),
        limit=(run if exact else run + random.integers(0, 60, jobs)).tolist(),
        nodes=random.integers(1, 11, jobs).tolist(),
    )


def part(jobs: Workload, size: int) -> Workload:
    columns = {
        field.name: getattr(jobs, field.name)[:size]
        for field in dataclasses.fields(jobs)
        if isinstance(getattr(jobs, field.name), np.ndarray)
    }
    return dataclasses.replace(jobs, **columns)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["none", "easy", "conservative"]),
    st.sampled_from(["free", "contiguous"]),
    st.sampled_from(["fcfs", "maui"]),
)
def test_capacity_is_never_exceeded_and_all_jobs_run_once(seed, backfill, allocation, order):
    jobs = load(seed)
    policy = Policy(backfill=backfill, allocation=allocation, order=order)
    made = replay(jobs, TEN, policy, program=plain())
    assert (made.start >= jobs.submit).all()
    assert (made.end - made.start == jobs.run).all()
    for time in made.start:
        running = (made.start <= time) & (time < made.end)
        assert jobs.nodes[running].sum() <= 10
        if allocation == "contiguous":
            taken = [
                node
                for first, count in zip(made.first_node[running], jobs.nodes[running], strict=True)
                for node in range(first, first + count)
            ]
            assert len(taken) == len(set(taken))
            assert max(taken) < 10
    if backfill == "none" and order == "fcfs":
        assert (np.diff(made.start) >= 0).all()
        assert not made.backfilled.any()


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_with_exact_estimates_later_jobs_delay_no_conservative_start(seed):
    jobs = load(seed, 40, exact=True)
    cases = [(part(jobs, size), TEN, Policy(backfill="conservative")) for size in range(1, 41)]
    made = replay_all(cases, program=plain())
    for schedule in made:
        size = len(schedule.start)
        assert (schedule.start == made[-1].start[:size]).all()


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_with_exact_estimates_easy_never_delays_the_head(seed):
    """Once all jobs before it have started, a job's reservation holds whatever comes after it."""
    jobs = load(seed, 40, exact=True)
    made = replay_all([(part(jobs, n), TEN, Policy()) for n in range(1, 41)], program=plain())
    heads = 0
    for job, schedule in enumerate(made):
        if job and schedule.start[:job].max() > jobs.submit[job]:
            continue
        heads += 1
        assert made[-1].start[job] == schedule.start[job]
    assert heads > 0
