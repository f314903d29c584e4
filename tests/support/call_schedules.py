"""Executes schedules of calls, without times."""

from __future__ import annotations

from collections import Counter, defaultdict

from assay.models.calls.actions import CallSchedule


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
