"""Sockets on all hosts of a virtual cluster, in one process, and counters of adapters.

A socket stays in the namespace in which it was created, so a thread that enters each host's
namespace in turn can create one there.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from assay.lab import network
from assay.lab.cluster import Cluster

_CLONE_NEWNET = 0x40000000
_IP_RECVTTL = 12  # linux/in.h
PORT = 9000
PATIENCE = 10.0

_T = TypeVar("_T")


def inside(namespace: str, do: Callable[[], _T]) -> _T:
    """Call a function in a namespace, on a separate thread inside it, and return its result."""
    result: list[_T] = []
    failure: list[BaseException] = []

    def visit() -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            descriptor = os.open(network.NAMES / namespace, os.O_RDONLY)
            try:
                if libc.setns(descriptor, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            finally:
                os.close(descriptor)
            result.append(do())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=visit)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def datagram_socket() -> socket.socket:
    """A socket that receives datagrams to the host, and their TTL."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    probe.bind(("0.0.0.0", PORT))
    probe.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
    probe.settimeout(PATIENCE)
    return probe


@contextlib.contextmanager
def sockets(
    cluster: Cluster, make: Callable[[], socket.socket] = datagram_socket
) -> Iterator[dict[str, socket.socket]]:
    """One socket per host, by its name."""
    with contextlib.ExitStack() as stack:
        yield {
            host.name: stack.enter_context(inside(host.namespace, make)) for host in cluster.hosts
        }


def receive(listening: socket.socket) -> tuple[bytes, str, int]:
    """The next datagram: its content, its sender, and its remaining TTL."""
    text, extras, _, (address, _) = listening.recvmsg(100, 100)
    ttl = next(
        int.from_bytes(data[:4], "little")
        for level, kind, data in extras
        if (level, kind) == (socket.IPPROTO_IP, socket.IP_TTL)
    )
    return text, address, ttl


def sent_packets(cluster: Cluster) -> dict[tuple[str, str], int]:
    """How many packets each adapter has sent, by node and adapter."""
    counted = {}
    for node in cluster.shape.nodes:
        said = network.run("ip", "-n", cluster.prefix + node, "-j", "-s", "link")
        for adapter in json.loads(said):
            if adapter["ifname"] != "lo":
                counted[node, adapter["ifname"]] = adapter["stats64"]["tx"]["packets"]
    return counted


def machine(prefix: str) -> dict[str, object]:
    """State of this machine that no virtual cluster may change, as far as other clusters don't.

    ``prefix``: of the tested labs. Namespaces and mounts of other tests (other labs, nodes of node
    checks) may change meanwhile.
    """

    def others(text: str) -> bool:
        return "assay-" in text and prefix not in text

    mounts = [
        " ".join(line.split()[3:5])
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
        if not others(line)
    ]
    links = [
        {key: link.get(key) for key in ("ifname", "flags", "address", "qdisc", "mtu")}
        for link in json.loads(network.run("ip", "-j", "link"))
    ]
    settings = ("ipv4/ip_forward", "ipv4/conf/all/rp_filter", "ipv4/icmp_ratelimit")
    return {
        "namespaces": [name for name in network.namespaces_called("") if not others(name)],
        "mounts": sorted(mounts),
        "links": links,
        "addresses": network.run("ip", "-br", "address"),
        "routes": network.run("ip", "route"),
        "queues": network.run("tc", "qdisc"),
        "settings": [Path("/proc/sys/net", name).read_text() for name in settings],
        "name": os.uname().nodename,
        "hosts": Path("/etc/hosts").read_text() if Path("/etc/hosts").exists() else None,
        "files": sorted(str(path) for path in Path("/run").iterdir() if "assay-lab" in path.name),
    }
