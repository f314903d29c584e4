"""Calls of functions that fork, in one small process per session.

The process of pytest holds all tests: a fork of it, and the copies of its pages afterwards, take
20 ms of CPU time. In a process that holds a few modules a fork takes 0.4 ms.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def called(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of an importable function; raises what it raises."""
    process = _process()
    assert process.stdin is not None and process.stdout is not None
    pickle.dump((function, args, kwargs), process.stdin)
    process.stdin.flush()
    raised, result = pickle.load(process.stdout)
    if raised:
        raise result
    answer: T = result
    return answer


@cache
def _process() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", Path(__file__)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.wait)
    assert process.stdin is not None
    atexit.register(process.stdin.close)  # at which it ends
    return process


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while True:
        try:
            function, args, kwargs = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = (False, function(*args, **kwargs))
        except Exception as error:
            answer = (True, error)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _serve(sys.stdin.buffer, sys.stdout.buffer)
