"""Signals meant for the watched program: blocked here, and passed on.

They come from a scheduler or from `kill`. Signals of the terminal (Ctrl-C) are not passed on: the
kernel sends them to the program, too.
"""

from __future__ import annotations

import os
import signal

HANDED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_HELD = (*HANDED_ON, signal.SIGCONT)
_FROM_KERNEL = 0x80  # SI_KERNEL of siginfo_t

_before: set[int] | None = None


def hold() -> set[int]:
    """Block these signals; returns the previous mask, which the program is started with.

    Must be called before any thread is started: a thread that doesn't block a signal receives it.
    Numerical libraries start threads when they are imported.
    """
    global _before
    if _before is None:
        _before = set(signal.pthread_sigmask(signal.SIG_BLOCK, _HELD))
    return _before


def release() -> None:
    """Restore the mask from before ``hold``."""
    global _before
    if _before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before)
        _before = None


def forward(pid: int | None) -> bool:
    """Pass received signals on to the process (None: it has ended); returns whether assay was
    stopped and continued meanwhile.
    """
    continued = False
    while (info := signal.sigtimedwait(_HELD, 0)) is not None:
        if info.si_signo == signal.SIGCONT:
            continued = True
        elif info.si_code != _FROM_KERNEL and pid is not None:
            os.kill(pid, info.si_signo)
    return continued
