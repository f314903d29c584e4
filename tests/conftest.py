"""Setup for all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from assay.processes import POLITE_WAITING
from browser import Browser, opened
from site_free import forget_the_site

pytest_plugins = ["costs", "hung_tests", "one_drawing_engine", "patient_ranks", "second_tries"]
forget_the_site(os.environ)
# A busy machine is no failure: timings are never asserted, including Hypothesis's deadlines.
settings.register_profile("assay", deadline=None, print_blob=True)
settings.load_profile("assay")
# Hundreds of tests start assay: its modules are compiled once for all of them, even if the
# environment disables writing bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Background jobs of a shell ignore Ctrl-C, and so would all processes that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Programs started by nohup ignore the hangup of their terminal.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Modules and items of tests stay until the end: looking for garbage among them, while they are made
# and after each test again, takes a sixth of the time of collecting them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def polite_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks may outnumber the CPUs, and MPICH's polling would use up each other's time slices."""
    for name, value in POLITE_WAITING.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of a session that need one."""
    yield from opened(tmp_path_factory.mktemp("browser"))
