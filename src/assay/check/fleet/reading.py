"""Reads the files of all nodes of a fleet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.check.fleet.model import FleetNode, FleetState
from assay.check.model import CheckRecord
from assay.check.state.file_names import SUFFIX, host_of
from assay.check.state.header import NodeHeader
from assay.check.state.node_file import NODES, NodeContent, read_node_file
from assay.errors import AssayError

# A file server answers each of several readers within a millisecond or so; one reader would wait
# for it 5,000 times.
_READERS = 16


def read_fleet(folder: Path) -> FleetState:
    """The state of a fleet; a file that can't be read is a node that says so.

    ``folder``: that of the fleet's checks. Raises AssayError if the folder can't be read. A fleet
    without checks has no nodes.
    """
    files = _files(folder)
    with ThreadPoolExecutor(_READERS) as readers:
        nodes = readers.map(_read, files)
        return FleetState(folder, tuple(sorted(nodes, key=lambda node: node.host)))


def _files(folder: Path) -> list[Path]:
    try:
        if not folder.is_dir():
            raise AssayError(
                "There is no folder of checks with this name.",
                where=str(folder),
                fix="Name the folder that `assay check` uses, with --folder.",
            )
        return sorted((folder / NODES).glob(f"*{SUFFIX}"))
    except OSError as error:
        raise AssayError(
            f"The folder of checks can't be read: {error.strerror or error}.", where=str(folder)
        ) from None


def _read(path: Path) -> FleetNode:
    host = host_of(path)
    try:
        return _node(host, read_node_file(path))
    except AssayError as error:
        return _unreadable(host, error.what)
    except OSError as error:
        return _unreadable(host, error.strerror or str(error))


def _node(host: str, content: NodeContent) -> FleetNode:
    header, records = content.header, content.records
    if header is None:
        header = NodeHeader(
            host=host,
            since=records[0].utc if records else 0.0,
            healthy=_count(records, "healthy"),
            unhealthy=_count(records, "unhealthy"),
            undecided=_count(records, "undecided"),
        )
    if header.host != host:
        return _unreadable(host, f"its file is a copy of that of the node '{header.host}'")
    return FleetNode(header, records, damaged=content.damaged)


def _unreadable(host: str, why: str) -> FleetNode:
    return FleetNode(NodeHeader(host=host), unreadable=why)


def _count(records: tuple[CheckRecord, ...], outcome: str) -> int:
    return sum(record.outcome == outcome for record in records)
