"""Waiting for something that another process does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until the condition holds; it doesn't while a folder vanishes that it reads, since a
    run's folder is renamed when the run is complete.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            if condition():
                return
        time.sleep(0.01)
    pytest.fail(f"What was waited for didn't happen within {seconds:g} s.")
