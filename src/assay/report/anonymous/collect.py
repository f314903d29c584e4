"""Collects the private names of a run or of a group from its data and its files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.decoding import UNREADABLE
from assay.plain_files import read_plain
from assay.records.directory import NODES
from assay.records.group import GroupData
from assay.records.jobs import FOLDER, JOBS
from assay.records.model import Manifest, RunData
from assay.records.request import REQUEST
from assay.report.anonymous.names import FoundNames, owner_of
from assay.report.anonymous.options import argument_names
from assay.report.anonymous.runs import HOST_FIELDS
from assay.subjects.nodes.grouping import groupings

_KINDS = {
    "account": "account",
    "partition": "partition",
    "reservation": "reservation",
    "user": "user",
    "job": "job",
}


def names_of(run: RunData, *, group: str | None = None) -> FoundNames:
    """The private names of a run; ``group``: the name of its group, if any."""
    found = names_of_manifest(run.manifest, run.path, group=group)
    for launch in run.launches:
        _walk(msgspec.to_builtins(launch), found)
    for host in {rank.host for measurement in run.measurements for rank in measurement.ranks}:
        found.hosts(host)
    for measurement in run.measurements:
        record = measurement.record
        for traffic in record.traffic:
            found.hosts(traffic.host or "")
        if record.error:
            found.text(record.error)
    return found


def names_of_manifest(
    manifest: Manifest, path: Path | None, *, group: str | None = None
) -> FoundNames:
    """The private names in a run's manifest and in its files below ``path``, except streams."""
    found = FoundNames()
    _walk(msgspec.to_builtins(manifest), found)
    system = manifest.system.get("name") if manifest.imported else None
    for name in (str(system or ""), part_of_name(manifest.run)):
        if name:
            _system(found, manifest.run, name, manifest.plan.name)
    if group is not None:
        _group_name(found, group, manifest.plan.name)
    for source in manifest.imported:
        found.put("file", source.file)
    if manifest.imported:
        for cell in manifest.plan.cells:
            found.hosts(str(cell.parameters.get("node", "")))
    if path is not None:
        _files(path, found)
    return found


def names_of_group(
    group: GroupData, stated: Mapping[str, Mapping[str, str]] | None = None
) -> FoundNames:
    """The private names of a group, of its members and of their racks and switches.

    ``stated``: ``[system.groups]`` of assay.toml; by default the groups stored with the group of
    runs.
    """
    found = FoundNames()
    hosts = [member.host or "" for member in group.members]
    for grouping in groupings(hosts, stated or group.request.node_groups):
        for name in grouping.names:
            found.put("group", name)
    _group_name(found, group.request.run, group.request.suite)
    _files(group.path, found)
    for member in group.members:
        found.hosts(member.host or "")
        found.text(member.problem)
        if member.run is not None:
            below = names_of(member.run)
            found.runs += below.runs
            for kind, names in below.by_kind.items():
                found.by_kind[kind] |= names
    return found


def part_of_name(run: str) -> str:
    """The system in the name of a run, ``20260315T083012Z-fritz-quick``; empty in other names."""
    match = re.fullmatch(r"\d{8}T\d{6}Z-(.+?)-.+", run)
    return match[1] if match else ""


def _system(found: FoundNames, run: str, name: str, suite: str) -> None:
    found.put("system", name)
    found.runs.append((run, name, suite))


def _group_name(found: FoundNames, run: str, suite: str) -> None:
    """The system in the name of a group of runs: ``20260315T083012Z-fritz-nodes``."""
    _, _, rest = run.partition("-")
    name, _, _ = rest.rpartition(f"-{suite}")
    if name:
        _system(found, run, name, suite)


def _files(folder: Path, found: FoundNames) -> None:
    """The files of a run whose contents reports show; files that can't be read are left out."""
    for path in {folder, folder.absolute(), folder.resolve()}:
        if path.is_absolute():
            found.put("path", str(path))
            found.put("path", str(path.parent))
        found.text(str(path))
    found.put("user", owner_of(folder) or "")
    for name in (NODES, JOBS, REQUEST):
        _lines(folder / name, found)
    for path in [] if (folder / FOLDER).is_symlink() else sorted((folder / FOLDER).glob("*.json")):
        _lines(path, found)


def _lines(path: Path, found: FoundNames) -> None:
    try:
        content = read_plain(path)
    except OSError:
        return
    try:
        _walk(msgspec.json.decode(content), found)
        return
    except UNREADABLE:
        pass
    for line in content.split(b"\n"):
        try:
            _walk(msgspec.json.decode(line), found)
        except UNREADABLE:
            continue


def _walk(value: object, found: FoundNames, field: str = "") -> None:
    if isinstance(value, str):
        if field in HOST_FIELDS:
            found.hosts(value)
        elif field in _KINDS:
            found.put(_KINDS[field], value)
        found.text(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                found.text(key)
            _walk(item, found, str(key))
    elif isinstance(value, list | tuple):
        if field in ("command", "directives"):
            names_of_arguments(
                [str(word) for word in value], found, directives=field == "directives"
            )
        for item in value:
            _walk(item, found, field)


def names_of_arguments(
    words: Sequence[str], found: FoundNames, *, directives: bool = False
) -> None:
    """Add the names in a command's options, such as hosts and accounts.

    ``directives``: the words come from a job script's directives.
    """
    if directives:
        words = [part for word in words for part in shlex.split(word)]
    for _, _, kind, value in argument_names(words, directives=directives):
        if kind == "host":
            found.hosts(value)
        else:
            found.put(kind, value)
