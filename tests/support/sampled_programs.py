"""Programs whose call stacks are sampled: by the preloaded library alone, or by the command."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from scipy.stats import binomtest

from assay.kernels.builds.trace import build_sampler
from assay.trace.samples.model import Place, ProgramSamples, ThreadSamples
from assay.trace.samples.reading import read_samples
from native_build import NATIVE, digest, kept_in_cache

SAMPLING = NATIVE / "tests" / "sampling"
# The kernel sees at its ticks that a period is over, at least every 10 ms; most kernels every 4 ms.
PERIOD = 5_025_125  # ns: 199 Hz
# A right result fails a test of a share with this probability.
_ALPHA = 1e-5


@cache
def compiled(source: str, *flags: str, compiler: str = "cc") -> Path:
    """A program of ``native/tests/sampling``, compiled once."""
    path = SAMPLING / source

    def compile_to(folder: Path) -> None:
        words = [compiler, path, *flags, "-o", folder / path.stem]
        subprocess.run(words, check=True, cwd=folder, timeout=300)

    identity = " ".join((Path(compiler).name, *flags))
    name = re.sub(r"[^\w-]+", "", f"sampled-{path.stem}{identity}")
    # What it loads, and what its line table names, lie where the compiler and the source do.
    places = f"{compiler} {path}".encode("utf-8", "surrogateescape")
    kept = kept_in_cache(name, digest(path.read_bytes(), identity.encode(), places), compile_to)
    return kept / path.stem


def sampling(folder: Path, *, period: int = PERIOD) -> dict[str, str]:
    """The variables with which a program is sampled."""
    return {
        "ASSAY_PROFILE_DIR": str(folder),
        "ASSAY_SAMPLE_PERIOD": str(period),
        "LD_PRELOAD": str(build_sampler()),
    }


def run_sampled(
    folder: Path, command: Sequence[str | Path], *, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The ended program."""
    environment = {**os.environ, **sampling(folder), **(more or {})}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def samples_in(folder: Path) -> ProgramSamples:
    """The samples in a folder, which must have some."""
    found = read_samples(folder)
    assert found is not None
    return found


def places_of(samples: ProgramSamples, stack: int) -> list[Place]:
    """The places of a stack, outermost first."""
    return [samples.places[index] for index in samples.stacks[stack]]


def counts(
    samples: ProgramSamples, names: Sequence[str], thread: ThreadSamples | None = None
) -> Counter[str]:
    """How many samples of a thread, or of all threads, are inside of each of these functions; each
    sample counts for the first of the names on its stack."""
    found: Counter[str] = Counter()
    for one in samples.threads if thread is None else [thread]:
        for stack, count in Counter(one.stacks.tolist()).items():
            functions = {place.function for place in places_of(samples, stack)}
            found[next((name for name in names if name in functions), "")] += count
    return found


def assert_share(count: int, of: int, share: float) -> None:
    """Whether a count of samples agrees with a share of the work, by the binomial distribution."""
    assert binomtest(count, of, share).pvalue > _ALPHA, (count, of, share)
