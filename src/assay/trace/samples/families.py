"""Which process of a program forked which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from assay.trace.samples.files import ProcessSamples


def ancestors(processes: Sequence[ProcessSamples]) -> dict[str, list[ProcessSamples]]:
    """By the name of a process's file: the processes that forked it, the nearest first.

    The last of them was not forked. Processes without a file are left out.
    """
    by_number: dict[tuple[str, int], list[ProcessSamples]] = defaultdict(list)
    for one in processes:
        by_number[one.header.host, one.header.process].append(one)

    def found(process: ProcessSamples) -> list[ProcessSamples]:
        chain: list[ProcessSamples] = []
        current = process
        while current.header.forked:
            header = current.header
            for number in (header.parent, header.forked):
                # A number may be used again. What a process runs by exec has a file of its own.
                before = [one for one in by_number[header.host, number]
                          if one.header.begin < header.begin]  # fmt: skip
                if before:
                    break
            else:
                break
            current = max(before, key=lambda one: one.header.begin)
            chain.append(current)
        return chain

    return {one.path.name: found(one) for one in processes}


def was_replaced(process: ProcessSamples, processes: Sequence[ProcessSamples]) -> bool:
    """Whether the process went on with another program, by exec."""
    mine = process.header
    return any(
        (one.header.host, one.header.process, one.header.parent)
        == (mine.host, mine.process, mine.parent)
        and one.header.begin > mine.begin
        for one in processes
    )
