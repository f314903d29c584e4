"""The healthy checks of a kind of nodes, from the nodes' files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.check.baseline.samples import tells_usual
from assay.check.model import CheckRecord
from assay.check.state.file_names import SUFFIX
from assay.check.state.node_file import NODES, read_node_file
from assay.errors import AssayError


def healthy_checks(folder: Path, kind: str, since: float) -> dict[str, Sequence[CheckRecord]]:
    """The recent checks with values by host, from ``since`` (Unix time, s) on: healthy ones, and
    those whose slowness couldn't be decided yet.

    Files that can't be read are left out: the report on the fleet names them.
    """
    found: dict[str, Sequence[CheckRecord]] = {}
    for path in sorted((folder / NODES).glob(f"*{SUFFIX}")):
        try:
            content = read_node_file(path)
        except (OSError, AssayError):
            continue
        if content.header is None or content.header.kind != kind:
            continue
        healthy = [
            each
            for each in content.records
            if tells_usual(each) and each.values and each.utc >= since
        ]
        if healthy:
            found[content.header.host] = healthy
    return found
