"""Patterns of private parts in a text: paths, addresses, users, job ids, lists of hosts."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

# Paths that are the same on all systems.
_COMMON = re.compile(
    r"/(?:usr/)?(?:bin|sbin|lib|lib32|lib64|libexec|include|share)(?:/[^/]*)*"
    r"|/(?:proc|sys|dev)(?:/.*)?|/usr|/etc|/opt|/tmp|/home|/users|/var|/run|/mnt|/"
)
_PATH = (
    r"(?:(?<![\w/.<~])|(?<=-I)|(?<=-L)|(?<=-B))~?/"
    r"(?:[\w.~@%+-]+(?:/+[\w.~@%+,-]+)+|[\w.~@%+-]{2,})/*(?<![.,])"
)
_MAC = r"\b[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5,19}\b|\b0x[0-9A-Fa-f]{16}\b"
_IPV6 = r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:%\w+)?(?![\w:])"
_IPV4 = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)"
_LOGIN = r"(?<![\w@.-])[A-Za-z_][\w.-]*@[A-Za-z](?:[\w.-]*\w)?"
_JOB = (
    r"(?i:\b(?:jobs?|jobid|job_id|slurm|allocation)[ =:#_-]*(?:id[ =:#]*)?)"
    r"\d{3,}(?:_\d+|\[\d+\])?(?!\d|\.json)"
)
_HOSTS = r"(?<![\w\]])[A-Za-z][\w.-]*(?:\[[0-9,-]+\][\w.-]*)+"

KINDS = ("path", "mac", "ipv6", "ipv4", "login", "job", "hosts")
PATTERN = "|".join(
    f"(?P<{kind}>{pattern})"
    for kind, pattern in zip(KINDS, (_PATH, _MAC, _IPV6, _IPV4, _LOGIN, _JOB, _HOSTS), strict=True)
)
_ALL = re.compile(PATTERN)
_HOME = re.compile(r"/(?:home|users|u|Users|work|scratch|data|gpfs|lustre)/+([^/]+)")
_OWNER = re.compile(r"\b(?:USER|LOGNAME|USERNAME|SLURM_JOB_USER|PBS_O_LOGNAME)=([\w.-]+)")


def common_path(path: str) -> bool:
    """Whether a path reveals nothing about a site: ``/usr/bin/mpirun``, ``/proc/stat`` or ``/tmp``,
    say.
    """
    return _COMMON.fullmatch(path.rstrip("/") or "/") is not None


def private_address(text: str) -> bool:
    """Whether a text is an IP address, except loopback and unspecified addresses."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def job_number(text: str) -> str:
    """The id at the end of ``Job 4711`` or ``slurm-4711``."""
    match = re.search(r"\d{3,}(?:_\d+|\[\d+\])?$", text)
    return match[0] if match else text


def found_in(text: str) -> Iterator[tuple[str, str]]:
    """The private parts of a text, each with its kind: paths, addresses, users, job ids."""
    for match in _ALL.finditer(text):
        kind, part = str(match.lastgroup), match[0]
        if kind == "path" and not common_path(part):
            yield "path", part
            if home := _HOME.match(part):
                yield "user", home[1]
        elif kind == "mac" or (kind in ("ipv4", "ipv6") and private_address(part)):
            yield "address", part
        elif kind == "login":
            user, _, host = part.partition("@")
            yield "user", user
            yield "host", host
        elif kind == "job":
            yield "job", job_number(part)
    for owner in _OWNER.finditer(text):
        yield "user", owner[1]
