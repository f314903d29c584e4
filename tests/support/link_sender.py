"""A program whose time is that of its node's link: bytes over a shaped link, timed where they end.

``link_sender.py sink ADDRESS`` receives; ``link_sender.py send HOST=ADDRESS,…`` sends from the host
where it runs to the next one in the list, and prints how long the second part of its bytes took.
The first part empties the link's token bucket. Both run before all ordinary processes, so that a
busy machine hardly delays them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
import time

FIRST, TIMED, PORT = 200_000, 4_000_000, 7777
_PART = 1 << 16


def _urgent() -> None:
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


def _receive(link: socket.socket) -> None:
    got, begun = 0, None
    with link:
        while got < FIRST + TIMED:
            part = link.recv(_PART)
            if not part:
                return
            got += len(part)
            if begun is None and got >= FIRST:
                begun, early = time.monotonic(), got
        assert begun is not None
        seconds = (time.monotonic() - begun) * TIMED / (got - early)
        link.sendall(struct.pack("d", seconds))


def sink(address: str) -> None:
    with socket.create_server((address, PORT), backlog=64) as server:
        print("ready", flush=True)
        while True:
            link, _ = server.accept()
            threading.Thread(target=_receive, args=(link,), daemon=True).start()


def send(listed: str) -> None:
    hosts = dict(each.split("=") for each in listed.split(","))
    names = list(hosts)
    target = names[(names.index(socket.gethostname()) + 1) % len(names)]
    with socket.create_connection((hosts[target], PORT)) as link:
        link.sendall(bytes(FIRST + TIMED))
        (seconds,) = struct.unpack("d", link.recv(8, socket.MSG_WAITALL))
    print(f"took {seconds:.6f} s")


if __name__ == "__main__":
    _urgent()
    {"sink": sink, "send": send}[sys.argv[1]](sys.argv[2])
