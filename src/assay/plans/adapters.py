"""Network adapters as a factor: one name, or several used together ("eth0,eth1")."""

from __future__ import annotations

import re
from collections.abc import Collection

from assay.errors import AssayError, nearest

# The name of a Linux interface, or of a fabric device's port ("mlx5_0:1").
_NAME = re.compile(r"[\w.:@][\w.:@-]{0,31}", re.ASCII)
DEFAULT = "default"


def read_adapter(text: object, where: str) -> str:
    """One or more adapters, written "eth0,eth1" or "eth0+eth1"; returns their names with commas.

    "default" is the MPI library's own choice. Raises AssayError for invalid or repeated names.
    """
    names = [name.strip() for name in re.split(r"[,+]", text)] if isinstance(text, str) else []
    if not names or not all(_NAME.fullmatch(name) for name in names):
        raise AssayError(
            f"'adapter' can't be '{text}'.",
            where=where,
            fix='Name a network adapter, such as "eth0", or several: "eth0,eth1".',
        )
    if len(set(names)) != len(names) or (DEFAULT in names and len(names) > 1):
        raise AssayError(f"'adapter' can't be '{text}'.", where=where, fix="Name each one once.")
    return ",".join(names)


def adapter_problem(adapter: str, nodes: int, known: Collection[str] | None) -> AssayError | None:
    """The reason why ``nodes`` nodes can't communicate over this adapter; None if they can.

    ``known``: the names of a node's adapters; None if unknown.
    """
    if adapter == DEFAULT:
        return None
    if nodes == 1:
        return AssayError(
            f"adapter = '{adapter}', but ranks on one node communicate through shared memory.",
            fix="Leave 'adapter' out, or set nodes to 2 or more.",
        )
    missing = next((n for n in adapter.split(",") if known is not None and n not in known), None)
    if missing is None:
        return None
    return AssayError(
        f"adapter = '{adapter}', but there is no network adapter '{missing}' here.",
        fix=nearest(missing, known or ()),
    )
