"""Reporting while a program is followed: on standard error and in the log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import msgspec

from assay.stats.changes.step_change import StepChange
from assay.watch.causes import ChangeCauses, explain, hanging
from assay.watch.model import CauseLine, ChangeLine, HangLine, NormalRange, SampleLine
from assay.watch.program import Program
from assay.watch.sampler import Sampler, rates
from assay.watch.series import StepSeries
from assay.watch.steps import Step
from assay.watch.words import change_sentence, hang_sentence

# Minimum seconds from an alarm, and from the onset, to the report of the cause: the covariates need
# this time to show it.
_CAUSE_AFTER, _CAUSE_SINCE = 0.6, 1.0


@dataclass
class _Pending:
    """A change whose cause has not been reported yet. Times in s of the monotonic clock."""

    id: int
    onset: float
    ratio: float
    ready: float
    calm_until: float | None


class Reporter:
    """Reports changes, their causes, hangs and notes as they occur.

    ``series``: those that are followed, by name. ``host``: this host; covariates are known only for
    it. ``began``: origin of the log's times, s of the monotonic clock.
    """

    def __init__(
        self,
        program: Program,
        sampler: Sampler,
        series: Mapping[str, StepSeries],
        log: IO[bytes] | None,
        host: str,
        began: float,
        *,
        quiet: bool,
    ) -> None:
        self.program = program
        self.sampler = sampler
        self.series = series
        self.log = log
        self.host = host
        self.began = began
        self.changes: list[ChangeLine] = []
        self.hangs: list[HangLine] = []
        self.notes: list[str] = []
        self._quiet = quiet
        self._pending: list[_Pending] = []
        self._noted: set[str] = set()

    @property
    def alarms(self) -> int:
        """Number of changes for the worse and of hangs."""
        return sum(change.alarm for change in self.changes) + sum(
            not hang.over for hang in self.hangs
        )

    def changed(self, series: StepSeries, change: StepChange, step: Step) -> None:
        """Print and log a change that the monitor found at that step; its causes follow later."""
        now = step.time * 1e-9
        at = series.began(change.since)
        onset = now if at is None else at * 1e-9
        sentence = change_sentence(change, self._of(series))
        if change.alarm and (latest := series.latest(change.since)) is not None:
            sentence += f"; rank {latest[0]} came last in {100.0 * latest[1]:.0f}% of them"
        line = ChangeLine(
            id=len(self.changes) + 1,
            source=series.name,
            kind=change.kind,
            alarm=change.alarm,
            step=change.step,
            since=change.since,
            time=now - self.began,
            began=onset - self.began,
            seconds=change.seconds,
            ratio=change.ratio,
            normal=NormalRange(
                change.normal.n, change.normal.low, change.normal.median, change.normal.high
            ),
            spread=change.spread,
            slope=change.slope,
            sentence=sentence,
        )
        if not change.alarm:
            self._close_alarms(series.name, change.since)
        self.changes.append(line)
        self.write(line)
        self._say(sentence)
        if change.alarm:
            here = series.name == "lines" or series.name.endswith(f" {self.host}")
            if not here:
                return
            first = next(
                (
                    c
                    for c in self.changes
                    if c.alarm and c.source == series.name and c.until is None
                ),
                line,
            )
            ratio = change.ratio if change.kind != "unsteady" else max(change.ratio, 1.05)
            reported = time.monotonic()
            ready = max(reported + _CAUSE_AFTER, onset + _CAUSE_SINCE)
            self._pending.append(_Pending(line.id, onset, ratio, ready, first.began + self.began))
            if not self.sampler.readings or reported - self.sampler.readings[-1].time > 0.2:
                self.sample()
            self.sampler.look_at_others()

    def _close_alarms(self, source: str, step: int) -> None:
        for index, change in enumerate(self.changes):
            if change.alarm and change.source == source and change.until is None:
                self.changes[index] = msgspec.structs.replace(change, until=step)

    def causes(self, now: float | None) -> None:
        """Report the causes of changes that are long enough ago; of all changes at the end."""
        ready = [each for each in self._pending if now is None or now >= each.ready]
        if not ready:
            return
        self.sample()
        busiest, sharing = self.sampler.busiest()
        for each in ready:
            self._pending.remove(each)
            why = explain(
                self.sampler.readings,
                each.onset,
                each.ratio,
                busiest,
                sharing,
                calm_until=each.calm_until,
            )
            if why is None:
                why = ChangeCauses([], "too short for the covariates to show a cause", 0.0, 0)
            index = each.id - 1
            self.changes[index] = msgspec.structs.replace(self.changes[index], why=why)
            self.write(CauseLine(each.id, time.monotonic() - self.began, why))
            self._say(f"  step {self.changes[index].step:,}, cause: {why.sentence}")

    def sample(self) -> None:
        """Read the covariates now."""
        readings = self.sampler.readings
        before = readings[-1] if readings else None
        reading = self.sampler.read()
        if self.log is not None and before is not None:
            values = rates(before, reading)
            self.write(SampleLine(reading.time - self.began, values))

    def overdue(self, now: float) -> None:
        """Report each series that hangs."""
        for series in self.series.values():
            if series.last is None:
                continue
            waited = now - series.last * 1e-9
            if series.hanging is None and series.overdue(waited):
                series.hanging = series.last * 1e-9
                self.sample()
                readings = self.sampler.readings
                own = None
                if len(readings) > 1:
                    own = rates(readings[-2], readings[-1]).get("own_cpu_seconds")
                normal = series.monitor.normal
                self._hang(
                    series,
                    waited,
                    hang_sentence(
                        series.steps,
                        self._of(series),
                        waited,
                        normal.median if normal else None,
                        hanging(readings[-1], own),
                    ),
                    over=False,
                )

    def recovered(self, series: StepSeries, step: Step) -> None:
        """Report a step after a hang."""
        assert series.hanging is not None
        waited = step.time * 1e-9 - series.hanging
        series.hanging = None
        sentence = f"after step {series.steps:,}{self._of(series)} it goes on, {waited:.3g} s later"
        self._hang(series, waited, sentence, over=True)

    def _hang(self, series: StepSeries, waited: float, sentence: str, *, over: bool) -> None:
        line = HangLine(
            source=series.name,
            step=series.steps,
            time=time.monotonic() - self.began,
            waited=waited,
            over=over,
            sentence=sentence,
        )
        self.hangs.append(line)
        self.write(line)
        self._say(sentence)

    def once(self, sentence: str) -> None:
        """Report a note once: only the first with the same beginning."""
        beginning = sentence[:24]
        if beginning not in self._noted:
            self._noted.add(beginning)
            self.note(sentence)

    def note(self, sentence: str) -> None:
        """Report a sentence now and in the summary."""
        self.notes.append(sentence)
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        if self._quiet:
            return
        self.program.say(f"assay {time.strftime('%H:%M:%S')}: {sentence}")

    def _of(self, series: StepSeries) -> str:
        return "" if len(self.series) == 1 else f" ({series.name})"

    def write(self, record: msgspec.Struct | None) -> None:
        """Write a line of the log; None flushes the log."""
        if self.log is None:
            return
        try:
            if record is None:
                self.log.flush()
            else:
                self.log.write(msgspec.json.encode(record) + b"\n")
        except OSError as error:
            log, self.log = self.log, None
            with contextlib.suppress(OSError):
                log.close()
            self.note(f"The log can't be written any more: {error.strerror}.")
