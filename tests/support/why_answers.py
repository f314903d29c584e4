"""``assay why`` as a user types it, and what its answer must be on a machine with other work."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import prepared_assay
from other_work import OtherWork, other_work
from spinning import spinning

# CPUs in use by others from which a measurement may be disturbed.
_QUIET = 0.05
_NODE = {"CPU quota", "binding", "other processes", "slow CPU"}


def why(
    folder: Path,
    command: Sequence[str],
    *options: str,
    status: int = 0,
    before: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Any:
    """``assay why OPTIONS -- COMMAND`` in a folder; its exit status is checked. ``before``: a
    command that starts it, such as on a lab's host.
    """
    words = [*before, sys.executable, "-m", "assay", "why", *options, "--", *command]
    done = prepared_assay.run(
        words, cwd=folder, capture_output=True, text=True, timeout=280, check=False,
        env={**os.environ, **(variables or {})},
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done


def findings(text: str) -> dict[str, Any]:
    """Those that ``--json`` printed behind the output of the program."""
    found: dict[str, Any] = json.loads(text[text.index("{\n") :])
    return found


def found(
    folder: Path,
    command: Sequence[str],
    *options: str,
    launches: int = 2,
    known: Sequence[int] = (),
    before: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], OtherWork]:
    """The findings, and the work of others meanwhile. ``known``: processes that don't count."""
    words = ("--json", "--launches", str(launches), "--folder", "kept", *options)
    with other_work(*known) as others:
        done = why(folder, command, *words, before=before, variables=variables)
    return findings(done.stdout), others


def reason_of(answered: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A reason by its name."""
    reason: dict[str, Any] = next(one for one in answered["reasons"] if one["name"] == name)
    return reason


def agrees(answered: Mapping[str, Any], others: OtherWork, *reasons: str) -> bool:
    """Check the first reason: on a quiet machine one of ``reasons`` ("": none).

    With other work on the machine the answer may also be that it is undecided, or that a node took
    CPUs from ranks, but no other reason. Returns whether one of ``reasons`` is the answer.
    """
    first, undecided = answered["first"], answered["undecided"]
    if not undecided and first in reasons:
        return True
    seen = (undecided, first, [
        (one["name"], one["outcome"], one["seconds"], one["evidence"])
        for one in answered["reasons"]
    ])  # fmt: skip
    assert others.cpus > _QUIET, seen
    open_ = {one["name"] for one in answered["reasons"] if one["outcome"] == "undecided"}
    assert undecided or first in _NODE or (not first and open_ & {*reasons}), seen
    return False


def assert_spinner_is_named(
    folder: Path, command: Sequence[str], cpu: int, variables: Mapping[str, str] | None = None
) -> None:
    """Of two launches, with another process on the second rank's CPU."""
    with spinning(cpu) as spinner:
        answered, others = found(folder, command, known=[spinner], variables=variables)
    waits = [one["without_cpu"] for one in answered["by_rank"]]
    assert waits[1] > 0.0
    if agrees(answered, others, "other processes"):
        assert "rank 1" in reason_of(answered, "other processes")["where"]
        assert waits[1] > waits[0]
