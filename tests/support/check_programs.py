"""The measuring program of a check: its builds for tests, raw orders, and nodes as namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.check.measuring.meter import Meter
from assay.check.measuring.program import program_digest
from assay.kernels.builds.check import build_check
from native_build import by_one_at_a_time

_WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-restrict")
_FAULTS = (*_WARNINGS, "-DASSAY_TEST_FAULTS", "-O1")
# Unoptimised: tests with it spend most of their time on its compilation.
_SANITIZED = (*_FAULTS, "-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@cache
def plain() -> Path:
    """The program as it is shipped."""
    return _built(())


@cache
def faulty() -> Path:
    """With faults that are planted before results are verified; warnings are errors. Under the
    sanitizers if all tests are.
    """
    return sanitized() if os.environ.get("ASSAY_TEST_SANITIZED") else _built(_FAULTS)


@cache
def sanitized() -> Path:
    """The same under the address and undefined-behaviour sanitizers."""
    return _built(_SANITIZED)


def _built(flags: tuple[str, ...]) -> Path:
    with by_one_at_a_time("check-program"):
        return build_check(flags=flags)


def meter(program: Path, *, deadline: float = 120.0, **options: Any) -> Meter:
    """A meter for a program that is trusted as it is."""
    return Meter(program, digest=program_digest(program), deadline=deadline, **options)


def answers(
    program: Path | Sequence[object],
    *lines: str,
    options: Sequence[object] = (),
    status: int = 0,
) -> list[dict[str, Any]]:
    """What the program says to these orders, without its first line."""
    command = [program] if isinstance(program, Path) else [*program]
    done = subprocess.run(
        list(map(str, [*command, *options])),
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()[1:]]


@dataclass(frozen=True)
class VirtualNode:
    """A network namespace with one adapter."""

    name: str
    address: str

    def inside(self, *command: str | Path) -> list[str]:
        """The command, to be run in it."""
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def run(self, *command: str | Path) -> None:
        """Run a command in it."""
        _run(*self.inside(*command))


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[VirtualNode, VirtualNode]]:
    """Two namespaces, joined by a cable. Needs root."""
    nodes = tuple(
        VirtualNode(f"assay-check-{os.getpid()}-{which}", f"10.213.7.{which}") for which in (1, 2)
    )
    first, second = nodes
    try:
        for node in nodes:
            _run("ip", "netns", "add", node.name)
        _run(
            *("ip", "link", "add", "cable", "netns", first.name, "type", "veth"),
            *("peer", "name", "cable", "netns", second.name),
        )
        for node in nodes:
            node.run("ip", "addr", "add", f"{node.address}/24", "dev", "cable")
            node.run("ip", "link", "set", "cable", "up")
            node.run("ip", "link", "set", "lo", "up")
        yield first, second
    finally:
        for node in nodes:
            subprocess.run(["ip", "netns", "del", node.name], capture_output=True, check=False)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
