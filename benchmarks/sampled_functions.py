"""The functions with the most CPU time: ``assay profile --sample`` beside perf, in the same runs.

    python benchmarks/sampled_functions.py --runs 2 --keep functions.jsonl \
        "CG=mpirun -n 2 ./cg.B.x" "LULESH=./lulesh2.0 -s 30 -i 200"

Each command runs by ``assay profile --sample`` below ``perf record``. perf samples by the kernel's
software clock, and counts only while assay's samples are taken, in the same processes. A sample in
the kernel belongs to the function of the program that entered the kernel, as in assay. Inlined
functions belong to the function that contains them, as in perf. perf's symbols are converted to the
names in the source as assay converts them, so that only the samples differ.

Printed per command: the functions among the first ten of either, with the share of all samples and
its exact 95% interval in both; the pairs of them whose intervals overlap in neither, and which of
these pairs have another order in perf; functions whose shares differ by more than chance; and
perf's share of samples in assay's own libraries, which the other shares leave out. The exit status
is 1 if a pair has another order. ``--keep FILE`` keeps each run's counts as a line of JSON and adds
to them when started again; ``--runs 0`` only prints.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common import ASSAY
from function_order import Counts, Function, compare_order

from assay.trace.samples.files import SAMPLE_FILES, read_process
from assay.trace.samples.model import Place, ProgramSamples
from assay.trace.samples.rate import DEFAULT_RATE
from assay.trace.samples.reading import read_samples
from assay.trace.sites.demangle import demangled

_OWN = re.compile(r"libassay-(?:sampler|trace)[\w.-]*\.so")
_FRAME = re.compile(r"\s+([0-9a-f]+) (\S+) \((.*)\)")
_KERNEL = 1 << 63
_FIRST = 10


@dataclass
class Pair:
    """Samples by function of one command, over its runs. ``own``: perf's in assay's libraries."""

    assay: Counter[Function] = field(default_factory=Counter)
    perf: Counter[Function] = field(default_factory=Counter)
    own: int = 0
    runs: int = 0

    def add(self, other: Pair) -> None:
        self.assay += other.assay
        self.perf += other.perf
        self.own += other.own
        self.runs += other.runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", metavar="NAME=COMMAND")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=DEFAULT_RATE, help="assay's samples per s")
    parser.add_argument("--perf-rate", type=int, default=997, help="perf's samples per s")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    if chosen.runs and shutil.which(chosen.perf) is None:
        sys.exit(f"There is no {chosen.perf}. Install it (Debian: linux-perf) or name it (--perf).")
    pairs: dict[str, Pair] = dict(_kept(chosen.keep)) if chosen.keep else {}
    for _ in range(chosen.runs):
        for text in chosen.commands:
            name, _, command = text.partition("=")
            with tempfile.TemporaryDirectory() as folder:
                found = _run(shlex.split(command), chosen, Path(folder))
            pairs.setdefault(name, Pair()).add(found)
            if chosen.keep:
                with chosen.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"program": name, **_plain(found)}) + "\n")
    same = True
    for name, pair in pairs.items():
        for line in report(name, pair):
            print(line)
        same = same and compare_order(pair.assay, pair.perf, _FIRST).same
    sys.exit(0 if same else 1)


def _plain(pair: Pair) -> dict[str, object]:
    counts = {
        name: [[*function, number] for function, number in of.items()]
        for name, of in (("assay", pair.assay), ("perf", pair.perf))
    }
    return {**counts, "own": pair.own, "runs": pair.runs}


def _kept(path: Path) -> Iterator[tuple[str, Pair]]:
    pairs: dict[str, Pair] = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for record in map(json.loads, lines):
        counts = [
            Counter({Function(module, name): number for module, name, number in record[tool]})
            for tool in ("assay", "perf")
        ]
        pair = Pair(*counts, own=record["own"], runs=record["runs"])
        pairs.setdefault(record["program"], Pair()).add(pair)
    yield from pairs.items()


def _run(command: Sequence[str], chosen: argparse.Namespace, folder: Path) -> Pair:
    profile, data = folder / "run.profile", folder / "perf.data"
    words = [
        chosen.perf, "record", "--quiet", "--event=cpu-clock", f"--freq={chosen.perf_rate}", "-g",
        "--clockid=CLOCK_MONOTONIC", f"--output={data}", "--", *ASSAY, "profile",
        f"--sample={chosen.rate:g}", "--folder", str(profile), "--", *command,
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        sys.exit(f"{shlex.join(words)} ended with {done.returncode}:\n{last}")
    samples = read_samples(profile)
    if samples is None:
        sys.exit(f"{shlex.join(command)} used too little CPU time for a sample.")
    counted = {thread.process for thread in samples.threads}
    during = {}
    for path in profile.glob(SAMPLE_FILES):
        process = read_process(path)
        if process.header.process not in counted:
            continue  # a launcher
        end = process.end.end if process.end is not None else int(process.times.max(initial=0))
        during[process.header.process] = (process.header.begin, end)
    script = subprocess.Popen(
        [
            chosen.perf, "script", f"--input={data}", "--no-demangle", "--no-inline", "--ns",
            f"--pid={','.join(map(str, during))}", "--fields=pid,time,ip,sym,dso",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
    )  # fmt: skip
    assert script.stdout is not None
    with script, script.stdout as lines:
        perf = perf_counts(lines, during)
    own = sum(perf.pop(one) for one in list(perf) if _OWN.fullmatch(one.module))
    return Pair(assay_counts(samples), perf, own, 1)


def assay_counts(samples: ProgramSamples) -> Counter[Function]:
    """The samples of all threads by the innermost function that was not inlined."""
    functions = [_function([samples.places[place] for place in stack]) for stack in samples.stacks]
    found: Counter[Function] = Counter()
    for thread in samples.threads:
        found.update(functions[stack] for stack in thread.stacks.tolist())
    return found


def _function(places: Sequence[Place]) -> Function:
    for place in reversed(places):
        if not place.inlined:
            return Function(place.module, place.function)
    return Function("", "")


def perf_counts(
    lines: Iterator[str] | Sequence[str], during: Mapping[int, tuple[int, int]]
) -> Counter[Function]:
    """The samples in the output of ``perf script`` by the innermost function outside of the kernel.

    ``during``: when each process was sampled, ns.
    """
    found: Counter[Function] = Counter()
    wanted = False
    for line in lines:
        if not line[:1].isspace() and line.strip():
            process, _, time = line.strip().rstrip(":").partition(" ")
            begin, end = during.get(int(process), (1, 0))
            wanted = begin <= int(time.strip().replace(".", "")) <= end
            continue
        frame = _FRAME.match(line)
        if not wanted or frame is None or int(frame[1], 16) >= _KERNEL:
            continue
        found[_perf_function(frame[2], frame[3])] += 1
        wanted = False  # only the innermost one
    return found


def _perf_function(symbol: str, path: str) -> Function:
    module = path if path.startswith("[") else Path(path).name
    # A version of the C library follows the names of its functions.
    name = "" if symbol == "[unknown]" else symbol.partition("@")[0]
    return Function(module, demangled(name))


def report(name: str, pair: Pair) -> Iterator[str]:
    """A table, and sentences on the order."""
    assay, perf = _total(pair.assay), _total(pair.perf)
    yield f"\n**{name}**: runs: {pair.runs}; samples: assay {assay}, perf {perf}"
    yield f"in assay's libraries: {100 * pair.own / max(perf + pair.own, 1):.3f}% of perf's"
    yield "\n| function | assay, % | perf, % | p |\n| --- | --- | --- | ---: |"
    order = compare_order(pair.assay, pair.perf, _FIRST)
    for one in order.shares:
        words = [_percent(one.first, one.first_interval), _percent(one.second, one.second_interval)]
        yield f"| {one.function} | {' | '.join(words)} | {one.p:.2g} |"
    yield (
        f"\n{order.common} of the first {_FIRST} are among the first {_FIRST} of perf; "
        f"{order.judged} pairs have a known order, {len(order.reversed)} another one in perf."
    )
    for one, other in order.reversed:
        yield f"another order: {one}, {other}"
    for share in order.apart:
        yield f"shares differ by more than chance: {share.function}"


def _percent(share: float, interval: tuple[float, float]) -> str:
    return f"{100 * share:.2f} [{100 * interval[0]:.2f}, {100 * interval[1]:.2f}]"


def _total(counts: Counts) -> int:
    return sum(counts.values())


if __name__ == "__main__":
    main()
