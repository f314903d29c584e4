"""The state of a fleet, from the files of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.check.model import CheckRecord
from assay.check.state.header import NodeHeader


@dataclass(frozen=True)
class FleetNode:
    """What the file of one node says."""

    #: The node, its kind, its counts and the state of its decisions. Of a file without a header:
    #: what its records and its name say.
    header: NodeHeader
    #: Its recent checks, the oldest first.
    records: tuple[CheckRecord, ...] = ()
    #: Damaged places of the file.
    damaged: int = 0
    #: Why the file can't be read; empty if it can.
    unreadable: str = ""

    @property
    def host(self) -> str:
        """The name of the node."""
        return self.header.host

    @property
    def decided(self) -> Sequence[CheckRecord]:
        """Its recent checks that ended healthy or unhealthy."""
        return [record for record in self.records if record.outcome != "undecided"]


@dataclass(frozen=True)
class FleetState:
    """All nodes of a fleet, by name."""

    #: The folder of the fleet's checks.
    folder: Path
    nodes: tuple[FleetNode, ...]
