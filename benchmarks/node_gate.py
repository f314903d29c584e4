"""The node gate on the lab's Slurm: healthy nodes under load, its cost, and beside NHC and ReFrame.

    python benchmarks/node_gate.py healthy --checks 1000
    python benchmarks/node_gate.py cost --jobs 20
    python benchmarks/node_gate.py beside --nhc FOLDER --reframe PROGRAM

As root. Each prints a table in Markdown and, with --output, appends it to a file. FOLDER is an
unpacked source tree of LBNL Node Health Check, PROGRAM the command of an installed ReFrame.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from gate_peers import assay, nhc, nhc_conf, reframe, write_reframe
from termination import end_in_order

import node_faults
from assay.lab.cluster import Host
from gate_lab import GatedSlurm, gated_slurm

FAULTS: dict[str, node_faults.Fault] = {
    "none": node_faults.none,
    "CPU quota of 80%": node_faults.quota,
    "one of two cores taken away": node_faults.lost_core,
    "leftover process, 1 GiB, in another control group": node_faults.leftover,
    "three quarters of the memory": node_faults.wrong_memory,
    "adapter at 100 Mbit/s instead of 1 Gbit/s": node_faults.wrong_speed,
    "scratch full": node_faults.full_scratch,
    "mount that hangs": node_faults.hung_mount,
    "clock daemon stopped": node_faults.no_clock_daemon,
}
_PATIENCE = 120.0


def main() -> None:
    end_in_order()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("healthy", "cost", "beside"))
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--until", default="", help="HH:MM UTC; afterwards checks of facts alone")
    parser.add_argument("--end", default="", help="HH:MM UTC; no check begins after it")
    parser.add_argument("--learn", type=int, default=8, help="checks per node to learn from")
    parser.add_argument("--nhc", type=Path)
    parser.add_argument("--reframe", type=Path)
    parser.add_argument("--only", default="", help="faults whose name contains this text")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    parts = {"healthy": _healthy, "cost": _cost, "beside": _beside}
    begin = os.getloadavg()[0]
    text = parts[given.what](given)
    when = time.strftime("%d %B %Y, %H:%M UTC", time.gmtime())
    text = f"{text}\n\n{when}; load average before {begin:.1f}, after {os.getloadavg()[0]:.1f}.\n"
    print(text)
    if given.output:
        with given.output.open("a") as file:
            file.write(f"\n{text}")


def _healthy(given: argparse.Namespace) -> str:
    """Checks of healthy nodes while a load comes and goes on one of the machine's cores."""
    outcomes: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    drained = done = 0
    with _lab(["slurm-prolog"], given.learn) as gated:
        facts = _facts_hook(gated)

        def checked(kind: str, node: Host) -> None:
            nonlocal drained, done
            state, reason = gated.state(node)
            outcome, why = _last_record(gated, node)
            outcomes[kind, outcome] += 1
            if outcome != "healthy":
                reasons[why] += 1
            if "DRAIN" in state:
                drained += 1
                print(f"check {done}: {reason}", flush=True)
                gated.resume(node)
            done += 1

        while done < given.checks and not _is_past(given.end):
            # Of four jobs two have other work beside them: a core busy, or the memory.
            whole = not _is_past(given.until)
            for node in gated.nodes:
                with _load(done):
                    if whole:
                        gated.job(node, patience=_PATIENCE)
                    else:
                        gated.run(node, "env", "-i", *facts, f"SLURMD_NODENAME={node.name}",
                                  "sh", str(gated.folder / "facts"), check=False)  # fmt: skip
                checked("facts" if not whole else "measurements", node)
            if done % 20 == 0:
                print(f"{done} checks: {dict(outcomes)}, {drained} drains", flush=True)
    kinds = ("measurements", "facts")
    rows = [
        f"| {name} | " + " | ".join(str(outcomes[kind, name]) for kind in kinds) + " |"
        for name in ("healthy", "undecided", "unhealthy")
    ]
    most = "\n".join(f"- {number} times: {reason}" for reason, number in reasons.most_common(8))
    return (
        f"Healthy nodes under load: {done} checks, {drained} drains\n\n"
        "| outcome | jobs, whole checks | the same hook by hand, facts alone |\n"
        "| --- | --- | --- |\n" + "\n".join(rows) + (f"\n\nReasons:\n\n{most}" if most else "")
    )


def _is_past(when: str) -> bool:
    """Whether it is later than HH:MM UTC today; an empty text is never past."""
    return bool(when) and time.strftime("%H:%M", time.gmtime()) >= when


def _facts_hook(gated: GatedSlurm) -> list[str]:
    """Write the prolog that compares facts alone; the environment in which Slurm would run it."""
    text = (gated.folder / "slurm-prolog").read_text()
    assert "\noptions=--idle\n" in text
    replaced = text.replace("\noptions=--idle\n", "\noptions='--facts --idle'\n")
    (gated.folder / "facts").write_text(replaced)
    return [f"SLURM_CONF={gated.slurm.conf}"]


def _cost(given: argparse.Namespace) -> str:
    """Wall time and CPU time of jobs that do nothing, with and without the gate, in turn."""
    walls: dict[str, list[float]] = {"without": [], "with the prolog": []}
    used = dict.fromkeys(walls, 0.0)
    outcomes: Counter[str] = Counter()
    with _lab(["slurm-prolog"], given.learn) as gated:
        node = gated.nodes[0]
        prolog = gated.folder / "slurm-prolog"
        texts = dict(zip(walls, ("#!/bin/sh\n", prolog.read_text()), strict=True))
        for number in range(given.jobs):
            for title, text in texts.items():
                prolog.write_text(text)
                before, begin = _cpu(gated, node), time.perf_counter()
                gated.job(node, patience=_PATIENCE)
                walls[title].append(time.perf_counter() - begin)
                used[title] += _cpu(gated, node) - before
                if title == "with the prolog":  # a node that is resumed begins a new file
                    outcomes[_last_record(gated, node)[0]] += 1
                if "DRAIN" in gated.state(node)[0]:
                    print(f"job {number}: {gated.state(node)[1]}", flush=True)
                    gated.resume(node)
            print(f"{number + 1} jobs: {walls['with the prolog'][-1]:.1f} s", flush=True)
    rows = [
        f"| {title} | {median(each):.2f} s | {max(each):.2f} s | {used[title] / given.jobs:.2f} s |"
        for title, each in walls.items()
    ]
    said = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    return (
        f"Cost per job: {given.jobs} jobs that do nothing with the prolog and {given.jobs} without "
        f"it, in turn on one node of two cores ({said})\n\n"
        "| jobs | from sbatch to the end, median | longest | CPU time of slurmd's children |\n"
        "| --- | --- | --- | --- |\n" + "\n".join(rows)
    )


def _beside(given: argparse.Namespace) -> str:
    """What each tool says about each fault, and how long it takes."""
    rows, lines = [], {}
    with _lab([], given.learn) as gated:
        node = gated.nodes[0]
        tools: dict[str, Callable[[], tuple[str, float]]] = {"assay": lambda: assay(gated, node)}
        if given.nhc:
            conf = gated.folder / "nhc.conf"
            conf.write_text(nhc_conf(node))
            lines["NHC"] = len(conf.read_text().splitlines())
            tools["NHC"] = lambda: nhc(gated, node, given.nhc, conf)
        if given.reframe:
            folder = gated.folder / "reframe"
            lines["ReFrame"] = write_reframe(gated, node, folder)
            tools["ReFrame"] = lambda: reframe(gated, node, given.reframe, folder)
        for title, fault in FAULTS.items():
            if given.only not in title:
                continue
            entries = []
            with fault(gated, node):
                for tool in tools.values():
                    said, seconds = tool()
                    entries.append(f"{said} ({seconds:.1f} s)")
            rows.append(f"| {title} | {' | '.join(entries)} |")
            print(rows[-1], flush=True)
    names = " | ".join(tools)
    counted = ", ".join(f"{name} {number}" for name, number in lines.items())
    return (
        f"| fault | {names} |\n| --- |{' --- |' * len(tools)}\n"
        + "\n".join(rows)
        + f"\n\nLines written: assay 0 (two commands), {counted}."
    )


def _lab(names: list[str], learn: int) -> _Lab:
    return _Lab(names, learn)


class _Lab:
    """A gated Slurm with clock daemons, learned."""

    def __init__(self, names: list[str], learn: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gate-", ignore_cleanup_errors=True)
        self._lab = gated_slurm(Path(self._folder.name), names, cores=2)
        self._learn = learn

    def __enter__(self) -> GatedSlurm:
        gated = self._lab.__enter__()
        gated.daemons = node_faults.ClockDaemons(gated, gated.folder)
        if self._learn:
            print(gated.learn(self._learn), flush=True)
        return gated

    def __exit__(self, *error: object) -> None:
        self._lab.__exit__(None, None, None)
        self._folder.cleanup()


class _load:
    """Other work beside every second pair of checks: it computes, or moves memory."""

    def __init__(self, number: int) -> None:
        code = ("while True: pass", "x = bytearray(1 << 28)\nwhile True: y = bytes(x)")
        self._code = code[number // 4 % 2] if number // 2 % 2 else ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> None:
        if self._code:
            self._process = subprocess.Popen([sys.executable, "-c", self._code])

    def __exit__(self, *error: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()


def _last_record(gated: GatedSlurm, node: Host) -> tuple[str, str]:
    from assay.check.fleet.reading import read_fleet

    found = {each.host: each for each in read_fleet(gated.checks).nodes}
    record = found[node.name].records[-1]
    return record.outcome, record.reason


def _cpu(gated: GatedSlurm, node: Host) -> float:
    """CPU time of ended children of a node's slurmd, s."""
    text = Path(f"/proc/{gated.slurmd(node)}/stat").read_text().rpartition(")")[2].split()
    return (int(text[13]) + int(text[14])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
