"""What the model refuses: values out of range, and damaged input of the native program."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess

import numpy as np
import pytest

from assay.errors import AssayError
from assay.usage.scheduler.machine import EqualNodes, FailedNodes, Machine, Partition, Reservation
from assay.usage.scheduler.policy import Maui, Multifactor, Policy, Timing
from assay.usage.scheduler.replay import encode, replay
from schedule_cases import draw, workload
from schedule_program import plain, sanitized

FOUR = Machine(nodes=(EqualNodes(count=4),))
JOBS = workload(submit=[0, 5], run=[3, 3], nodes=[1, 2])
NAN = float("nan")


def machine(**changes) -> Machine:
    return Machine(**{"nodes": FOUR.nodes, **changes})


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        (machine(nodes=()), "machine"),
        (machine(nodes=(EqualNodes(count=0),)), "machine, nodes[0], count"),
        (machine(nodes=(EqualNodes(count=2, processors=0),)), "machine, nodes[0], processors"),
        (machine(nodes=(EqualNodes(count=2, memory=NAN),)), "machine, nodes[0], memory"),
        (machine(partitions=(Partition(name="a", last=4),)), "machine, partition 'a', last"),
        (machine(partitions=(Partition(name="a", first=-1),)), "machine, partition 'a', first"),
        (
            machine(partitions=(Partition(name="a", longest=NAN),)),
            "machine, partition 'a', longest",
        ),
        (machine(reservations=(Reservation(begin=5, end=4),)), "machine, reservations[0], end"),
        (
            machine(failures=(FailedNodes(begin=NAN, end=4, first=0, last=0),)),
            "machine, failures[0], begin",
        ),
        (
            machine(failures=(FailedNodes(begin=0, end=4, first=3, last=2),)),
            "machine, failures[0], last",
        ),
        (Policy(reservations=-1), "policy, reservations"),
        (Policy(timing=Timing(backfill=NAN)), "policy, timing, backfill"),
        (Policy(timing=Timing(depth=-1)), "policy, timing, depth"),
        (Policy(multifactor=Multifactor(period=0)), "policy, multifactor, period"),
        (Policy(multifactor=Multifactor(shares={"x": -1})), "policy, multifactor, shares, 'x'"),
        (Policy(maui=Maui(windows=0)), "policy, maui, windows"),
        (Policy(maui=Maui(targets={"x": NAN})), "policy, maui, targets, 'x'"),
        ({"submit": [0, NAN]}, "jobs, submit[1]"),
        ({"submit": [6, 5]}, "jobs, submit[1]"),
        ({"run": [3, -1]}, "jobs, run[1]"),
        ({"limit": [0, 3]}, "jobs, limit[0]"),
        ({"memory": [0, float("inf")]}, "jobs, memory[1]"),
        ({"processors": [1, 0]}, "jobs, processors[1]"),
        ({"partition": [0, 1]}, "jobs, partition[1]"),
        ({"user": [0, 3]}, "jobs, user[1]"),
        ({"after": [0, -1]}, "jobs, after[0]"),
        ({"gpus": [0]}, "jobs, gpus"),
    ],
)
def test_values_out_of_range_are_named(changed, where, tmp_path):
    jobs, modelled, policy = JOBS, FOUR, Policy()
    if isinstance(changed, dict):
        columns = {
            name: np.array(values, dtype=getattr(JOBS, name).dtype)
            for name, values in changed.items()
        }
        jobs = dataclasses.replace(JOBS, **columns)
    elif isinstance(changed, Machine):
        modelled = changed
    else:
        policy = changed
    with pytest.raises(AssayError) as raised:
        replay(jobs, modelled, policy, program=tmp_path / "never started")
    assert raised.value.where == where
    assert raised.value.fix


def test_a_program_that_is_missing_or_fails_is_named(tmp_path):
    with pytest.raises(AssayError, match="can't be started") as raised:
        replay(JOBS, FOUR, Policy(), program=tmp_path / "missing")
    assert raised.value.where == str(tmp_path / "missing")
    for body, said in (("echo no >&2; exit 2", "no"), ("exit 3", "status 3"), ("", "incomplete")):
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        with pytest.raises(AssayError, match=said):
            replay(JOBS, FOUR, Policy(), program=program)


def test_no_jobs_are_an_empty_schedule():
    made = replay(workload(submit=[], run=[]), FOUR, Policy(), program=plain())
    assert len(made.start) == made.passes == made.longest_queue == 0


def ask(program, data: bytes) -> tuple[int, str]:
    done = subprocess.run([program], input=data, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.slow
def test_truncated_input_is_a_sentence():
    whole = encode(JOBS, FOUR, Policy())
    assert ask(plain(), whole) == (0, "")
    assert ask(plain(), b"") == (0, "")
    for size in (1, 100, whole.index(b"\n"), whole.index(b"\n") + 1, len(whole) - 1):
        status, said = ask(plain(), whole[:size])
        assert status == 2
        assert said.startswith("assay-scheduler: case 0: ")
        assert said.count("\n") == 1
    status, said = ask(plain(), whole + whole[:-1])
    assert (status, said) == (2, "assay-scheduler: case 1: The input ends within the columns.\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("jobs",), "two", "'jobs' of the header is not a whole number."),
        (("jobs",), 10**8, "The input ends within the columns."),
        (("jobs",), 10**9, "'jobs' of the header is out of range."),
        (("machine", "nodes"), [], "The header has no nodes, or too many."),
        (("machine", "partitions"), [], "The header has no partition."),
        (("machine",), None, "The header has no object with 'nodes'."),
        (("policy", "order"), "lifo", "'order' of the header is unknown."),
        (("policy", "backfill"), 3, "'backfill' of the header is not a text."),
        (("policy", "kill"), "yes", "'kill' of the header is not a truth value."),
        (("policy", "timing", "main"), -1, "'main' of the header is out of range."),
        (("policy", "maui", "targets"), ["x"], "'targets' of the header holds no numbers."),
    ],
)
def test_a_wrong_header_is_a_sentence(path, value, said):
    line, _, columns = encode(JOBS, FOUR, Policy()).partition(b"\n")
    header = json.loads(line)
    inner = header
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    data = json.dumps(header).encode() + b"\n" + columns
    assert ask(plain(), data) == (2, f"assay-scheduler: case 0: {said}\n")


@pytest.mark.slow
@pytest.mark.long
def test_damaged_input_never_crashes_it():
    """Under the sanitizers: each damaged case is refused with a sentence or simulated."""
    rng = random.Random(1)
    statuses = set()
    for seed in range(150):
        data = bytearray(encode(*draw(rng.choice(("easy", "shared", "contiguous")), seed)))
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        status, said = ask(sanitized(), bytes(data))
        assert status in (0, 2), said
        assert "runtime error" not in said
        statuses.add(status)
    assert statuses == {0, 2}
