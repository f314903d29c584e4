"""The microarchitecture of a processor, and the flops per cycle of its cores.

The table ``microarchitectures.toml`` states a source for every entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("microarchitectures.toml")


@dataclass(frozen=True)
class Microarchitecture:
    """A microarchitecture: the processors that have it, and their floating-point pipes."""

    name: str
    vendor: str
    #: Number of vector floating-point pipes per core.
    pipes: int
    #: Width of a pipe's data path, bits.
    pipe_bits: int
    #: Whether the pipes execute fused multiply-adds.
    fma: bool
    #: Document that describes the pipes.
    source: str
    family: int | None = None
    #: Ranges of model numbers (first, last); empty for the whole family.
    models: tuple[tuple[int, int], ...] = ()
    name_matches: str | None = None

    @property
    def flops_per_cycle(self) -> int:
        """Double-precision operations per cycle of one core."""
        return self.pipes * self.pipe_bits // 64 * (2 if self.fma else 1)

    def covers(self, vendor: str, family: int | None, model: int | None, name: str | None) -> bool:
        """Whether the entry applies to a processor with these identifiers."""
        if vendor != self.vendor or (self.family is not None and family != self.family):
            return False
        if self.models and (model is None or not any(a <= model <= b for a, b in self.models)):
            return False
        return self.name_matches is None or bool(re.search(self.name_matches, name or ""))


@cache
def microarchitectures() -> tuple[Microarchitecture, ...]:
    """All entries, in the order in which they are tried."""
    import tomllib

    entries = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["entry"]
    return tuple(
        Microarchitecture(**{**entry, "models": tuple(map(_span, entry.get("models", ())))})
        for entry in entries
    )


def _span(models: int | list[int]) -> tuple[int, int]:
    return (models, models) if isinstance(models, int) else (models[0], models[1])


def identify(
    vendor: str | None, family: int | None, model: int | None, name: str | None
) -> Microarchitecture | None:
    """The first entry that covers a processor; None if there is none.

    ``vendor``, ``family``, ``model``, ``name`` as in ``assay.system.model.Processor``.
    """
    if vendor is None:
        return None
    return next((m for m in microarchitectures() if m.covers(vendor, family, model, name)), None)
