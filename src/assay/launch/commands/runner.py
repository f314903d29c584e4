"""The runner: runs a command that is not a kernel of assay, times it, and writes its stream.

``python -I -S runner.py SPEC`` is a separate program, started under the warden, so that assay is
idle while the command runs. It takes wall time by the monotonic clock from before the start of the
command until its end is noticed, and CPU time of the command and of its children that it waited for
from wait4(2). The command's output goes to the runner's output files and is read from there
afterwards. docs/formats/stream.md describes the stream.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

EXIT_MEASUREMENT = 4
# Flags to open the stream, the same as for other files of a run: links are not followed.
_STREAM = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
CANNOT_START = 127
# Linux's energy counters (RAPL), and a power (W) that no package exceeds. This power bounds the
# time in which a counter wraps no more than once. native/harness/energy reads them in the same way
# for kernels.
POWERCAP = "/sys/class/powercap"
_MOST_POWER = 1000.0
# Maximum characters read at a time: longer lines are read in pieces.
_LINE = 1 << 16
_WORDS = 300
_RULE = re.compile(r"[-=*]{20,}")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")

_asked = False
_child = 0


class Failed(Exception):
    """The reason why a command yielded no time."""


def main(path: str, digest: str = "") -> int:
    """Run the measurements of the spec file; returns the exit status.

    ``digest``: the SHA-256 of the file when it was written, empty if unknown.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        content = file.read()
    if digest and hashlib.sha256(content).hexdigest() != digest:
        os.write(2, f"{path}: this is not what assay wrote; nothing is run\n".encode())
        return CANNOT_START
    spec = json.loads(content)
    signal.signal(signal.SIGTERM, _hand_on)
    begun = time.monotonic()
    stream = os.open(spec["stream"], _STREAM, 0o666)

    def write(**record: object) -> None:
        os.write(stream, json.dumps(record, allow_nan=False).encode() + b"\n")

    write(
        record="start",
        schema=1,
        program="assay-runner",
        version=spec["version"],
        job=spec["job"],
        ranks=spec["ranks"],
        utc=time.time(),
        clock={
            "source": "CLOCK_MONOTONIC",
            "overhead": _overhead(),
            "resolution": time.get_clock_info("monotonic").resolution,
        },
    )
    done, good = 0, True
    for entry in spec["measurements"]:
        named = {"measurement": entry["measurement"], "kernel": entry["kernel"]}
        write(record="begin", **named)
        record = _measure(entry, spec, begun)
        parameters = {**entry["parameters"], **record.pop("resolved", {})}
        write(record="measurement", **named, parameters=parameters, **record)
        done += 1
        good &= record["status"] == "ok" and record.get("verified") is not False
        if _asked:
            break
    write(record="end", measurements=done, reason="signal" if _asked else "complete")
    return 0 if good else EXIT_MEASUREMENT


def _measure(entry: Mapping[str, Any], spec: Mapping[str, Any], begun: float) -> dict[str, Any]:
    """One run of the command, as a record."""
    where = [spec["out"], spec["err"]]
    said = [_size(path) for path in where]
    before = _machine() if spec["here"] else {}
    energy = _energy() if spec["here"] else {}
    site = _SiteProgram(entry["site"]) if "site" in entry else None
    if site is not None and site.changed():
        site.end(spec["out"])
        error = "its file has changed since the run began (the checksum differs)"
        now = time.monotonic() - begun
        return {"start": now, "wall": 0.0, "status": "failed", "error": error}
    start = time.monotonic()
    status, used = _run(
        entry["words"], {**os.environ, **entry["environment"]}, site.folder if site else None
    )
    wall = time.monotonic() - start
    covariates: dict[str, float | None] = {"sampling_seconds": wall}
    cpu = used.ru_utime + used.ru_stime
    if spec["here"]:
        covariates |= _around(before, _machine(), used)
        covariates["energy"] = _energy_between(energy, _energy(), wall)
    record: dict[str, Any] = {"start": start - begun, "wall": wall, "covariates": covariates}
    written = site.end(spec["out"]) if site else []
    if _asked:
        return {**record, "status": "interrupted", "stop": "signal"}
    seconds: float | None
    try:
        _check_end(status, where, said)
        if site is not None:
            if written:
                names = ", ".join(written[:3])
                raise Failed(f"it writes files ({names}), and its time includes that")
            seconds, verified, more = site.result(where, said)
            record |= more
        else:
            seconds, verified = _read(entry, where, said)
    except Failed as failed:
        return {**record, "status": "failed", "error": str(failed)}
    if verified is not None:
        record["verified"] = verified
    if verified is not None and site is None:
        what = f"it prints what matches '{entry['verify']}'"
        record["verification"] = {"what": what, "value": None, "tolerance": None}
    values = {"time": wall if seconds is None else seconds, "wall": wall}
    if spec["here"]:
        values["cpu"] = cpu
    return {
        **record,
        "status": "ok",
        "batch": 1,
        "warmup": 0,
        "stop": "samples",
        "series": [
            {
                "metric": name,
                "unit": "s",
                "rank": None,
                "peer": None,
                "starts": [start - begun] if name == "time" else [],
                "values": [value],
            }
            for name, value in values.items()
        ],
    }


class _SiteProgram:
    """The site's benchmark executable: the folder that it runs in, and its result.

    ``spec``: ``folder``, a new one to run in; ``files``, its input by name; ``reports``, patterns
    of the files in which it writes its result; ``program`` and ``sha256``, the executable and its
    checksum, empty if it is not known; and ``reader``, the command that reads its output
    (``result_reader.py``) and takes no part in the time.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self.folder: str = spec["folder"]
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)  # noqa: PTH102
        for name, text in spec["files"].items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
                file.write(text)

    def changed(self) -> bool:
        """Whether the executable's file has changed since the run was planned."""
        if not self._spec["sha256"]:
            return False
        try:
            with open(self._spec["program"], "rb") as file:  # noqa: PTH123
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return False  # starting it will fail, with the reason
        return bool(found != self._spec["sha256"])

    def end(self, out: str) -> list[str]:
        """Append its reports to its output and remove the folder; returns the names of the other
        files that the program wrote.
        """
        others = []
        for name in sorted(set(os.listdir(self.folder)) - self._spec["files"].keys()):  # noqa: PTH208
            path = os.path.join(self.folder, name)  # noqa: PTH118
            if any(fnmatch(name, each) for each in self._spec["reports"]) and os.path.isfile(path):  # noqa: PTH113
                with open(path, "rb") as report, open(out, "ab") as said:  # noqa: PTH123
                    said.write(b"\n" + report.read())
            else:
                others.append(name)
        shutil.rmtree(self.folder, ignore_errors=True)
        return others

    def result(
        self, where: list[str], said: list[int]
    ) -> tuple[float, bool | None, dict[str, Any]]:
        """The time from its output, its verification, and further fields of the record."""
        sources = [[path, size] for path, size in zip(where, said, strict=True)]
        asked = subprocess.run(
            [*self._spec["reader"], json.dumps({**self._spec["expected"], "sources": sources})],
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            found = json.loads(asked.stdout)
        except ValueError:
            raise Failed(f"its output can't be read: {asked.stderr.strip()[-_WORDS:]}") from None
        if found["error"]:
            raise Failed(found["error"])
        return found["time"], found["verified"], found["record"]


def _run(
    words: list[str], environment: Mapping[str, str], folder: str | None = None
) -> tuple[int, resource.struct_rusage]:
    """Start a command, in ``folder`` if given, and wait for its end; returns its wait status and
    resource usage.
    """
    global _child
    # Requests are blocked until the child is known here and no longer handles them as its parent
    # does; otherwise a request would be lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            if folder is not None:
                os.chdir(folder)
            os.execvpe(words[0], words, environment)
        except OSError as error:
            os.write(2, f"{words[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(CANNOT_START)
    _child = pid
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if _asked:  # the request came before there was a process to pass it on to
        _hand_on(signal.SIGTERM, None)
    _, status, used = os.wait4(pid, 0)
    _child = 0
    return status, used


def _hand_on(number: int, frame: object) -> None:
    """Signal handler: pass a request to end on to the command."""
    global _asked
    _asked = True
    if _child:
        with contextlib.suppress(ProcessLookupError):
            os.kill(_child, number)


def _check_end(status: int, where: list[str], said: list[int]) -> None:
    """Raise Failed unless a command ended with exit status 0."""
    if os.WIFSIGNALED(status):
        how = f"it was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    elif os.waitstatus_to_exitcode(status) != 0:
        how = f"it ended with exit status {os.waitstatus_to_exitcode(status)}"
    else:
        return
    words = next(
        filter(None, (_last_words(p, s) for p, s in reversed([*zip(where, said, strict=False)]))),
        "",
    )
    raise Failed(f"{how}: {words}" if words else how)


def _read(
    entry: Mapping[str, Any], where: list[str], said: list[int]
) -> tuple[float | None, bool | None]:
    """The last time that a command printed (s), and whether a line confirms its result.

    Without a pattern, the value is None. Raises Failed if no valid time is found.
    """
    time_by = re.compile(entry["time"]) if entry["time"] else None
    right_by = re.compile(entry["verify"]) if entry["verify"] else None
    found, right = None, False
    for path, size in zip(where, said, strict=False):
        for line in _lines(path, size):
            if time_by is not None and (match := time_by.search(line)):
                found = match[time_by.groups and 1]
            right = right or (right_by is not None and right_by.search(line) is not None)
    if time_by is None:
        return None, right if right_by else None
    if found is None:
        raise Failed(f"it printed no time: nothing matches '{entry['time']}'")
    number = _NUMBER.search(found)
    seconds = float(re.sub("[dD]", "e", number[0])) if number else 0.0
    if not 0.0 < seconds < float("inf"):
        raise Failed(f"it printed '{found}' instead of a time")
    return seconds, right if right_by else None


def _lines(path: str, start: int) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8", errors="replace", newline=None) as file:  # noqa: PTH123
            file.seek(start)
            while line := file.readline(_LINE):
                yield line
    except OSError:
        return


def _last_words(path: str, start: int) -> str:
    """The last line that says something. Open MPI frames a message by lines of dashes; its first
    line says what happened.
    """
    last, frame = "", None
    for line in map(str.strip, _lines(path, start)):
        if _RULE.fullmatch(line):
            last, frame = frame or last, "" if frame is None else None
        elif line:
            last = line
            frame = frame if frame != "" else line
    return last[:_WORDS]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def _machine() -> dict[str, float]:
    """Counters of the whole machine: busy and stolen CPU seconds, CPUs, load, free memory."""
    counted = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
            ticks = [int(word) for word in file.readline().split()[1:9]]
            cpus = sum(line.startswith("cpu") for line in file)
        second = os.sysconf("SC_CLK_TCK")
        user, nice, system, _, _, irq, soft, steal = ticks
        counted["busy"] = (user + nice + system + irq + soft) / second
        counted["steal"] = steal / second
        counted["cpus"] = cpus
    with contextlib.suppress(OSError):
        counted["load"] = os.getloadavg()[0]
    with contextlib.suppress(OSError, StopIteration, ValueError):
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            line = next(line for line in file if line.startswith("MemAvailable:"))
        counted["available"] = 1024.0 * int(line.split()[1])
    return counted


def _energy(folder: str = POWERCAP) -> dict[str, tuple[float, float]]:
    """Reading and range (J) of the energy counters of packages and their memory.

    Empty if there are none, or if one can't be read: the sum would be incomplete.
    """
    found = {}
    with contextlib.suppress(FileNotFoundError):
        for zone in os.listdir(folder):  # noqa: PTH208
            if not zone.startswith("intel-rapl:"):
                continue
            try:
                name = _text(folder, zone, "name")
                part = zone.count(":") > 1
                if name == "dram" if part else name.startswith("package"):
                    shown = _text(folder, zone, "energy_uj")
                    full = _text(folder, zone, "max_energy_range_uj")
                    found[zone] = 1e-6 * int(shown), 1e-6 * int(full)
            except (OSError, ValueError):
                return {}
    return found


def _text(*path: str) -> str:
    with open(os.path.join(*path), encoding="ascii") as file:  # noqa: PTH118, PTH123
        return file.read().strip()


def _energy_between(
    before: Mapping[str, tuple[float, float]],
    after: Mapping[str, tuple[float, float]],
    span: float,
) -> float | None:
    """J between two readings ``span`` seconds apart; None if a counter may have wrapped twice."""
    if not before or before.keys() != after.keys():
        return None
    total = 0.0
    for zone, (shown, full) in after.items():
        if not span * _MOST_POWER < full:
            return None
        step = shown - before[zone][0]
        total += step + full if step < 0 else step
    return total


def _around(
    before: Mapping[str, float], after: Mapping[str, float], used: resource.struct_rusage
) -> dict[str, float | None]:
    """Covariates (docs/formats/stream.md) of a command on this machine."""
    cpu = used.ru_utime + used.ru_stime
    known: dict[str, float | None] = {
        "user_seconds": used.ru_utime,
        "system_seconds": used.ru_stime,
        "voluntary_switches": used.ru_nvcsw,
        "involuntary_switches": used.ru_nivcsw,
        "minor_faults": used.ru_minflt,
        "major_faults": used.ru_majflt,
        "load_average": before.get("load"),
        "memory_available": after.get("available"),
    }
    if "busy" in before and "busy" in after:
        known["other_cpu_seconds"] = max(after["busy"] - before["busy"] - cpu, 0.0)
        known["steal_seconds"] = after["steal"] - before["steal"]
        known["online_cpus"] = after["cpus"]
    return known


def _overhead() -> float:
    """Seconds that reading the clock takes, averaged over a hundred readings."""
    start = time.monotonic()
    for _ in range(98):
        time.monotonic()
    return max((time.monotonic() - start) / 99, 1e-9)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
