"""A process that takes a CPU, for tests of what another's work does to a measurement."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def spinning(cpu: int | None = None) -> Iterator[int]:
    """The process id of a program that spins, on the given CPU if any, and already does so.

    On a busy machine Python may take longer to start than a short measurement lasts.
    """
    program = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            if cpu is not None:
                os.sched_setaffinity(child.pid, {cpu})
            yield child.pid
        finally:
            child.kill()
