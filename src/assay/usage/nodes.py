"""The nodes of jobs, as ranges of numbered names.

A node is a number: its name without the last digits (its template) and these digits. Nodes of one
template with consecutive digits are a range, so that a job on 1,000 nodes takes 16 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from assay.arrays import Ints
from assay.errors import AssayError
from assay.hostnames import MOST_HOSTS, expand_hosts, natural
from assay.usage.columns import ColumnTable, TableWriter, ranges

NodeRange = tuple[int, int]
# A name without its last digits, the number of these digits (0 for none), and the text after them.
Template = tuple[str, int, str]
_SHIFT = 40
_MOST_DIGITS = 12  # below 2**40
_LISTED = re.compile(r"([^\[\],\s]*)\[([0-9,-]+)\]([^\[\],\s]*)", re.ASCII)
_NUMBERED = re.compile(r"([^.]*?)(\d{1,12})(\D*|\..*)", re.ASCII | re.DOTALL)
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?", re.ASCII)
# Number of lists whose ranges are remembered: consecutive jobs often have the same list.
_REMEMBERED = 1 << 14


class NodeCollector:
    """Converts schedulers' lists of nodes to ranges, and keeps the ranges."""

    def __init__(self) -> None:
        # By cluster and template.
        self.templates: dict[tuple[str, str, int, str], int] = {}
        self._known: dict[tuple[str, str], tuple[NodeRange, ...]] = {}
        self._clusters: set[str] = set()
        self._table = TableWriter({"first": "q", "last": "q"})
        self._rows: list[NodeRange] = []

    def ranges(self, text: str, cluster: str = "") -> tuple[NodeRange, ...]:
        """The ranges of ``n[1-3,07],m4`` of a cluster, ascending; none for other text."""
        known = self._known.get((cluster, text))
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            try:
                known = _merged(self._parsed(text, cluster))
            except (AssayError, ValueError):
                known = ()
            if sum(last - first + 1 for first, last in known) > MOST_HOSTS:
                known = ()
            self._known[cluster, text] = known
        return known

    def add(self, found: tuple[NodeRange, ...]) -> int:
        """Keep the ranges of a job. Returns the index of the first range."""
        at = len(self._table) + len(self._rows)
        self._rows += found
        if len(self._rows) >= 1 << 16:
            self._flush()
        return at

    def _flush(self) -> None:
        if self._rows:
            pairs = np.array(self._rows, dtype=np.int64)
            self._table.append({"first": pairs[:, 0].copy(), "last": pairs[:, 1].copy()})
            self._rows = []

    @property
    def several(self) -> bool:
        """Whether the nodes belong to several clusters, which their names then begin with."""
        return len(self._clusters) > 1

    def lists(self) -> NodeLists:
        """All ranges that were kept."""
        self._flush()
        templates = [
            (node_name(cluster, head) if self.several else head, digits, tail)
            for cluster, head, digits, tail in self.templates
        ]
        return NodeLists(self._table.finish(), templates)

    def _parsed(self, text: str, cluster: str) -> list[NodeRange]:
        found: list[NodeRange] = []
        self._clusters.add(cluster)
        for name in _split(text):
            listed = _LISTED.fullmatch(name)
            if listed is None:
                each = expand_hosts(name) if "[" in name else (name,)
                found.extend(self._one(one, cluster) for one in each)
                continue
            head, inside, tail = listed.groups()
            for part in inside.split(","):
                match = _RANGE.fullmatch(part)
                if match is None:
                    raise ValueError
                low, high = int(match[1]), int(match[2] or match[1])
                width = len(match[1]) if match[1].startswith("0") else 1
                if high < low:
                    raise ValueError
                while low <= high:
                    digits = max(width, len(str(low)))
                    top = min(high, 10**digits - 1)
                    template = self._template((cluster, head, digits, tail))
                    found.append((template + low, template + top))
                    low = top + 1
        return found

    def _one(self, name: str, cluster: str) -> NodeRange:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            code = self._template((cluster, name, 0, ""))
        else:
            code = self._template((cluster, match[1], len(match[2]), match[3])) + int(match[2])
        return code, code

    def _template(self, template: tuple[str, str, int, str]) -> int:
        return self.templates.setdefault(template, len(self.templates)) << _SHIFT


def node_name(cluster: str, name: str) -> str:
    """The name of a node in a log of several clusters."""
    return f"{cluster}:{name}" if cluster else name


def _split(text: str) -> list[str]:
    """The names, split at the commas outside brackets."""
    if "[" not in text:
        return [name for name in text.split(",") if name]
    names, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "[]":
            depth += 1 if letter == "[" else -1
        elif letter == "," and depth == 0:
            names.append(text[begin:place])
            begin = place + 1
    return [name for name in (*names, text[begin:]) if name]


def _merged(found: list[NodeRange]) -> tuple[NodeRange, ...]:
    merged: list[NodeRange] = []
    for first, last in sorted(found):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


@dataclass(frozen=True)
class NodeLists:
    """The ranges of all jobs; a job has ``hosts`` of them from ``hosts_at`` on (``Jobs``)."""

    #: Columns ``first`` and ``last``: numbers of the first and last node, both included.
    table: ColumnTable
    #: Templates by the upper bits of a node's number.
    templates: list[Template]

    def name(self, node: int) -> str:
        """The name of a node by its number."""
        head, digits, tail = self.templates[node >> _SHIFT]
        return f"{head}{node & ((1 << _SHIFT) - 1):0{digits}d}{tail}" if digits else head

    def in_order(self, nodes: Ints) -> Ints:
        """Different nodes ordered by name, n10 after n9."""
        ordered = sorted(nodes.tolist(), key=lambda node: natural(self.name(node)))
        return np.array(ordered, dtype=np.int64)

    def counts(self, at: Ints, count: Ints) -> Ints:
        """Number of nodes of each job, which has ``count`` (> 0) ranges from ``at`` on."""
        job, place = _consecutive(at, count)
        first, last = (
            np.asarray(self.table.columns[name][place], dtype=np.int64)
            for name in ("first", "last")
        )
        total: Ints = np.bincount(job, last - first + 1, at.size).astype(np.int64)
        return total

    def expanded(self, at: Ints, count: Ints) -> tuple[Ints, Ints]:
        """Pairs of a job and one of its nodes, in the order of the jobs: the index of the job, and
        the node. Each job has ``count`` ranges from ``at`` on.
        """
        job, place = _consecutive(at, count)
        first, last = (
            np.asarray(self.table.columns[name][place], dtype=np.int64)
            for name in ("first", "last")
        )
        index, node = _consecutive(first, last - first + 1)
        return job[index], node


def _consecutive(begin: Ints, count: Ints) -> tuple[Ints, Ints]:
    """``begin[i]``, ``begin[i] + 1``, … (``count[i]`` numbers) for each i: i and the number."""
    index = np.repeat(np.arange(begin.size), count)
    before = np.cumsum(count) - count
    return index, np.arange(index.size) - before[index] + begin[index]


def named_nodes(lists: NodeLists) -> Ints:
    """All nodes of the lists, ascending by their numbers."""
    merged = np.empty((0, 2), dtype=np.int64)
    for rows in ranges(len(lists.table)):
        pairs = np.column_stack([lists.table.columns[name][rows] for name in ("first", "last")])
        merged = _union(np.concatenate((merged, pairs.astype(np.int64))))
        lists.table.release()
    return _consecutive(merged[:, 0], merged[:, 1] - merged[:, 0] + 1)[1]


def _union(pairs: Ints) -> Ints:
    """Ranges (n, 2), both ends included, joined where they touch."""
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    until = np.maximum.accumulate(pairs[:, 1])
    begins = np.flatnonzero(np.append(True, pairs[1:, 0] > until[:-1] + 1))
    ends = np.append(begins[1:], len(pairs)) - 1
    return np.column_stack((pairs[begins, 0], until[ends]))
