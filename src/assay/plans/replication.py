"""Reading and checking the rule of when enough has been measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from assay.errors import AssayError, nearest
from assay.plans.levels import read_quantity
from assay.plans.model import Replication

_UNITS = {"budget": "s", "cell_budget": "s"}
_WHOLE = ("min_launches", "max_launches", "min_samples", "max_samples")


def read_replication(
    values: Mapping[str, object], where: Callable[[str], str] = lambda key: ""
) -> Replication:
    """A replication rule from numbers or texts such as ``"1%"`` and ``"2 min"``.

    ``where`` says where a key stands. Raises AssayError for an unknown key and an impossible value.
    """
    known = Replication.__struct_fields__
    read: dict[str, int | float] = {}
    for key, raw in values.items():
        if key not in known:
            raise AssayError(
                f"Unknown key '{key}' in [replication].", where=where(key), mend=nearest(key, known)
            )
        value = read_quantity(raw, key, _UNITS.get(key, ""), where(key))
        if key in ("precision", "confidence"):
            if not 0 < value < 1:
                raise AssayError(f"'{key}' must lie between 0 and 1.", where=where(key))
        elif value <= 0:
            raise AssayError(f"'{key}' must be above 0.", where=where(key))
        if key in _WHOLE:
            if value != int(value):
                raise AssayError(f"'{key}' must be a whole number.", where=where(key))
            value = int(value)
        read[key] = value
    rule = msgspec.convert(read, Replication)
    for thing in ("launches", "samples"):
        least, most = getattr(rule, f"min_{thing}"), getattr(rule, f"max_{thing}")
        if least > most:
            key = f"min_{thing}" if f"min_{thing}" in values else f"max_{thing}"
            raise AssayError(
                f"min_{thing} = {least} is more than max_{thing} = {most}.", where=where(key)
            )
    return rule
