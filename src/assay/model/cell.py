"""A cell: one kernel with one set of parameters at one placement with one toolchain."""

from __future__ import annotations

import hashlib
from functools import cached_property

import msgspec

from assay.model.placement import Placement, Value

# The fields of a placement that are part of a cell's id whatever their values.
_FIRST_FIELDS = ("nodes", "ppn", "threads", "order", "binding", "adapter")
# The toolchain's name where a program brings its own.
OWN_TOOLCHAIN = "own"
# The same where the number was printed by another tool, so that no such cell is one of assay's.
IMPORTED_TOOLCHAIN = "imported"


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One kernel with one set of parameters at one placement with one toolchain.

    ``dict`` holds the id once it was asked for, and is no part of the content.
    """

    kernel: str
    parameters: dict[str, Value]
    placement: Placement
    toolchain: str

    @cached_property
    def id(self) -> str:
        """Twelve hexadecimal digits that depend on the content alone.

        Of the placement's later fields only those count that are not at their defaults, so that a
        new field changes no id of what was measured before there was one.
        """
        content = msgspec.to_builtins(self)
        content["parameters"] = dict(sorted(self.parameters.items()))
        content["placement"] = self.placement.content(_FIRST_FIELDS)
        text = msgspec.json.encode(content)
        return hashlib.sha256(text).hexdigest()[:12]
