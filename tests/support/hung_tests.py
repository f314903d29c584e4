"""A pytest plugin: a test that hangs fails, and pytest's processes show where they are on SIGUSR2.

pytest-timeout ends a test after 300 s (pyproject.toml), those that ``make test`` leaves out after
1800 s. Where pytest itself hangs, it can't help: before ``.ci/run`` gives up, ``hung_tests.py PID``
lists the processes that this one has started, and lets those of pytest show their stacks.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time

import psutil
import pytest

_STDERR = pytest.StashKey[int]()
_LATER = ("long", "cluster", "sanitized")


def pytest_configure(config: pytest.Config) -> None:
    # The output of tests is captured: stacks go to where this process was started to write.
    config.stash[_STDERR] = os.dup(2)
    faulthandler.register(signal.SIGUSR2, config.stash[_STDERR], all_threads=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.get_closest_marker(name) for name in _LATER):
            item.add_marker(pytest.mark.timeout(1800))


def pytest_unconfigure(config: pytest.Config) -> None:
    faulthandler.unregister(signal.SIGUSR2)
    os.close(config.stash[_STDERR])


def _of_pytest(words: list[str]) -> bool:
    """Whether this is the command of pytest, or of one of its workers, which execnet starts."""
    return any(word.endswith("/pytest") or "sys.stdin.readline" in word for word in words[:5])


def main(pid: int) -> None:
    """Show what runs below that process."""
    below = psutil.Process(pid).children(recursive=True)
    print(f"{len(below)} processes run:", flush=True)
    for each in below:
        with contextlib.suppress(psutil.Error):
            age, used = time.time() - each.create_time(), sum(each.cpu_times()[:2])
            words = each.cmdline()
            place = f"{each.ppid()} {each.pid} {each.status()}"
            print(f"  {place} {age:.0f} s, CPU {used:.0f} s: {' '.join(words)[:200]}", flush=True)
            if _of_pytest(words) and words[0].endswith(("python", "python3")):
                each.send_signal(signal.SIGUSR2)
                time.sleep(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
