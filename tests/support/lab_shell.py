"""A remote shell whose processes are not children of the client, as with ssh: for kill tests.

The server starts the commands of clients and gives them the clients' stdout and stderr; a client
waits for the exit status. When a client is killed its command continues, as under an sshd without a
terminal.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def detached(remote_shell: Path, folder: Path) -> Iterator[Path]:
    """A program with the effect of ``remote_shell``, in processes of this server."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "server"))
    listening.listen()
    client = folder / "detached-shell"
    client.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {folder / "server"} "$@"\n')
    client.chmod(0o700)
    threading.Thread(target=_serve, args=(listening, remote_shell), daemon=True).start()
    with listening:
        yield client


def _serve(listening: socket.socket, remote_shell: Path) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_run, args=(connection, remote_shell), daemon=True).start()


def _run(connection: socket.socket, remote_shell: Path) -> None:
    with connection:
        text, outputs, _, _ = socket.recv_fds(connection, 1 << 16, 2)
        words, environment = json.loads(text)
        process = subprocess.Popen(
            [str(remote_shell), *words],
            stdin=subprocess.DEVNULL,
            stdout=outputs[0],
            stderr=outputs[1],
            env=environment,
            start_new_session=True,
        )
        for output in outputs:
            os.close(output)
        status = process.wait()
        with contextlib.suppress(OSError):
            connection.sendall(bytes([status & 0xFF]))


def _ask(server: str, words: list[str]) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        text = json.dumps([words, dict(os.environ)]).encode()
        socket.send_fds(connection, [text], [1, 2])
        return connection.recv(1)[0]


if __name__ == "__main__":
    sys.exit(_ask(sys.argv[1], sys.argv[2:]))
