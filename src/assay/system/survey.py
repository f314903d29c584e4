"""The survey of one host: ``python -m assay.system.survey`` prints it on that host.

A campaign over several hosts surveys all of them in parallel and stores the results in the run
(``nodes.jsonl``), so that every record's host can be looked up.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import msgspec

from assay.decoding import UNREADABLE
from assay.system.model import System
from assay.version import VERSION

# Prefix of the line with the reply: login scripts may print lines before it.
MARK = "assay:survey:"
# Seconds over which steal time is observed; /proc/stat counts in steps of 10 ms.
_STEAL_SECONDS = 0.2


class AdapterFact(msgspec.Struct, frozen=True, kw_only=True):
    """An adapter that may carry messages; ``speed`` in B/s."""

    name: str
    kind: str | None = None
    speed: float | None = None
    state: str | None = None


class HostSurvey(msgspec.Struct, frozen=True, kw_only=True):
    """One host."""

    #: Name by which it is reached.
    host: str
    #: Unix time of the survey, by the asking host's clock, s.
    utc: float
    #: Name of itself, as in the records.
    hostname: str
    processor: str | None = None
    #: Digest of processor model and instruction sets; one build suits hosts with equal digests.
    identity: str
    architecture: str | None = None
    #: ``cores``, ``threads``: usable physical cores and hardware threads.
    cores: int | None = None
    threads: int | None = None
    #: Usable cores by NUMA node.
    numa: dict[int, int] = {}
    #: Bytes of the last-level caches.
    caches: int | None = None
    #: ``memory``, ``available``: bytes.
    memory: int | None = None
    available: int | None = None
    kernel: str | None = None
    glibc: str | None = None
    distribution: str | None = None
    assay: str | None = None
    python: str | None = None
    #: Versions of MPI and compiler by the toolchain's name, or why the toolchain can't be used.
    toolchains: dict[str, str] = {}
    adapters: list[AdapterFact] = []
    #: ``seen``, ``writable``: whether the host sees, and may write in, the folder of the runs.
    seen: bool | None = None
    writable: bool | None = None
    #: Lower and upper bound of the time by which its clock (UTC) is ahead of the asking host's, s.
    ahead: tuple[float, float] | None = None
    #: Load average over one minute.
    load: float | None = None
    #: Steal time as a share of busy and stolen CPU time during the survey.
    steal: float | None = None
    #: Process ids of assay-kernels that were already running.
    kernels: list[int] = []


class SurveyRequest(msgspec.Struct, frozen=True):
    """The request to a host."""

    host: str = ""
    #: Path of the assay.toml in use.
    config: str | None = None
    #: File that the host should see, with the content ``word``.
    token: str | None = None
    word: str = ""


class SurveyReply(msgspec.Struct, frozen=True):
    """A host's reply: the survey, and the facts that ``assay system`` shows."""

    survey: HostSurvey
    system: System


def read_nodes(path: Path) -> list[HostSurvey]:
    """The last survey of each host in a run's ``nodes.jsonl``; none without the file;
    incomplete lines are skipped.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    found: dict[str, HostSurvey] = {}
    for line in lines:
        with contextlib.suppress(*UNREADABLE):
            node = msgspec.json.decode(line, type=HostSurvey)
            found[node.host] = node
    return list(found.values())


def survey(question: SurveyRequest, system: System | None = None) -> SurveyReply:
    """Survey this machine. ``system``: its facts, if they are known already."""
    from assay.kernels.builds.identity import cpu_kind
    from assay.system.detect import detect
    from assay.system.doctor.probe import KERNELS, steal_share
    from assay.system.files import Tree
    from assay.system.surroundings import cpu_times

    tree = Tree(Path("/"))
    before, began = cpu_times(tree).get("cpu"), time.monotonic()
    system = system or detect()
    toolchains = _toolchains(question.config)
    seen, writable = _folder(question)
    time.sleep(max(_STEAL_SECONDS - (time.monotonic() - began), 0.0))
    found = HostSurvey(
        host=question.host,
        utc=time.time(),
        hostname=os.uname().nodename,
        processor=system.processor.name or system.processor.microarchitecture,
        identity=cpu_kind(),
        architecture=system.processor.architecture,
        cores=system.usable_cores,
        threads=system.usable_threads,
        numa=system.usable_numa,
        caches=system.last_level_caches,
        memory=system.memory.total,
        available=system.memory.available,
        kernel=system.os.kernel,
        glibc=os.confstr("CS_GNU_LIBC_VERSION"),
        distribution=system.os.name,
        assay=VERSION,
        python=".".join(map(str, sys.version_info[:3])),
        toolchains=toolchains,
        adapters=[
            AdapterFact(name=a.name, kind=a.kind, speed=a.speed, state=a.state)
            for a in system.adapters
            if a.kind != "loopback"
        ],
        seen=seen,
        writable=writable,
        load=system.os.load[0] if system.os.load else None,
        steal=steal_share(before, cpu_times(tree).get("cpu")),
        kernels=_running(KERNELS),
    )
    return SurveyReply(found, system)


def _toolchains(config: str | None) -> dict[str, str]:
    from assay.config import load_config
    from assay.errors import AssayError
    from assay.kernels.toolchains import detect_toolchains

    try:
        found = detect_toolchains(load_config(Path(config) if config else None))
    except AssayError as error:
        return {"": str(error)}
    flavours = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
    return {
        t.name: t.problem
        or f"{flavours.get(t.mpi_flavour, 'MPI')} {t.mpi_version or ''}, {t.cxx_version or t.cxx}"
        for t in found
    }


def _folder(question: SurveyRequest) -> tuple[bool | None, bool | None]:
    """Whether the token file has its content, and whether its folder is writable."""
    if question.token is None:
        return None, None
    token = Path(question.token)
    try:
        seen = token.read_text() == question.word
    except OSError:
        return False, False
    return seen, os.access(token.parent, os.W_OK)


def _running(name: str) -> list[int]:
    import psutil

    return sorted(p.pid for p in psutil.process_iter(["name"]) if p.info["name"] == name)


def main(words: list[str]) -> None:
    """Print the reply to a request in JSON, as one line that begins with ``MARK``."""
    question = msgspec.json.decode(words[0], type=SurveyRequest)
    print(MARK + msgspec.json.encode(survey(question)).decode(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
