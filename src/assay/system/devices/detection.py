"""Reading devices in a process of its own with a time limit: a driver may hang in the kernel."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from assay.system.devices.model import Device
from assay.system.devices.pci_devices import pci_devices
from assay.system.devices.reading import needs_library, read_devices
from assay.system.files import Tree

# The driver prepares each unused device, which takes up to some seconds per device.
LIMIT = 30.0
_PIECE = 1 << 16
_MARK = b"assay:devices:"


def detect_devices(tree: Tree, seconds: float = LIMIT) -> list[Device]:
    """The accelerators with their state; raises nothing and returns after ``seconds`` at the
    latest.

    If reading takes longer, the state is unknown and ``problem`` says so. The process that hangs is
    killed and not waited for.
    """
    if not tree.live or not needs_library(tree):
        return read_devices(tree)
    words = [sys.executable, "-m", "assay.system.devices.detection"]
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return _unread(tree, f"Its state can't be read: {error.strerror}.")
    text, ended = _output(child, time.monotonic() + seconds)
    if not ended:
        return _unread(tree, f"Its driver gave no answer within {seconds:g} s.")
    answer = text.rpartition(_MARK)[2]
    with contextlib.suppress(msgspec.DecodeError, ValueError):
        return msgspec.json.decode(answer, type=list[Device])
    return _unread(tree, "The process that reads its state ended early.")


def _output(child: subprocess.Popen[bytes], until: float) -> tuple[bytes, bool]:
    """What the process writes until it closes its output, and whether it did so in time."""
    pipe = child.stdout
    if pipe is None:
        return b"", False
    text = b""
    with pipe, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not selector.select(left):
                break
            piece = os.read(pipe.fileno(), _PIECE)
            if not piece:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=max(until - time.monotonic(), 0.1))
                return text, True
            text += piece
    child.kill()
    # The kernel may keep it: then it ends when the driver answers.
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=0.1)
    return text, False


def _unread(tree: Tree, problem: str) -> list[Device]:
    fix = "Check the kernel's log (dmesg); a device that hangs needs a reset or a new start."
    return [
        msgspec.structs.replace(device, problem=problem, fix=fix) for device in pci_devices(tree)
    ]


def main() -> None:
    """Print this machine's devices in JSON, behind a mark."""
    devices = read_devices(Tree(Path("/")))
    sys.stdout.buffer.write(_MARK + msgspec.json.encode(devices))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
