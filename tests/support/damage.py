"""Random damage to a run's files, by a seed: as by disks, kills, editors and users."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUMBERS = (
    *(0, -1, 1e308, -1e308, 2**63, 2**64, 10**30, 1e-320, 0.5, True, None, "", "²", "nan"),
    *("\ud7ff\x1b[2J", [], {}, [[]], "../../x", "x" * 3000),
)


def _flip(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def _zeros(content: bytes, draw: random.Random) -> bytes:
    """Zeros, as a crash leaves them in blocks that were never written."""
    place = draw.randrange(len(content))
    return content[:place] + b"\0" * (len(content) - place)


def _no_utf8(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + b"\xff\xfe" + content[place:]


def _twice(content: bytes, draw: random.Random) -> bytes:
    return content + content


def _other(content: bytes, draw: random.Random) -> bytes:
    return draw.choice([b"", b"{}", b"[]", b"null", b"\n" * 50, b"[" * 100_000, b"9" * 5000])


def _value(content: bytes, draw: random.Random) -> bytes:
    """Another value at some place of its JSON, which remains valid JSON."""
    lines = content.split(b"\n") if content.count(b"\n{") else [content]
    index = draw.randrange(len(lines))
    try:
        tree = json.loads(lines[index])
    except ValueError:
        return _flip(content, draw)
    places = list(_places(tree))
    if not places:
        return _other(content, draw)
    holder, key = draw.choice(places)
    if draw.random() < 0.2:
        del holder[key]
    else:
        holder[key] = draw.choice(NUMBERS)
    lines[index] = json.dumps(tree).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def _places(tree: Any) -> Any:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _cut, _zeros, _no_utf8, _twice, _other, _value, _value, _value, _value),
)


def damage(run: Path, seed: int) -> str:
    """Damage one file of a run in one way, determined by the seed; return its description."""
    draw = random.Random(seed)
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)
    # Files that are the source of all else are drawn more frequently than tables.
    named = [p for p in files if p.suffix != ".parquet" or draw.random() < 0.3]
    path = draw.choice(named)
    name = path.relative_to(run)
    roll = draw.random()
    if roll < 0.06:
        path.unlink()
        return f"{name} removed"
    if roll < 0.09:
        path.unlink()
        path.mkdir()
        return f"{name} made a folder"
    if roll < 0.12 and path.parent != run:
        shutil.rmtree(path.parent)
        return f"{name.parent} removed"
    if roll < 0.15:
        (run / "raw" / f"{draw.randrange(9999):04d}-abc.jsonl").write_bytes(path.read_bytes())
        return f"a copy of {name} in raw"
    kind = draw.choice(DAMAGES)
    path.write_bytes(kind(path.read_bytes(), draw))
    return f"{name}{kind.__name__}"
