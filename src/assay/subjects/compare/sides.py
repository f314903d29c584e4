"""The sides of a comparison, as named on the command line."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import AssayError, nearest
from assay.hostnames import expand_hosts, natural
from assay.records.directory import RunDirectory, find_run, is_run, list_runs
from assay.records.group import read_group
from assay.records.model import Measurement, RunData
from assay.records.reading import read_run
from assay.records.summary import RunSummary
from assay.subjects.compare.published import PREFIX, PublishedSide, read_published
from assay.subjects.history.query import moment

# What may follow a run's name. Paths and times may also contain colons.
_OPTION = re.compile(r":(?=toolchain=|nodes?=|rest\b)")
_NODES = re.compile(r":nodes?=")
_REST = "rest"
_PLUS = "+"


@dataclass(frozen=True)
class Side:
    """A run, part of a run, or several runs."""

    #: The side as given on the command line.
    words: str
    run: RunData
    #: The only toolchain whose cells are used; None for all.
    toolchain: str | None = None
    #: Nodes: only measurements on no other nodes are used; None for all.
    nodes: tuple[str, ...] | None = None
    #: All runs of a group (``--per-node``), or all runs named as one side. ``run`` is the first of
    #: them.
    members: tuple[RunData, ...] = ()
    #: Name of the group, or names of the runs.
    name: str = ""
    #: Whether the members are runs named as one side. Each of them counts as a session.
    pooled: bool = False

    @property
    def title(self) -> str:
        """The name of the run or of the group."""
        return self.name or self.run.manifest.run

    @property
    def runs(self) -> tuple[RunData, ...]:
        """The runs, each with only the chosen measurements. Runs without any are left out."""
        chosen = [self._chosen(run) for run in self.members or (self.run,)]
        return tuple(run for run in chosen if run.measurements)

    def left_out(self) -> int:
        """Number of launches that used nodes of this side and other nodes.

        They belong to no side.
        """
        if self.nodes is None:
            return 0
        known = set(self.nodes)
        return len(
            {
                (run.manifest.run, m.launch)
                for run in self.members or (self.run,)
                for m in run.measurements
                if known & (used := _hosts(m)) and not used <= known
            }
        )

    def _chosen(self, run: RunData) -> RunData:
        if self.toolchain is None and self.nodes is None:
            return run
        known = None if self.nodes is None else set(self.nodes)
        kept = tuple(
            m
            for m in run.measurements
            if (self.toolchain is None or m.cell.toolchain == self.toolchain)
            and (known is None or (bool(used := _hosts(m)) and used <= known))
        )
        return replace(run, measurements=kept)


@dataclass(frozen=True)
class _Named:
    """A name with its options, before the nodes of ``rest`` are known."""

    side: Side
    rest: bool = False
    hosts: tuple[str, ...] = field(default=())


AnySide = Side | PublishedSide


def read_sides(root: Path, names: Sequence[str]) -> list[AnySide]:
    """The sides that ``names`` mean: a path, a part of a run's name, ``@DATE`` or ``ref:NAME``.

    ``@2026-10-01`` is the newest run that began on or before that day. ``NAME:toolchain=T``: only
    the cells of toolchain T; ``NAME:nodes=n[1-4]``: only what was measured only on these nodes;
    ``NAME:rest``: on the other nodes. ``NAME+NAME+NAME``: several runs as one side. A single name
    with nodes is compared with the rest, which is the reference. ``ref:NAME``: the published
    figures of a cluster, or one figure. Raises AssayError for too few names, equal sides, unknown
    or damaged runs, and runs without measurements.
    """
    if not names or (len(names) == 1 and not _NODES.search(names[0])):
        raise AssayError(
            "A comparison needs at least two runs.",
            fix="Name them by parts of their names: `assay compare 20260101T 20260201T`; "
            "`assay runs` lists them.",
        )
    found = [
        read_published(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else _read(root, name)
        for name in names
    ]
    if len(found) == 1 and isinstance(found[0], _Named):
        only = found[0]
        words = _OPTION.split(names[0])[0]
        found.insert(0, replace(only, side=replace(only.side, words=f"{words}:rest"), rest=True))
    named = [each for each in found if isinstance(each, _Named)]
    sides = [_side(each, named) if isinstance(each, _Named) else each for each in found]
    seen: dict[object, str] = {}
    for side in sides:
        key: object = side.words
        if isinstance(side, Side):
            key = (side.title, side.toolchain, side.nodes)
        if key in seen:
            name = side.title if isinstance(side, Side) else side.words
            raise AssayError(
                f"'{seen[key]}' and '{side.words}' name the same run, {name}.",
                fix="Name two different runs; `assay runs` lists them.",
            )
        seen[key] = side.words
    return sides


def _read(root: Path, name: str) -> _Named:
    words, *options = _OPTION.split(name)
    run, colon, part = words.rpartition(":")
    if colon and any(run and run in each.name for each in list_runs(root)):
        raise AssayError(
            f"'{name}': '{part}' is not a part of a run that can be compared.",
            fix=f"Parts are {run}:nodes={part or 'n[1-4]'}, {run}:toolchain=NAME and {run}:rest.",
        )
    if _PLUS in words and not is_run(Path(words)):
        side = _pooled(root, name, words.split(_PLUS))
    else:
        side = _single(root, name, words)
    rest = False
    for option in options:
        what, _, value = option.partition("=")
        if what == "toolchain":
            side = replace(side, toolchain=_toolchain(side, value))
        elif what == _REST:
            rest = True
        else:
            side = replace(side, nodes=_nodes(side, value))
    return _Named(side, rest, _all_hosts(side))


def _pooled(root: Path, name: str, parts: Sequence[str]) -> Side:
    """Several runs as one side. Raises AssayError for groups, imported and equal runs."""
    sides = [_single(root, name, part) for part in parts]
    titles = [side.title for side in sides]
    if any(side.members or side.run.manifest.imported for side in sides):
        raise AssayError(
            f"'{name}': groups of runs and imported runs can't be part of one side.",
            fix="Name them as sides of their own.",
        )
    if len(set(titles)) < len(titles):
        raise AssayError(f"'{name}' names a run twice.", fix="Name each run once.")
    runs = tuple(sorted((side.run for side in sides), key=lambda run: run.manifest.utc))
    return Side(name, runs[0], members=runs, name=_PLUS.join(sorted(titles)), pooled=True)


def _single(root: Path, name: str, words: str) -> Side:
    directory = _at(root, words) if words.startswith("@") else find_run(root, words)
    request = directory.request()
    members: tuple[RunData, ...] = ()
    if request is not None and request.members is not None:
        group = read_group(directory.path)
        members = tuple(m.run for m in group.members if m.run and m.run.measurements)
        run = members[0] if members else None
    else:
        run = read_run(directory.path)
    if run is None or not run.measurements:
        raise AssayError(f"Run {directory.name} has no measurements.", where=str(directory.path))
    return Side(name, run, members=members, name=directory.name)


def _toolchain(side: Side, name: str) -> str:
    known = sorted({m.cell.toolchain for run in side.runs for m in run.measurements})
    if name not in known:
        raise AssayError(f"Run {side.title} has no toolchain '{name}'.", fix=nearest(name, known))
    return name


def _nodes(side: Side, text: str) -> tuple[str, ...]:
    """The hosts of the run with these names, which may lack their domains."""
    known = _all_hosts(side)
    short = {host.partition(".")[0]: host for host in known}
    nodes = []
    for name in expand_hosts(text):
        found = name if name in known else short.get(name)
        if found is None:
            raise AssayError(
                f"Run {side.title} has no measurement on node '{name}'.",
                where=side.words,
                fix=nearest(name, known),
            )
        nodes.append(found)
    return tuple(sorted(dict.fromkeys(nodes), key=natural))


def _side(named: _Named, others: Sequence[_Named]) -> Side:
    """The side. A ``rest`` side gets the nodes that no other side of the run names."""
    side = named.side
    if named.rest:
        taken = {
            host
            for other in others
            if not other.rest and other.side.title == side.title
            for host in other.side.nodes or ()
        }
        rest = tuple(host for host in named.hosts if host not in taken)
        if not taken or not rest:
            what = "doesn't name nodes" if not taken else "leaves no other nodes"
            raise AssayError(
                f"'{side.words}': another side of the run {what}.",
                fix="For example, `assay compare RUN:rest RUN:nodes=n[1-4]`.",
            )
        side = replace(side, nodes=rest)
    if not side.runs:
        raise AssayError(
            f"'{side.words}' has no measurement that used only these nodes.",
            fix="Its launches also used other nodes; name those too.",
        )
    return side


def _hosts(measurement: Measurement) -> set[str]:
    return {rank.host for rank in measurement.ranks}


def _all_hosts(side: Side) -> tuple[str, ...]:
    hosts = {
        host for run in side.members or (side.run,) for m in run.measurements for host in _hosts(m)
    }
    return tuple(sorted(hosts, key=natural))


def _at(root: Path, words: str) -> RunDirectory:
    """The newest run that began on or before a day."""
    day = moment(words.removeprefix("@"), f"'{words}'")
    if len(words.removeprefix("@")) <= len("2026-10-01"):
        day += datetime.timedelta(days=1).total_seconds()
    found = [
        (summary.utc, run)
        for run in list_runs(root)
        if (summary := _summary(run)) is not None and summary.utc < day and not summary.imported
    ]
    if not found:
        raise AssayError(
            f"No complete run began on or before {words.removeprefix('@')}.",
            where=str(root),
            fix="`assay runs` lists them with their times.",
        )
    return max(found, key=lambda each: each[0])[1]


def _summary(run: RunDirectory) -> RunSummary | None:
    """The summary of a complete run; None for incomplete and damaged runs."""
    try:
        return run.summary()
    except AssayError:
        return None
