"""Folded stacks for flame graphs: one line per stack, with its number of samples.

The format is the input of Brendan Gregg's flamegraph.pl (2011): functions from the outermost to the
innermost, separated by ";", then a space and the count. The first element is the rank. Semicolons
and line ends in names become colons and blanks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from assay.trace.samples.exports.model import SampleExport, place_label, write_text
from assay.trace.samples.model import Activity, ProgramSamples

_KINDS = {Activity.MPI: "[MPI]", Activity.WAITING: "[waiting for threads]"}


def _write(samples: ProgramSamples, path: Path) -> None:
    names = [place_label(place).replace(";", ":") for place in samples.places]
    counts: Counter[tuple[int, str]] = Counter()
    folded = [";".join(names[place] for place in stack) for stack in samples.stacks]
    for thread in samples.threads:
        for stack, kind in zip(thread.stacks.tolist(), thread.activities.tolist(), strict=True):
            # Samples in MPI and of waiting threads end in a frame that says so.
            end = _KINDS.get(Activity(kind), "")
            counts[thread.rank, ";".join(filter(None, (folded[stack], end)))] += 1
    lines = [f"rank {rank};{stack or '[unknown]'} {n}\n" for (rank, stack), n in counts.items()]
    write_text(path, "".join(sorted(lines)))


EXPORT = SampleExport("Folded stacks (flame graphs)", "app.folded", _write)
