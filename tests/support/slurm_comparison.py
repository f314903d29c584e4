"""The scheduler's model beside a recording of a real Slurm: waits, and the order of starts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.scheduler.policy import Policy, Timing
from assay.usage.scheduler.replay import replay
from assay.usage.scheduler.schedule import Schedule, Workload
from slurm_load import Recording, machine, workload

# Slurm starts the jobs of one pass within milliseconds, and two passes are 1 s apart or more.
PASS_GAP = 0.5
# Settings of the recorded Slurm: batch_sched_delay (its default) and bf_resolution, s.
_DELAY, _RESOLUTION = 3.0, 1.0
# From long-200.txt, which no comparison is made with, s: from the allocation to the program, from
# the program's end to the end of the last node's epilog, what bf_interval is exceeded by, and the
# period of the controller's loop, in which it looks for submissions.
_LAUNCH, _DONE, _CYCLE, _TICK = 0.08, 0.026, 0.031, 1.007
_INTERVAL = re.compile(r"bf_interval=(\d+)")


@dataclass(frozen=True)
class Comparison:
    """``real``, ``modelled``: mean waits in s. ``passed``: share of jobs that Slurm started before
    one submitted earlier. ``backfilled``: share that its backfilling started.

    Shares of the order of starts, each in two readings: as logged, and with jobs that Slurm started
    in the same pass in either order. ``pairs``: of two jobs in the same order. ``longest``: the
    longest common subsequence ÷ jobs. ``ranks``: jobs with the same rank (a rank of their pass).
    """

    jobs: int
    real: float
    modelled: float
    passed: float
    backfilled: float
    pairs: tuple[float, float]
    longest: tuple[float, float]
    ranks: tuple[float, float]

    @property
    def error(self) -> float:
        """Of the mean wait, as a share of the real one."""
        return self.modelled / self.real - 1.0


def policy_of(recording: Recording, *, accounts: bool = False) -> Policy:
    """Slurm's backfilling at its times; its first pass and the controller's loop as recorded.

    Both are clocks which run since the controller was started. ``accounts``: see ``load_of``.
    """
    interval = _INTERVAL.search(recording.settings["SchedulerParameters"])
    assert interval is not None
    first = recording.cycles[0] - float(np.min(recording.submit)) if recording.cycles else 0.0
    timing = Timing(
        delay=_DELAY,
        tick=_TICK,
        tick_offset=max(0.0, recording.loop - float(np.min(recording.submit))),
        backfill=float(interval[1]) + _CYCLE,
        offset=max(0.0, first),
        resolution=_RESOLUTION,
        launch=0.0 if accounts else _LAUNCH,
        done=_DONE,
    )
    return Policy(order="fcfs", backfill="slurm", timing=timing)


def load_of(recording: Recording, *, accounts: bool = False) -> Workload:
    """The recorded jobs, sorted by their submission; start times are not used.

    They last as long as their sleep, or with ``accounts`` from start to end as Slurm accounts it:
    what there is to replay of a site's log, where launches take part of the time.
    """
    lasted = recording.end - recording.start if accounts else recording.sleep
    order = np.argsort(recording.submit, kind="stable")
    return workload(
        recording.submit[order],
        lasted[order],
        60.0 * recording.minutes[order],
        recording.nodes[order].astype(np.int64),
    )


def modelled(
    recording: Recording, policy: Policy, program: Path, *, accounts: bool = False
) -> Schedule:
    load = load_of(recording, accounts=accounts)
    return replay(load, machine(recording.size), policy, program=program)


def compared(recording: Recording, program: Path, *, accounts: bool) -> Comparison:
    """The recording beside the model; ``accounts``: see ``load_of``."""
    policy = policy_of(recording, accounts=accounts)
    return compare(recording, modelled(recording, policy, program, accounts=accounts))


def compare(recording: Recording, schedule: Schedule) -> Comparison:
    order = np.argsort(recording.submit, kind="stable")
    submit, real = recording.submit[order], recording.start[order]
    ours = schedule.start
    passes = passes_of(real)
    tied = passes.astype(np.float64)
    return Comparison(
        jobs=len(real),
        real=float(np.mean(real - submit)),
        modelled=float(np.mean(ours - submit)),
        passed=float(np.mean(passes < np.maximum.accumulate(passes))),
        backfilled=float(np.mean(recording.backfilled)),
        pairs=(same_pairs(real, ours), same_pairs(tied, ours)),
        longest=(longest(real, ours), longest(tied, ours)),
        ranks=(same_ranks(real, ours), same_ranks(tied, ours)),
    )


def passes_of(start: Floats) -> Ints:
    """The number of the scheduler's pass that started each job, in the order of time."""
    order = np.argsort(start, kind="stable")
    new = np.diff(start[order]) > PASS_GAP
    numbers = np.zeros(len(start), dtype=np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(new)])
    return numbers


def same_pairs(real: Floats, ours: Floats) -> float:
    """The share of pairs of jobs in the same order; a tie in either is no difference."""
    order = np.sign(real[:, None] - real[None, :]) * np.sign(ours[:, None] - ours[None, :])
    count = len(real)
    return float(1.0 - np.sum(order < 0) / max(1, count * (count - 1)))


def longest(real: Floats, ours: Floats) -> float:
    """The longest common subsequence of both orders ÷ jobs, where ties may be in either order."""
    tails: list[float] = []
    for index in np.lexsort((ours, real)).tolist():
        place = int(np.searchsorted(tails, ours[index], side="right"))
        tails[place : place + 1] = [float(ours[index])]
    return len(tails) / max(1, len(real))


def same_ranks(real: Floats, ours: Floats) -> float:
    """The share of jobs whose rank in the model's order is one of those of their tie in Slurm's."""
    rank = np.empty(len(ours), dtype=np.int64)
    rank[np.argsort(ours, kind="stable")] = np.arange(len(ours))
    ordered = np.sort(real)
    first = np.searchsorted(ordered, real, side="left")
    last = np.searchsorted(ordered, real, side="right")
    return float(np.mean((rank >= first) & (rank < last)))
