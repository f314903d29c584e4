"""The scheduler's model compared with a real Slurm: a new recording of jobs in the lab's own Slurm.

    python benchmarks/slurm_model.py record SEED FILE [--jobs 500] [--nodes 40]
    python benchmarks/slurm_model.py compare FILE...

``compare`` prints two lines per file, of jobs that last as long as their sleeps and as long as the
accounts say, with the order of starts as logged, and in brackets with jobs
that Slurm started in the same pass in either order; it needs only the files. ``record`` needs root
and the packages that requirements/install-slurm.sh installs, and takes about 27 minutes for 500
jobs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from assay.kernels.builds.scheduler import build_scheduler
from slurm_comparison import compared
from slurm_lab import running_slurm
from slurm_load import SETTINGS, read_recording, recording, run_load, synthetic

_HEADS = (
    "recording",
    "times",
    "jobs",
    "passed",
    "wait, s",
    "model, s",
    "error",
    "pairs",
    "longest",
    "rank",
)


def record(seed: int, path: Path, jobs: int, nodes: int, busy: float, keep: Path | None) -> None:
    load = synthetic(seed, jobs=jobs, nodes=nodes, busy=busy)
    with tempfile.TemporaryDirectory() as folder:
        # Without times if it is written to the terminal.
        written = Path(folder, "controller.log")
        settings = {**SETTINGS, "SlurmctldLogFile": str(written)}
        with running_slurm(nodes, settings=settings) as slurm:
            run_load(slurm, load, Path(folder), patience=3600.0)
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


def show(files: list[Path]) -> None:
    """Print the table of recordings and model."""
    program = build_scheduler()
    rows = [_HEADS]
    for path in files:
        made = read_recording(path)
        for times in ("sleeps", "accounts"):
            seen = compared(made, program, accounts=times == "accounts")
            rows.append(
                (
                    path.name,
                    times,
                    f"{seen.jobs}",
                    f"{seen.passed:.1%}",
                    f"{seen.real:.1f}",
                    f"{seen.modelled:.1f}",
                    f"{seen.error:+.1%}",
                    *(
                        f"{logged:.1%} ({tied:.1%})"
                        for logged, tied in (seen.pairs, seen.longest, seen.ranks)
                    ),
                )
            )
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("record")
    new.add_argument("seed", type=int)
    new.add_argument("file", type=Path)
    new.add_argument("--jobs", type=int, default=500)
    new.add_argument("--nodes", type=int, default=40)
    new.add_argument("--busy", type=float, default=1260.0, help="s of work for all nodes")
    new.add_argument("--keep", type=Path, help="a folder for the accounts and the log")
    beside = commands.add_parser("compare")
    beside.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "compare":
        show(options.files)
        return
    record(options.seed, options.file, options.jobs, options.nodes, options.busy, options.keep)


if __name__ == "__main__":
    main()
