"""Executes schedules of calls: whether they end, and when on a network without sharing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from assay.models.calls.actions import CallSchedule
from assay.trace.exports.simgrid import SPEED


def executed(schedule: CallSchedule) -> int:
    """How many ranks end, if blocking sends wait for their receives, as without any buffer."""
    at = [0] * schedule.ranks
    posted: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    moved = True
    while moved:
        moved = False
        for rank, lines in enumerate(schedule.lines):
            while at[rank] < len(lines):
                words = lines[at[rank]].split()
                kind, rest = words[1], words[2:]
                if kind in ("send", "isend"):
                    key = (str(rank), rest[0], rest[1])
                    posted["sent"][key] = int(rest[2])
                elif kind in ("recv", "irecv"):
                    key = (rest[0], str(rank), rest[1])
                    posted["received"][key] = int(rest[2])
                else:
                    key = tuple(rest)
                waits = kind in ("send", "recv", "wait")
                if waits and not (key in posted["sent"] and key in posted["received"]):
                    break
                if waits:
                    assert posted["sent"][key] == posted["received"][key]
                at[rank] += 1
                moved = True
    return sum(place == len(lines) for place, lines in zip(at, schedule.lines, strict=True))


def timed(schedule: CallSchedule, latency: float = 0.0, bandwidth: float = math.inf) -> float:
    """Seconds until all ranks end, if messages share nothing and begin once both ends are there."""
    at, clocks = [0] * schedule.ranks, [0.0] * schedule.ranks
    posted: dict[str, dict[tuple[str, ...], float]] = {"sent": {}, "received": {}}
    sizes: dict[tuple[str, ...], int] = {}
    moved = True
    while moved:
        moved = False
        for rank, lines in enumerate(schedule.lines):
            while at[rank] < len(lines):
                kind, *rest = lines[at[rank]].split()[1:]
                key = tuple(rest)
                if kind in ("send", "isend"):
                    key = (str(rank), *rest[:2])
                    posted["sent"].setdefault(key, clocks[rank])
                    sizes[key] = int(rest[2])
                elif kind in ("recv", "irecv"):
                    key = (rest[0], str(rank), rest[1])
                    posted["received"].setdefault(key, clocks[rank])
                elif kind == "compute":
                    clocks[rank] += float(rest[0]) / SPEED
                if kind in ("send", "recv", "wait"):
                    if not (key in posted["sent"] and key in posted["received"]):
                        break
                    begin = max(posted["sent"][key], posted["received"][key])
                    clocks[rank] = max(clocks[rank], begin + latency + sizes[key] / bandwidth)
                at[rank] += 1
                moved = True
    assert all(place == len(lines) for place, lines in zip(at, schedule.lines, strict=True))
    return max(clocks)
