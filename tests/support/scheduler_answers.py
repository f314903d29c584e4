"""Scheduler commands that give predefined answers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.schedulers.model import JobRequest

Put = Callable[..., None]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """``put("squeue", out, err, status)``: a command with this output that logs its calls.

    ``when``: a shell pattern of its arguments for which the answer is used; later ones take
    precedence.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    cases: dict[str, list[str]] = {}

    def add(name: str, out: str = "", err: str = "", status: int = 0, when: str = "*") -> None:
        text = f"printf %s {shlex.quote(out)}; printf %s {shlex.quote(err)} >&2; exit {status}"
        cases.setdefault(name, []).insert(0, f"{when}) {text} ;;\n")
        program = folder / name
        log = shlex.quote(str(tmp_path / "calls"))
        program.write_text(
            f'#!/bin/sh\necho {name} "$@" >>{log}\ncase " $* " in\n{"".join(cases[name])}esac\n'
        )
        program.chmod(0o700)

    return add


@pytest.fixture
def calls(tmp_path: Path) -> Callable[[], list[str]]:
    log = tmp_path / "calls"
    return lambda: log.read_text().splitlines() if log.exists() else []


def a_request(tmp_path: Path, tasks: int = 1) -> JobRequest:
    return JobRequest("assay", ("true",), tmp_path, 1, 600.0, tmp_path / "1.out", tasks)
