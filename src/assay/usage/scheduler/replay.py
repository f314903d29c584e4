"""Replays jobs through the model of a scheduler (native/scheduler; docs/methods/scheduler.md).

The native program reads cases from its standard input and writes their schedules to its standard
output, one after the other. A case is a line of JSON (number of jobs, machine, policy) and the
columns of the jobs as 8-byte numbers in the machine's byte order. A schedule has the same form.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.usage.scheduler.checks import check
from assay.usage.scheduler.machine import Machine, Partition
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Schedule, Workload

Replay = tuple[Workload, Machine, Policy]

# Columns of a case and of a schedule, with their types, in the order of the stream.
_FLOAT, _INT = np.dtype("=f8"), np.dtype("=i8")
_CASE = (
    *((name, _FLOAT) for name in ("submit", "run", "limit", "think", "memory")),
    *((name, _INT) for name in ("nodes", "processors", "gpus", "user", "account")),
    *((name, _INT) for name in ("partition", "qos", "after")),
)
_SCHEDULE = (
    *((name, _FLOAT) for name in ("submit", "start", "end", "lost")),
    *((name, _INT) for name in ("state", "first_node", "runs", "backfilled")),
)


def replay(workload: Workload, machine: Machine, policy: Policy, *, program: Path) -> Schedule:
    """The schedule of the jobs on this machine under this policy.

    ``program``: the native simulation, which ``assay.kernels.builds.scheduler.build_scheduler``
    builds. Raises AssayError if a value is out of its range (``checks.check``), or if the program
    fails.
    """
    return replay_all([(workload, machine, policy)], program=program)[0]


def replay_all(cases: Sequence[Replay], *, program: Path, processes: int = 1) -> list[Schedule]:
    """The schedules of several cases, in their order, computed by this many processes at once.

    Raises AssayError like ``replay``.
    """
    for case in cases:
        check(*case)
    count = max(1, min(processes, len(cases)))
    shares = [list(cases[k::count]) for k in range(count)]
    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(lambda share: _run(share, program), shares))
    return [parts[k % count][k // count] for k in range(len(cases))]


def encode(workload: Workload, machine: Machine, policy: Policy) -> bytes:
    """A case as the native program reads it."""
    header = {
        "jobs": len(workload),
        "machine": _machine(machine, workload),
        "policy": _policy(policy, workload),
    }
    columns = [np.ascontiguousarray(_column(workload, name), kind) for name, kind in _CASE]
    return b"".join([msgspec.json.encode(header), b"\n", *(each.tobytes() for each in columns)])


def _column(workload: Workload, name: str) -> NDArray[Any]:
    if name == "memory":  # bytes are rounded to whole ones, so that sums are exact
        return np.asarray(np.ceil(workload.memory))
    if name == "submit":  # for jobs after others it is ignored and may be NaN
        return np.where(workload.after < 0, workload.submit, 0.0)
    values: NDArray[Any] = getattr(workload, name)
    return values


def _machine(machine: Machine, workload: Workload) -> dict[str, object]:
    last = machine.size - 1
    users = {name: index for index, name in enumerate(workload.users)}

    def plain(item: msgspec.Struct) -> dict[str, Any]:
        fields = _finite(msgspec.structs.asdict(item))
        if "last" in fields and fields["last"] is None:
            fields["last"] = last
        if "users" in fields:
            # A reservation whose users have no jobs still holds: no job may use it.
            known = [users[name] for name in fields["users"] if name in users]
            fields["users"] = known
        return fields

    return {
        "nodes": [plain(each) for each in machine.nodes],
        "partitions": [plain(each) for each in machine.partitions or (Partition(name="all"),)],
        "reservations": [plain(each) for each in machine.reservations],
        "failures": [plain(each) for each in machine.failures],
    }


def _policy(policy: Policy, workload: Workload) -> dict[str, object]:
    factors = msgspec.structs.asdict(policy.multifactor)
    shares = factors.pop("shares")
    factors["user_shares"] = [shares.get(name) for name in workload.users]
    factors["account_shares"] = [shares.get(name) for name in workload.accounts]
    priorities = factors.pop("qos_priority")
    factors["qos_priority"] = [priorities.get(name) for name in workload.qualities]
    maui = msgspec.structs.asdict(policy.maui)
    targets = maui.pop("targets")
    maui["targets"] = [targets.get(name) for name in workload.users]
    return {
        "order": policy.order,
        "backfill": policy.backfill,
        "reservations": policy.reservations,
        "contiguous": policy.allocation == "contiguous",
        "lowest": policy.reserved == "lowest",
        "shared": policy.sharing == "processor",
        "kill": policy.kill,
        "requeue": policy.requeue,
        "resubmit": policy.resubmit,
        "multifactor": factors,
        "maui": maui,
        "timing": msgspec.structs.asdict(policy.timing),
    }


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """Infinity as None: JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and math.isinf(value) else value
        for name, value in fields.items()
    }


def _run(cases: Sequence[Replay], program: Path) -> list[Schedule]:
    data = b"".join(encode(*case) for case in cases)
    try:
        done = subprocess.run([str(program)], input=data, capture_output=True, check=False)
    except OSError as error:
        raise AssayError(
            f"The model of the scheduler can't be started: {error.strerror or error}.",
            where=str(program),
            fix="Remove the folder of this build; the next call rebuilds it.",
        ) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise AssayError(
            said or f"The model of the scheduler ended with status {done.returncode}.",
            where=str(program),
            fix="If memory is short, run fewer jobs at once; otherwise report this.",
        )
    return _decode(done.stdout, [len(case[0]) for case in cases], program)


def _decode(output: bytes, sizes: Sequence[int], program: Path) -> list[Schedule]:
    schedules = []
    at = 0
    for size in sizes:
        end = output.find(b"\n", at)
        try:
            header = msgspec.json.decode(output[at : max(at, end)], type=dict[str, int])
            at = end + 1
            columns: dict[str, Any] = {}
            for name, kind in _SCHEDULE:
                columns[name] = np.frombuffer(output, kind, size, at).copy()
                at += 8 * size
            schedules.append(
                Schedule(**columns, longest_queue=header["longest_queue"], passes=header["passes"])
            )
        except (msgspec.DecodeError, ValueError, KeyError):
            raise AssayError(
                "The output of the scheduler's model is incomplete.",
                where=str(program),
                fix="Free space for its temporary data, then start again.",
            ) from None
    return schedules
