"""CPU time of ``assay history``, ``runs`` and ``compare`` on many stored runs.

    python benchmarks/history.py 500 1000 2000 4000

Prints the seconds of CPU time (user and system) of each command and number of runs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import history_builder

COMMANDS = (("history",), ("history", "--html"), ("runs",))


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    history_builder.DAY = 3600.0
    cells = [(history_builder.barrier(2), lambda hour: 1e-5),
             (history_builder.triad(), lambda hour: 1.05e-4 if hour > 300 else 1e-4)]  # fmt: skip
    for count in [int(word) for word in sys.argv[1:]] or [500, 1000, 2000]:
        with tempfile.TemporaryDirectory() as folder:
            root = history_builder.nightly(Path(folder) / "runs", count, cells)
            for words in COMMANDS:
                before = spent()
                command = [sys.executable, "-P", "-m", "assay", *words, "--runs", str(root)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                print(f"{count:6} {' '.join(words):16} {spent() - before:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
