"""The scheduler's model beside a real Slurm: a new recording of jobs in the lab's own Slurm.

    python benchmarks/slurm_model.py record SEED FILE [--jobs 500] [--nodes 40]
    python benchmarks/slurm_model.py compare FILE...

``record`` needs root and the packages that requirements/install-slurm.sh installs, and takes about
11 minutes for 500 jobs. ``compare`` needs only the files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from slurm_lab import running_slurm
from slurm_load import SETTINGS, recording, run_load, synthetic


def record(seed: int, path: Path, jobs: int, nodes: int, keep: Path | None) -> None:
    load = synthetic(seed, jobs=jobs, nodes=nodes, busy=500.0 * jobs / 500)
    with tempfile.TemporaryDirectory() as folder:
        # Without times if it is written to the terminal.
        written = Path(folder, "controller.log")
        settings = {**SETTINGS, "SlurmctldLogFile": str(written)}
        with running_slurm(nodes, settings=settings) as slurm:
            run_load(slurm, load, Path(folder))
            slurm.await_idle()
            accounts, log = slurm.accounts.read_text(), written.read_text()
            names = [node.name for node in slurm.nodes]
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / "accounts.txt").write_text(accounts)
        (keep / "controller.log").write_text(log)
    stated = {
        name: value
        for name, value in SETTINGS.items()
        if name.startswith(("Select", "Sched", "Prio", "Epilog"))
    }
    recording(load, accounts, log, names, {"seed": str(seed), **stated}).write(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("record")
    new.add_argument("seed", type=int)
    new.add_argument("file", type=Path)
    new.add_argument("--jobs", type=int, default=500)
    new.add_argument("--nodes", type=int, default=40)
    new.add_argument("--keep", type=Path, help="a folder for the accounts and the log")
    options = parser.parse_args()
    record(options.seed, options.file, options.jobs, options.nodes, options.keep)


if __name__ == "__main__":
    main()
