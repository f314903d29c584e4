"""A cell: one kernel with one set of parameters at one placement with one toolchain."""

from __future__ import annotations

import hashlib
from functools import cached_property

import msgspec

from assay.model.placement import Placement, Value

# Fields of a placement that are part of a cell's id, whatever their values.
_FIRST_FIELDS = ("nodes", "ppn", "threads", "order", "binding", "adapter")
# Name of the toolchain in cells of an external command.
OWN_TOOLCHAIN = "own"
# Name of the toolchain in cells of an imported run. No measured cell has it.
IMPORTED_TOOLCHAIN = "imported"


class Cell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One kernel with one set of parameters at one placement with one toolchain.

    ``dict=True`` lets ``id`` be cached; the cached value is not part of the content.
    """

    kernel: str
    parameters: dict[str, Value]
    placement: Placement
    toolchain: str

    @cached_property
    def id(self) -> str:
        """Twelve hexadecimal digits that depend only on the content.

        Fields of the placement other than ``_FIRST_FIELDS`` enter only if they differ from their
        defaults, so that adding a field to ``Placement`` does not change existing ids.
        """
        content = msgspec.to_builtins(self)
        content["parameters"] = dict(sorted(self.parameters.items()))
        content["placement"] = self.placement.content(_FIRST_FIELDS)
        text = msgspec.json.encode(content)
        return hashlib.sha256(text).hexdigest()[:12]
