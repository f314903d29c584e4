"""What each test costs: its wall time and the CPU time of itself and of the processes it started.

`ASSAY_TEST_COSTS=FILE pytest ...` appends one line per test to `FILE`; `python costs.py FILE` adds
them up by folder and lists the dearest tests. CPU time is what counts on a machine that others use.
Processes that a test leaves running, or that no process of the test waited for, aren't counted. The
kernel's part of it, for starting and ending processes above all, is without prepared commands.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import prepared_assay

COSTS = os.environ.get("ASSAY_TEST_COSTS")
DEAREST = 40
_KEYS = ("own_s", "children_s", "kernel_s", "wall_s")
_drawing = [0.0]  # CPU time of the process that draws the figures of all tests


def _cpu_seconds() -> tuple[float, float, float]:
    """CPU time of this process and of its children, and the kernel's share of both."""
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    from one_drawing_engine import KEPT

    _drawing[0] += KEPT.cpu_seconds()
    others = prepared_assay.cpu_seconds + _drawing[0]
    of_children = children.ru_utime + children.ru_stime + others
    return own.ru_utime + own.ru_stime, of_children, own.ru_stime + children.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append a line of costs; a single write below 4 KiB stays whole among several workers."""
    if not COSTS:
        return (yield)
    own, children, kernel, begin = *_cpu_seconds(), time.monotonic()
    try:
        return (yield)
    finally:
        own_after, children_after, kernel_after = _cpu_seconds()
        line = {
            "test": item.nodeid,
            "own_s": round(own_after - own, 4),
            "children_s": round(children_after - children, 4),
            "kernel_s": round(kernel_after - kernel, 4),
            "wall_s": round(time.monotonic() - begin, 4),
        }
        with Path(COSTS).open("a") as file:
            file.write(json.dumps(line) + "\n")


def _table(title: str, rows: dict[str, list[dict[str, float]]], limit: int | None = None) -> None:
    heads = "".join(f"{head:>9}" for head in ("CPU s", "own", "children", "kernel", "wall s"))
    print(f"{heads} {'tests':>6}  {title}")
    sums = {
        name: [sum(line.get(key, 0.0) for line in lines) for key in _KEYS]
        for name, lines in rows.items()
    }
    for name in sorted(sums, key=lambda name: -sums[name][0] - sums[name][1])[:limit]:
        own, children, kernel, wall = sums[name]
        row = f"{own + children:9.1f} {own:8.1f} {children:8.1f} {kernel:8.1f} {wall:8.1f}"
        print(f"{row} {len(rows[name]):6}  {name}")


def main(path: str) -> None:
    """Print the costs in `path` by folder, by file and by test."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    for title, key in (
        ("all", lambda test: "all"),
        ("folder", lambda test: "/".join(test.split("::")[0].split("/")[:-1])),
        ("file", lambda test: test.split("::")[0]),
        ("function", lambda test: test.split("[")[0]),
    ):
        rows = defaultdict(list)
        for line in lines:
            rows[key(line["test"])].append(line)
        _table(title, rows, None if title in ("all", "folder") else DEAREST)
        print()


if __name__ == "__main__":
    main(sys.argv[1])
