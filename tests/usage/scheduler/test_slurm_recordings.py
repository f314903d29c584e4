"""The model beside recordings of a real Slurm, and beside a Slurm that runs now.

docs/methods/scheduler.md ("Compared with Slurm") has the numbers of the recordings.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.usage.scheduler.policy import Policy
from schedule_program import plain
from slurm_comparison import (
    compare,
    compared,
    load_of,
    longest,
    modelled,
    passes_of,
    policy_of,
    same_pairs,
    same_ranks,
)
from slurm_lab import running_slurm
from slurm_load import SETTINGS, account_times, read_recording, recording, run_load, synthetic

FOLDER = Path(__file__).resolve().parents[2] / "data" / "usage" / "slurm"
# No rule and no constant was chosen with these; long-200 is the one with which they were.
HELD_OUT = sorted(path.name for path in FOLDER.glob("*.txt") if path.name != "long-200.txt")
# Of the mean wait, and of the longest common subsequence ÷ jobs.
ERROR, LONGEST = 0.02, 0.95
# The latter where jobs last as long as they sleep, and launches take as long as in long-200.
SLEPT = 0.9


@pytest.mark.parametrize("name", HELD_OUT)
def test_waits_and_order_are_close_to_those_of_slurm(name):
    real = read_recording(FOLDER / name)
    seen = compared(real, plain(), accounts=True)
    assert seen.jobs == 500
    assert seen.passed > 0.1
    assert abs(seen.error) < ERROR
    assert min(seen.longest) > LONGEST
    slept = compared(real, plain(), accounts=False)
    assert abs(slept.error) < ERROR
    assert slept.pairs[0] > 0.99
    assert slept.longest[1] > SLEPT


def test_without_the_times_of_slurm_the_waits_differ():
    """The limit above tells models apart: EASY at each event without delay is far off."""
    real = read_recording(FOLDER / HELD_OUT[0])
    seen = compare(real, modelled(real, Policy(), plain()))
    assert abs(seen.error) > ERROR
    policy = policy_of(real)
    late = msgspec.structs.replace(policy.timing, main=3.0)
    slow = modelled(real, msgspec.structs.replace(policy, timing=late), plain())
    assert compare(real, slow).error > 2 * ERROR


def test_jobs_of_one_pass_may_be_in_either_order():
    real = np.array([1.0, 1.001, 5.0, 9.0])
    assert passes_of(real).tolist() == [0, 0, 1, 2]
    ours = np.array([2.0, 1.0, 9.0, 5.0])
    assert longest(real, ours) == 2 / 4
    assert longest(passes_of(real).astype(float), ours) == 3 / 4
    assert same_pairs(real, ours) == pytest.approx(4 / 6)
    assert same_pairs(passes_of(real).astype(float), ours) == pytest.approx(5 / 6)
    assert same_ranks(real, ours) == 0.0
    assert same_ranks(passes_of(real).astype(float), ours) == 2 / 4
    assert same_ranks(real, real) == longest(real, real) == same_pairs(real, real) == 1.0


def test_the_model_is_given_nothing_of_the_starts():
    real = read_recording(FOLDER / HELD_OUT[0])
    other = read_recording(FOLDER / HELD_OUT[0])
    other.columns["start"][:] = other.columns["end"][:] = other.columns["free"][:] = np.nan
    assert policy_of(real) == policy_of(other)
    for column in ("submit", "run", "limit", "nodes"):
        assert np.array_equal(getattr(load_of(real), column), getattr(load_of(other), column))


@pytest.mark.cluster
def test_a_slurm_that_runs_now(tmp_path):
    """Within a third for 80 jobs: few jobs average less, and the machine may be busy."""
    load = synthetic(7, jobs=80, nodes=16, busy=90.0)
    log = tmp_path / "controller.log"
    with running_slurm(16, settings={**SETTINGS, "SlurmctldLogFile": str(log)}) as slurm:
        run_load(slurm, load, tmp_path, patience=400.0)
        slurm.await_idle()
        accounts = slurm.accounts.read_text()
        listed = account_times(slurm.accounts)
        names = [node.name for node in slurm.nodes]
    real = recording(load, accounts, log.read_text(), names, SETTINGS)
    # The accounts have whole seconds, the log has ms.
    for name in ("submit", "start", "end"):
        times = real.columns[name] - np.floor(real.submit.min())
        assert np.all(np.abs(listed[name] - times) <= 1.5), name
    seen = compare(real, modelled(real, policy_of(real), plain()))
    print(seen)
    wait = float(np.mean(listed["start"] - listed["submit"]))
    assert wait == pytest.approx(seen.real, abs=1.0)
    assert abs(seen.error) < 1 / 3
    assert seen.pairs[1] > 0.9
