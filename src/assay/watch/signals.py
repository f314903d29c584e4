"""Signals that are the program's to take: held here, and handed on.

They come from a scheduler or from `kill`. What the terminal sends (Ctrl-C), the kernel has sent to
the program too, so that is not handed on.
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
    """Block them from now on; the mask there was, which is the program's to have.

    To be called before any thread is started, for a thread that doesn't block a signal gets it.
    Numerical libraries start some when they are imported.
    """
    global _before
    if _before is None:
        _before = set(signal.pthread_sigmask(signal.SIG_BLOCK, _HELD))
    return _before


def let_go() -> None:
    """The mask that there was before ``hold``."""
    global _before
    if _before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before)
        _before = None


def hand_on(pid: int | None) -> bool:
    """Send the process what has come for it (None: it has ended); whether we were stopped and
    continued meanwhile.
    """
    continued = False
    while (info := signal.sigtimedwait(_HELD, 0)) is not None:
        if info.si_signo == signal.SIGCONT:
            continued = True
        elif info.si_code != _FROM_KERNEL and pid is not None:
            os.kill(pid, info.si_signo)
    return continued
