"""The part of `gpu.py` that runs on a machine with a device. Only the standard library is needed.

It builds the kernels, alternates launches of assay with runs of the peers whose executables are
there, and writes everything that either printed. `gpu.py --analyse` judges it elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from gpu_build import BuildError, build, mpich_prefix, registered_kernels
from gpu_parts import ALL_SECONDS, BUILD_SECONDS, PARTS, PROBE_SECONDS, SIZES, Part, Sizes

RECORD = "on-device.json"
# Of a measurement in one launch: enough for a mean within 0.5% on a quiet device.
SAMPLING = {"precision": 0.005, "confidence": 0.95, "budget": 0.5}
SAMPLES = {"min_samples": 5, "max_samples": 1000}


# Values of parameters that OpenCL refuses: graphs, and products that only vendors' libraries have.
NOT_BY_OPENCL = {"graph", "tf32", "bf16"}


@dataclass
class Limit:
    """A span of time that is left to a part, and to everything."""

    ends: float

    @classmethod
    def of(cls, seconds: float, within: Limit | None = None) -> Limit:
        """From now on, within another limit."""
        ends = time.monotonic() + seconds
        return cls(min(ends, within.ends) if within else ends)

    @property
    def left(self) -> float:
        """Seconds."""
        return self.ends - time.monotonic()


@dataclass
class Run:
    """What was run, in order; written after each step, so that nothing is lost."""

    out: Path
    backend: str
    machine: dict[str, Any]
    peers: list[dict[str, str]] = field(default_factory=list)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    launches: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    device: dict[str, Any] = field(default_factory=dict)

    def save(self) -> None:
        """Replace the record."""
        content = {"schema": 1, **{k: v for k, v in asdict(self).items() if k != "out"}}
        new = self.out / f"{RECORD}.new"
        new.write_text(json.dumps(content, indent=1))
        new.replace(self.out / RECORD)

    def skip(self, sentence: str) -> None:
        """Something is left out, with the reason."""
        print(f"skipped: {sentence}", flush=True)
        self.skipped.append(sentence)
        self.save()


def job_of(
    name: str, seed: int, measurements: Mapping[str, tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    """A job, as docs/formats/stream.md describes it."""
    return {
        "schema": 1,
        "job": name,
        "threads": 1,
        "binding": "none",  # a peer has all processors, too
        "seed": seed,
        "order": "block",
        "smt": "off",
        "measurements": [
            {
                "measurement": each,
                "kernel": kernel,
                "parameters": dict(given),
                **SAMPLING,
                **SAMPLES,
            }
            for each, (kernel, given) in measurements.items()
        ],
    }


def executed(words: list[str], limit: Limit, environment: Mapping[str, str]) -> tuple[int, str]:
    """Status and output of a program; at the limit all its processes are killed."""
    if limit.left <= 0:
        return 124, "there was no time left"
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit.left)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
        return 124, text
    return process.returncode, text


class Session:
    """A built program, and the peers beside it."""

    def __init__(self, run: Run, program: Path, prefix: Path, peers: Path | None) -> None:
        self.run, self.program, self.peers = run, program, peers
        self.launcher = str(prefix / "bin" / "mpirun")
        self.environment = {"UCX_TLS": "self,sm"}
        self.devices = 1

    def assay(
        self, name: str, job: dict[str, Any], limit: Limit, ranks: int = 1
    ) -> list[dict[str, Any]]:
        """The measurement records of a launch."""
        job_path = self.run.out / "streams" / f"{name}.job.json"
        stream = job_path.with_name(f"{name}.jsonl")
        job_path.parent.mkdir(exist_ok=True)
        job_path.write_text(json.dumps(job, indent=1))
        words = [self.launcher, "-n", str(ranks), str(self.program)]
        words += ["--job", str(job_path), "--out", str(stream)]
        self._timed(name, "assay", words, limit)
        lines = stream.read_text().splitlines() if stream.exists() else []
        records = [json.loads(line) for line in lines]
        return [record for record in records if record["record"] == "measurement"]

    def peer(self, name: str, words: list[str], limit: Limit) -> None:
        """Run a peer and keep what it prints."""
        text = self._timed(name, Path(words[0]).name, words, limit)
        folder = self.run.out / "peers"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(text)

    def _timed(self, name: str, side: str, words: list[str], limit: Limit) -> str:
        began = time.monotonic()
        status, text = executed(words, limit, self.environment)
        self.run.launches.append(
            {
                "name": name,
                "side": side,
                "status": status,
                "seconds": round(time.monotonic() - began, 3),
                "last": text.strip().splitlines()[-1:] if status else [],
            }
        )
        self.run.save()
        return text

    def executable(self, part: Part) -> Path | None:
        """The peer's executable for this backend, if it is there."""
        if part.peer is None or self.peers is None:
            return None
        prefix = {"cuda": "cuda", "hip": "hip", "opencl": "ocl"}[self.run.backend]
        names = part.peer.names
        if len(names) > 1:
            names = tuple(name for name in names if name.startswith(prefix))
        found = (self.peers / name for name in names)
        return next((path for path in found if os.access(path, os.X_OK)), None)


def measure_part(session: Session, part: Part, sizes: Sizes, everything: Limit) -> None:
    """All rounds of a part: assay and its peer in turn, in an order that reverses every round.

    Without its peer there is one round of assay alone.
    """
    run, began = session.run, time.monotonic()
    limit = Limit.of(part.seconds, everything)
    measurements = {
        name: (kernel, {**given, "backend": run.backend})
        for name, (kernel, given) in part.measurements(sizes).items()
        if run.backend != "opencl" or not NOT_BY_OPENCL & set(map(str, given.values()))
    }
    if reason := _left_out(session, part, {kernel for kernel, _ in measurements.values()}):
        run.skip(f"{part.name}: {reason}")
        return
    words = _peer_words(session, part, sizes)
    load = os.getloadavg()[0]
    rounds, done = part.rounds if words else 1, 0
    for number in range(rounds):
        name, job = f"{part.name}-{number}", job_of(part.name, number, measurements)
        steps = [partial(session.assay, name, job, limit, part.ranks or session.devices)]
        if words:
            steps.append(partial(session.peer, name, words, limit))
        for step in steps if number % 2 == 0 else reversed(steps):
            step()
        if limit.left <= 0:
            run.skip(f"{part.name}: its limit of time came after {done} of {rounds} rounds.")
            break
        done += 1
    seconds = round(time.monotonic() - began, 2)
    run.parts[part.name] = {
        "limit": part.seconds,
        "seconds": seconds,
        "rounds": done,
        "load": load,
    }
    run.save()
    print(f"{part.name}: {done} rounds, {seconds:.0f} of {part.seconds:.0f} s", flush=True)


def _left_out(session: Session, part: Part, kernels: set[str]) -> str | None:
    """Why a part can't be measured."""
    if missing := sorted(kernels - registered_kernels()):
        return f"there is no kernel {', '.join(missing)}."
    if part.ranks == 0 and session.devices < 2:
        return "there is only one device."
    return None


def _peer_words(session: Session, part: Part, sizes: Sizes) -> list[str]:
    """The command of a part's peer, which is recorded; empty without it."""
    program = session.executable(part)
    if part.peer and not program:
        names = " or ".join(part.peer.names)
        session.run.skip(f"{part.name}: {part.peer.name} is missing ({names}).")
    if not part.peer or not program:
        return []
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    session.run.peers.append({"name": part.peer.name, "program": program.name, "sha256": digest})
    words = [w.replace("{devices}", str(session.devices)) for w in part.peer.words(sizes)]
    return [str(program), *words]


def measure_on_device(
    out: Path,
    peers: Path | None,
    *,
    backend: str = "auto",
    mpich: Path | None = None,
    kernels: Path | None = None,
    seconds: float = ALL_SECONDS,
    only: list[str] | None = None,
) -> int:
    """Build, find the device, measure all parts. Returns the exit status.

    ``kernels``: an executable of the same MPICH, which is then not built.
    """
    everything = Limit.of(seconds)
    out.mkdir(parents=True, exist_ok=True)
    run = Run(out, backend, machine_facts())
    run.save()
    with tempfile.TemporaryDirectory(prefix="assay-gpu-") as folder:
        here = Path(folder)
        began = time.monotonic()
        folders = [f for f in (peers, Path(__file__).resolve().parents[1]) if f]
        try:
            prefix = mpich_prefix(mpich, folders, here / "mpich")
            limit = Limit.of(BUILD_SECONDS, everything)
            program = kernels or build(prefix, here, sorted(registered_kernels()), limit.left)
        except BuildError as error:
            run.skip(f"everything: {error}")
            return 1
        built = round(time.monotonic() - began, 2)
        run.parts["build"] = {"limit": BUILD_SECONDS, "seconds": built, "rounds": 1}
        print(f"build: {built:.0f} of {BUILD_SECONDS:.0f} s", flush=True)
        session = Session(run, program, prefix, peers)
        if not _find_device(session, Limit.of(PROBE_SECONDS, everything)):
            return 1
        sizes = SIZES["gpu" if run.device["device_kind"] == "gpu" else "other"]
        for part in PARTS:
            if only is None or part.name in only:
                measure_part(session, part, sizes, everything)
    return 0


def _find_device(session: Session, limit: Limit) -> bool:
    """Whether a kernel runs at all; keeps the device's facts and the backend that was chosen."""
    run = session.run
    given = {"mode": "row", "backend": run.backend}
    records = session.assay("probe", job_of("probe", 0, {"probe": ("gpu.launch", given)}), limit)
    if not records or records[0]["status"] != "ok" or records[0]["verified"] is not True:
        last = records[0]["error"] if records else run.launches[-1]["last"]
        run.skip(f"everything: no kernel runs on a device: {last}")
        return False
    run.device = records[0]["facts"]
    run.backend = records[0]["parameters"]["backend"]
    session.devices = _devices(run.backend)
    run.save()
    print(f"{run.backend}: {run.device['device_name']}", flush=True)
    return True


def _devices(backend: str) -> int:
    """The number of devices: of nodes that the drivers create; OpenCL's are taken as one."""
    places = {"cuda": ("/dev", "nvidia[0-9]*"), "hip": ("/sys/class/drm", "renderD*")}
    folder, pattern = places.get(backend, ("/dev", "nothing"))
    return max(len(list(Path(folder).glob(pattern))), 1)


def machine_facts() -> dict[str, Any]:
    """Processor, kernel and compiler."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False)
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "compiler": compiler.stdout.splitlines()[0] if compiler.stdout else "",
        "load": os.getloadavg()[0],
    }
