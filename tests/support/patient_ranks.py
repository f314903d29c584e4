"""Ranks that sleep while they wait for each other.

With ``POLITE_WAITING`` a waiting rank of MPICH yields its core again and again. If ranks outnumber
the cores, two thirds of a short launch's CPU time are such calls. A preloaded library makes ranks
sleep for 20 us instead. Tests that measure waits leave it out.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from assay.processes import POLITE_WAITING
from native_build import digest, kept_in_cache

_SOURCE = Path(__file__).with_suffix(".c")
_PRELOAD = "LD_PRELOAD"


@cache
def library() -> Path:
    """The library, built once. Raises subprocess.CalledProcessError."""

    def compile_to(folder: Path) -> None:
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, _SOURCE, "-o", folder / "patient.so"], check=True)

    version = digest(_SOURCE.read_bytes())
    return kept_in_cache("patient-ranks", version, compile_to) / "patient.so"


def patient(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment (by default this process's) in which ranks sleep while they wait."""
    given = os.environ if environment is None else environment
    libraries = dict.fromkeys((str(library()), *given.get(_PRELOAD, "").split()))
    return {**given, **POLITE_WAITING, _PRELOAD: " ".join(libraries)}


@pytest.fixture(scope="module")
def patient_ranks() -> Iterator[None]:
    """The ranks that the tests of a module start sleep while they wait."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patient().items():
            patch.setenv(name, value)
        yield
