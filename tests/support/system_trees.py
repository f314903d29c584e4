"""Unpacks the machines of ``tests/data/system`` (its README has the format)."""

from __future__ import annotations

import re
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "system"
NAMES = sorted(path.stem for path in DATA.glob("*.tree"))


def unpack(name: str, root: Path) -> Path:
    """Write the machine's files below ``root`` and return it."""
    targets: list[Path] = []
    lines: list[str] = []

    def flush() -> None:
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines) + "\n")

    for line in (DATA / f"{name}.tree").read_text().splitlines():
        kind, _, rest = line.partition(" ")
        if kind not in ("@", "->", "+"):
            lines.append(line)
            continue
        flush()
        targets, lines = [], []
        if kind == "@":
            targets = [root / path.lstrip("/") for path in expand(rest)]
        elif kind == "+":
            (root / rest.lstrip("/")).mkdir(parents=True)
        else:
            pattern, target = rest.split(" ")
            for path in expand(pattern):
                link = root / path.lstrip("/")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
    flush()
    return root


def expand(pattern: str) -> list[str]:
    """``cpu{0-2}`` is cpu0, cpu1, cpu2; ``{a,b}`` is a, b."""
    match = re.search(r"\{([^}]*)\}", pattern)
    if match is None:
        return [pattern]
    words: list[str] = []
    for part in match[1].split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part)
        words += [str(n) for n in range(int(span[1]), int(span[2]) + 1)] if span else [part]
    return [expand(pattern[: match.start()] + word + pattern[match.end() :])[0] for word in words]
