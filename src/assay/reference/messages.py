"""What published clusters' messages took. The table is ``messages.toml``, each entry sourced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("messages.toml")


@dataclass(frozen=True)
class PublishedMessages:
    """Ping-pong between two nodes. ``latency``: s; ``bandwidth``: B/s of long messages."""

    system: str
    network: str
    year: int
    bandwidth: float
    source: str
    latency: float | None = None


@cache
def published_messages() -> tuple[PublishedMessages, ...]:
    """The whole table, in its order."""
    import tomllib

    entries = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["entry"]
    return tuple(PublishedMessages(**entry) for entry in entries)
