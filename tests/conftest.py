"""What all tests share."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from hypothesis import settings

from assay.waiting import POLITE_WAITING
from site_free import forget_the_site

pytest_plugins = ["second_tries"]
forget_the_site(os.environ)
# A machine that is busy is no failure: timings are never asserted, Hypothesis's included.
settings.register_profile("assay", deadline=None, print_blob=True)
settings.load_profile("assay")
# Hundreds of tests start assay: compiled once, its modules serve all, also where the surroundings
# would have each process compile them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell's background jobs ignore Ctrl-C, and so would all that tests start and send one.
signal.signal(signal.SIGINT, signal.default_int_handler)
# And what nohup starts ignores the end of its terminal.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def polite_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks may outnumber the CPUs, and MPICH's would poll away each other's time slices."""
    for name, value in POLITE_WAITING.items():
        monkeypatch.setenv(name, value)
