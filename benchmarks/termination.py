"""Ends a script in order, so that virtual clusters are taken down."""

from __future__ import annotations

import signal


def end_in_order() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as SIGINT does.

    A shell that starts a script in the background lets it ignore SIGINT; this is undone, too.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
