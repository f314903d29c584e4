"""Names of what lowers a device's clock, and of its compute modes (NVML API Reference)."""

from __future__ import annotations

#: By bit of the clocks' event reasons: the name, and whether it takes speed away under load. Idle
#: devices and clocks that an administrator set are not throttled.
REASONS: tuple[tuple[int, str, bool], ...] = (
    (0x1, "idle", False),
    (0x2, "application clocks", False),
    (0x4, "power limit", True),
    (0x8, "hardware slowdown", True),
    (0x10, "group of devices", True),
    (0x20, "temperature (software)", True),
    (0x40, "temperature (hardware)", True),
    (0x80, "power brake", True),
    (0x100, "display clocks", False),
)
COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
THROTTLING = frozenset(name for _, name, slows in REASONS if slows)


def reasons(mask: int) -> list[str]:
    """The names of all bits that are set; unknown ones by their number."""
    known = [name for bit, name, _ in REASONS if mask & bit]
    rest = mask & ~sum(bit for bit, _, _ in REASONS)
    return [*known, f"reason {rest:#x}"] if rest else known
