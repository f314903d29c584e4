"""Time until the first and the last measured number of a run with an empty cache.

    .venv/bin/python benchmarks/first_result.py [SUITE] [--environment] [--repeat 3]

Each repetition runs ``assay run SUITE`` with a cache folder and a folder of runs of its own, and
notes when each line of output comes. With ``--environment`` a virtual environment is made first, as
``make run`` does. Wall times depend on other load of the machine, but the CPU seconds of all
started processes hardly do. Both are given, with the load average before each repetition.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A line with a result.
RESULT = re.compile(r", (\d+|\d+ to \d+) launch(es)?( each)?$")


@dataclass(frozen=True)
class Timed:
    """One repetition: seconds since its start, CPU seconds, and the load average before it.

    ``built``: until the executable was there; ``first`` and ``last``: until a result's line;
    ``whole``: until the end, with the report. ``cpu`` and ``build_cpu``: of all processes, and of
    those of the build. ``results``: number of lines with results.
    """

    load: float
    environment: float | None
    environment_cpu: float | None
    built: float
    first: float
    last: float
    whole: float
    cpu: float
    build_cpu: float | None
    results: int


def cpu_of_children() -> float:
    """CPU seconds of all processes that were started from here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def imported() -> str:
    """The modules that `make` imports when it sets up an environment."""
    named = re.search(r"(?m)^IMPORTED := (.+)$", (ROOT / "Makefile").read_text())
    assert named is not None
    return named[1]


def set_up(folder: Path, environment: Mapping[str, str]) -> Path:
    """Create a virtual environment with all that a run needs; returns its Python."""
    python = folder / "venv/bin/python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip.append("--no-compile")
    locked = str(ROOT / "requirements/run.txt")
    with subprocess.Popen(
        [sys.executable, "-m", "compileall", "-qq", str(ROOT / "src/assay")], env=environment
    ):
        subprocess.run([*pip, "--require-hashes", "--requirement", locked], check=True)
    # As `make`, without a link from the checkout: the sources are not written to.
    site = next((folder / "venv/lib").glob("python*/site-packages"))
    (site / "assay-sources.pth").write_text(f"{ROOT / 'src'}\n")
    return python


def timed(suite: str, folder: Path, *, environment: bool) -> Timed:
    """Run a suite in an empty folder. Raises CalledProcessError if it can't be measured."""
    variables = {
        **os.environ,
        "ASSAY_CACHE": str(folder / "cache"),
        "PYTHONUNBUFFERED": "1",
        # As in a fresh clone, whatever was imported from this one before.
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    load, used, began = os.getloadavg()[0], cpu_of_children(), time.monotonic()
    python = set_up(folder, variables) if environment else Path(sys.executable)
    # `make` does this, too.
    subprocess.run([str(python), "-c", f"import {imported()}"], env=variables, check=True)
    ready, ready_cpu = time.monotonic() - began, cpu_of_children() - used
    used, began = cpu_of_children(), time.monotonic()
    command = [str(python), "-m", "assay", "run", suite, "--runs", str(folder / "runs")]
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=variables,
    )
    assert run.stdout is not None
    first = last = 0.0
    results = 0
    for line in run.stdout:
        now = time.monotonic() - began
        print(f"{now:7.1f}  {line}", end="")
        if RESULT.search(line.rstrip()):
            last, results = now, results + 1
            first = first or now
    if run.wait() or not first:
        raise subprocess.CalledProcessError(run.returncode, command)
    whole, cpu = time.monotonic() - began, cpu_of_children() - used
    origin = next((folder / "cache/builds").glob("[!.]*/toolchain.json"))
    built = json.loads(origin.read_text())
    # Its time stamp is on the system's clock, as that of the run's start is.
    until = origin.stat().st_mtime - (time.time() - (time.monotonic() - began))
    return Timed(
        load,
        ready if environment else None,
        ready_cpu if environment else None,
        until,
        first,
        last,
        whole,
        cpu,
        built["cpu"],
        results,
    )


def row(each: Timed) -> str:
    """A line of the table; wall seconds (CPU seconds)."""
    environment = (
        "–"
        if each.environment is None
        else f"{each.environment:.0f} ({each.environment_cpu or 0.0:.0f})"
    )
    build_cpu = "–" if each.build_cpu is None else f"{each.build_cpu:.0f}"
    return (
        f"| {each.load:.1f} | {environment} | {each.built:.1f} ({build_cpu}) | {each.first:.1f} | "
        f"{each.last:.1f} | {each.whole:.1f} ({each.cpu:.0f}) |"
    )


def main() -> None:
    """Print every line with its time, and a table at the end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite", nargs="?", default="quick")
    parser.add_argument("--environment", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the times to this file")
    options = parser.parse_args()
    found = []
    for _ in range(options.repeat):
        with tempfile.TemporaryDirectory(prefix="first-result-") as name:
            found.append(timed(options.suite, Path(name), environment=options.environment))
    print(
        "\n| load before | environment, s (CPU) | built, s (CPU) | first number, s | last, s |",
        end="",
    )
    print(" whole, s (CPU) |\n| --: | --: | --: | --: | --: | --: |")
    print("\n".join(map(row, found)))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
