"""Follows a launch: its stream, silence, lost hosts, ranks that don't end."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import msgspec

from assay.campaign.engine.observer import Observer
from assay.campaign.engine.state import CampaignState
from assay.hostnames import names_text
from assay.launch.executor import Executor, Launch, LaunchOrder
from assay.model.cell import Cell
from assay.records.model import LaunchRecord
from assay.records.schema import StreamEnd
from assay.records.stream import StreamTail, read_stream

# Seconds between reads of a growing stream: every read takes a core from a measured rank. The end
# of a launch is noticed immediately.
LOOK = 0.25
# Seconds without records after which the hosts of a launch are checked; the interval then doubles.
# The check disturbs a little, but healthy kernels are rarely silent for this long.
SILENCE = 30.0


class LaunchFollower:
    """Follows launches, one after the other.

    ``ending``: seconds within which ranks must end after the end of their stream. ``deadline``:
    Unix time at which a launch is stopped; inf without a deadline.
    """

    def __init__(
        self, executor: Executor, observer: Observer, ending: float, deadline: float
    ) -> None:
        self._executor = executor
        self._observer = observer
        self._ending = ending
        self._deadline = deadline

    def follow(
        self, replicate: int, order: LaunchOrder, cells: Sequence[Cell], state: CampaignState
    ) -> LaunchRecord:
        """Start a launch and follow its stream to its end. Raises HostsLost."""
        self._observer.launching(replicate, order, cells)
        launch = self._executor.start(order)
        tail = StreamTail(order.stream)
        last_record = time.monotonic()
        ask_after = SILENCE
        # A command with a time limit writes no records until it ends.
        limit = order.timeout if order.timeout < math.inf else 0.0
        patience = max(order.patience, limit + SILENCE if limit else 0.0)
        try:
            while True:
                record = launch.wait(LOOK)
                for news in tail.records():
                    last_record, ask_after = time.monotonic(), SILENCE
                    if isinstance(news, StreamEnd):
                        patience = self._ending
                    self._observer.record(news)
                self._observer.tick(state)
                if record is not None:
                    return record
                if time.time() >= self._deadline:
                    return msgspec.structs.replace(launch.stop(), outcome="interrupted")
                silence = time.monotonic() - last_record
                if silence > patience:
                    return self._give_up(launch, order)
                if silence > ask_after:
                    ask_after *= 2
                    if lost := self._executor.lost_hosts(order):
                        return with_lost(launch.stop(), lost)
        except KeyboardInterrupt:
            record = launch.stop()
            return msgspec.structs.replace(record, outcome="interrupted")
        except BaseException:
            launch.stop()
            raise

    def _give_up(self, launch: Launch, order: LaunchOrder) -> LaunchRecord:
        record = launch.stop()
        stream = read_stream(order.stream, samples=False)
        if stream.finished and stream.end is not None and stream.end.reason == "complete":
            error = (
                f"its ranks were still running {self._ending:g} s after their last measurement "
                "(in MPI_Finalize, or in the launcher) and were killed"
            )
            self._observer.note(f"Launch {order.launch}: {error}. Its results are complete.")
            return msgspec.structs.replace(record, outcome="complete", blamed=None, error=error)
        begun = stream.begun
        return msgspec.structs.replace(
            record,
            outcome="timeout",
            blamed=begun,
            error=f"it did not report for {order.patience:g} s (patience in [defaults] of "
            "assay.toml)",
        )


def with_lost(record: LaunchRecord, lost: tuple[str, ...]) -> LaunchRecord:
    """The record of a launch with its lost hosts; unchanged if none are lost."""
    if not lost:
        return record
    error = f"{names_text(lost)} no longer respond{'s' if len(lost) == 1 else ''}"
    return msgspec.structs.replace(record, outcome="lost", lost=lost, blamed=None, error=error)
