"""Checks of a cluster: reachability, differences between hosts, load, and MPI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter

import msgspec

from assay.hostnames import names_text
from assay.system.doctor.findings import SEVERITIES, CheckFinding, Severity
from assay.system.nodes import difference, differences
from assay.system.survey import HostSurvey
from assay.units import format_duration, format_share

# Seconds between clocks above which times of different hosts can't be compared.
CLOCKS_APART = 0.1
# Load average per usable hardware thread, and share of steal time, above which a host is busy.
_LOAD = 0.25
_STEAL = 0.02


class SmokeTest(msgspec.Struct, frozen=True):
    """A small MPI program compiled or run on some hosts, with its output if it failed."""

    what: str
    toolchain: str
    hosts: tuple[str, ...]
    ok: bool
    said: str = ""


def cluster_findings(
    nodes: Sequence[HostSurvey], silent: Mapping[str, str], trials: Sequence[SmokeTest] = ()
) -> list[CheckFinding]:
    """All findings, most severe first; ``silent``: by host without an answer, the reason."""
    findings = [
        *_silent(silent, len(nodes)),
        *_folder(nodes),
        *_clocks(nodes),
        *_versions(nodes),
        *_alike(nodes),
        *_busy(nodes),
        *(_trial(trial) for trial in trials),
    ]
    return sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))


def _hosts(count: int) -> str:
    return "The one host" if count == 1 else f"All {count} hosts"


def _verb(names: Sequence[object], one: str, many: str) -> str:
    return one if len(names) == 1 else many


def _silent(silent: Mapping[str, str], answering: int) -> list[CheckFinding]:
    if not silent:
        does = "answers" if answering == 1 else "answer"
        return [CheckFinding("hosts", "ok", f"{_hosts(answering)} {does}.")]
    names = list(silent)
    why = (next(iter(silent.values())).splitlines() or [""])[-1].strip().rstrip(".")
    return [
        CheckFinding(
            "hosts",
            "problem",
            f"{names_text(names)} {_verb(names, 'does', 'do')} not answer: {why}.",
            "Runs leave them out; plans that need all hosts can't be carried out.",
            "Check that they are up, that they can be reached without a password, and that they "
            "see this Python and this assay under the same paths.",
        )
    ]


def _folder(nodes: Sequence[HostSurvey]) -> list[CheckFinding]:
    blind = [n.host for n in nodes if n.seen is False]
    closed = [n.host for n in nodes if n.seen and n.writable is False]
    found = []
    if blind:
        found.append(
            CheckFinding(
                "folder",
                "problem",
                f"{names_text(blind)} {_verb(blind, 'does', 'do')} not see the folder of the runs.",
                "A run over these hosts can't begin: kernels read their job and write their "
                "records there.",
                "Name a folder on a file system that all hosts share under the same path: --runs "
                "DIR, or runs in [defaults] of assay.toml.",
            )
        )
    if closed:
        found.append(
            CheckFinding(
                "folder",
                "problem",
                f"{names_text(closed)} can't write in the folder of the runs.",
                "Kernels there can't write their records.",
                "Correct its permissions, or the file system's export.",
            )
        )
    if not found and any(n.seen for n in nodes):
        what = f"{_hosts(len(nodes))} can read and write the folder of the runs."
        found.append(CheckFinding("folder", "ok", what))
    return found


def _clocks(nodes: Sequence[HostSurvey]) -> list[CheckFinding]:
    """Clocks that differ too much even after allowing for the time of the reply."""
    wrong = {
        n.host: low if low > 0 else high
        for n in nodes
        if n.ahead is not None
        for low, high in [n.ahead]
        if low > CLOCKS_APART or high < -CLOCKS_APART
    }
    if not wrong:
        known = [n for n in nodes if n.ahead is not None]
        what = "The hosts' clocks agree within the accuracy of the survey."
        return [CheckFinding("clocks", "ok", what)] if known else []
    host = max(wrong, key=lambda name: abs(wrong[name]))
    way = "ahead of" if wrong[host] > 0 else "behind"
    others = f", and {len(wrong) - 1} more are wrong" if len(wrong) > 1 else ""
    return [
        CheckFinding(
            "clocks",
            "warning",
            f"The clock of {host} is {format_duration(abs(wrong[host]))} or more {way} this "
            f"machine's{others}.",
            "Measurements don't use it, but the times in that host's records and files are wrong.",
            "Synchronise the hosts' clocks: chronyd or ntpd.",
        )
    ]


def _versions(nodes: Sequence[HostSurvey]) -> list[CheckFinding]:
    """Differences between hosts in software that should be the same, each with its effect."""
    again = "Give all hosts the same image."
    found = []
    for name, severity, means, fix in _SOFTWARE:
        value = attrgetter(name)
        sentence = difference(nodes, "have", value, partial(_version, name))
        if sentence:
            found.append(CheckFinding("versions", severity, sentence, means, fix or again))
    for name in dict.fromkeys(name for node in nodes for name in node.toolchains):
        version_of = partial(_toolchain, name)
        sentence = difference(nodes, "have", version_of, version_of)
        if sentence:
            found.append(
                CheckFinding(
                    "versions",
                    "warning",
                    sentence,
                    "Launches over such hosts may fail; those that succeed measure two libraries.",
                    again,
                )
            )
    if not found and len(nodes) > 1:
        found.append(
            CheckFinding("versions", "ok", "Kernel, libraries, MPI and assay are the same.")
        )
    return found


# What should be the same on all hosts: severity and effect of a difference, and the fix.
_SOFTWARE: tuple[tuple[str, Severity, str, str], ...] = (
    (
        "assay",
        "problem",
        "Hosts with another assay may write records that this assay can't read.",
        "Install assay once, on a file system that all hosts share.",
    ),
    ("python", "note", "It affects no result.", ""),
    (
        "kernel",
        "warning",
        "Scheduling, memory and network behave differently on them: differences between hosts may "
        "come from the kernel.",
        "",
    ),
    (
        "glibc",
        "warning",
        "Programs built on one host may not start on another, and memory and mathematics functions "
        "differ.",
        "",
    ),
)


def _version(name: str, node: HostSurvey) -> str:
    text = str(getattr(node, name) or "an unknown version")
    return text if text.startswith(name) else f"{name} {text}"


def _toolchain(name: str, node: HostSurvey) -> str:
    return f"{node.toolchains.get(name, 'nothing')} as toolchain '{name}'"


def _alike(nodes: Sequence[HostSurvey]) -> list[CheckFinding]:
    found = [
        CheckFinding(
            "hardware",
            "warning",
            sentence,
            "Plans are made for the smallest host, and a launch is as slow as its slowest host.",
            "Measure one kind of host at a time: a partition, a constraint, or [cluster] with "
            "only those hosts.",
        )
        for sentence in differences(nodes)
    ]
    if not found and len(nodes) > 1:
        found.append(CheckFinding("hardware", "ok", f"{_hosts(len(nodes))} are equal."))
    return found


def _busy(nodes: Sequence[HostSurvey]) -> list[CheckFinding]:
    found = []
    loaded = [n for n in nodes if n.load is not None and n.load > _LOAD * (n.threads or 1)]
    if loaded:
        most = max(loaded, key=lambda n: n.load or 0.0)
        found.append(
            CheckFinding(
                "load",
                "warning",
                f"{names_text([n.host for n in loaded])} {_verb(loaded, 'is', 'are')} busy: the "
                f"load of {most.host} is {most.load:.2g} on {most.threads} hardware threads.",
                "Other processes there take CPU time and memory bandwidth from the ranks.",
                "Request exclusive nodes, or wait.",
            )
        )
    stolen = [n for n in nodes if (n.steal or 0.0) > _STEAL]
    if stolen:
        most = max(stolen, key=lambda n: n.steal or 0.0)
        found.append(
            CheckFinding(
                "steal",
                "warning",
                f"The hypervisor takes {format_share(most.steal or 0.0)} of the CPU time of "
                f"{most.host}" + (f" and some of {len(stolen) - 1} more." if stolen[1:] else "."),
                "Timings there vary with the load of other virtual machines on the same hardware.",
                "Measure at another time, or on exclusive hosts.",
            )
        )
    left = [n for n in nodes if n.kernels]
    if left:
        found.append(
            CheckFinding(
                "kernels",
                "warning",
                f"{names_text([n.host for n in left])} {_verb(left, 'runs', 'run')} assay-kernels "
                "already.",
                "Another measurement disturbs this one, or an interrupted one is still running.",
                f"On {left[0].host}: process {left[0].kernels[0]}. End it if it is not needed.",
            )
        )
    return found


def _trial(trial: SmokeTest) -> CheckFinding:
    where = names_text(trial.hosts)
    if trial.ok:
        what = f"A small MPI program {trial.what} with the toolchain '{trial.toolchain}' on {where}"
        return CheckFinding("mpi", "ok", f"{what}.")
    words = [line.strip() for line in trial.said.splitlines() if line.strip()]
    # Launchers print warnings before the error.
    errors = [
        line for line in words if re.search(r"\b(error|fatal|abort|unable|can't)", line, re.I)
    ]
    said = f": {(errors or words)[0][:200].rstrip('.')}" if words else ""
    return CheckFinding(
        "mpi",
        "problem",
        f"No small MPI program {trial.what} with the toolchain '{trial.toolchain}' on "
        f"{where}{said}.",
        "Kernels can't be built there, or can't be launched.",
        "Check that compiler and MPI are installed there under the same paths as here, and that "
        "hosts can reach each other over the network.",
    )
