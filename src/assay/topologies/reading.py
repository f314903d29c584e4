"""The topology that a file describes in its table ``[topology]``, for labs and simulated
clusters."""

from __future__ import annotations

import msgspec

from assay.errors import nearest
from assay.toml import TomlDocument
from assay.topologies.kinds import KINDS, Topology, Torus


def read_topology(document: TomlDocument, table: dict[str, object]) -> Topology:
    """The topology of the file's table ``[topology]``. Raises AssayError with file, line and
    key."""
    kind = table.get("kind")
    if kind is None:
        raise document.error(["topology"], "[topology] has no 'kind'.", nearest("", KINDS))
    if not isinstance(kind, str) or kind not in KINDS:
        raise document.error(
            ["topology", "kind"], f"There is no topology '{kind}'.", nearest(str(kind), KINDS)
        )
    rest = {name: value for name, value in table.items() if name != "kind"}
    topology: Topology = document.read(["topology"], rest, KINDS[kind])
    for name, value in msgspec.structs.asdict(topology).items():
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and number < 1:
                raise document.error(
                    ["topology", name], f"'topology.{name}' is below 1.", "Write 1 or more."
                )
    if isinstance(topology, Torus) and not 1 <= len(topology.dimensions) <= 3:
        raise document.error(
            ["topology", "dimensions"], "A torus has 1 to 3 dimensions.", "Such as [4, 4]."
        )
    return topology
