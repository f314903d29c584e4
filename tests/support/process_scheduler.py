"""A batch scheduler whose nodes are processes of this machine, with faults on request.

A folder holds its settings and its jobs, so that all processes of a test use the same scheduler.
Each job has its own keeper process: ``python process_scheduler.py FOLDER ID``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from assay.errors import AssayError
from assay.records.jobs import JobAccounting
from assay.schedulers.model import (
    TASK_VARIABLE,
    JobRequest,
    JobStatus,
    SchedulerNode,
    SchedulerSilent,
    SchedulerUnreadable,
)

# Settings of a test; times in seconds.
SETTINGS: dict[str, Any] = {
    "delay": 0.0,  # in the queue; ``begin`` starts a job earlier
    "reject": "",  # the message with which every job is refused
    "silent": False,  # no answer to anything
    "unreadable": False,  # answers on jobs that can't be read
    "lost": False,  # all jobs are unknown
    "reason": "Resources",  # why jobs wait, and what that says on their start
    "prospect": "",
    "forgetful": False,  # jobs that have ended are unknown
    "kill_wait": 5.0,  # from the request to end a job to killing it
    "walltime_factor": 1.0,  # of each job's walltime, so that minutes are seconds
    "array_limit": None,  # tasks of an array; 0 without arrays
    "nodes": None,  # of its partition: name, state, whether usable, reason
    "most": None,  # jobs that are accepted
    "accounts": True,  # whether the resources used by jobs are reported
}


def _runs(process: psutil.Process) -> bool:
    """Whether a process has not ended, even since it was found."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class ProcessScheduler:
    """See ``assay.schedulers.model.BatchScheduler``."""

    name = "process"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "jobs").mkdir(parents=True, exist_ok=True)

    # ---- what assay asks -------------------------------------------------------------------------

    def script(self, request: JobRequest) -> str:
        stored = (f"export {name}={shlex.quote(v)}" for name, v in request.environment.items())
        lines = ["#!/bin/sh", f"cd {shlex.quote(str(request.directory))} || exit 1", *stored]
        return "\n".join([*lines, f"exec {shlex.join(request.command)}", ""])

    def submit(self, request: JobRequest, folder: Path) -> str:
        self._answer()
        if words := self.settings()["reject"]:
            raise AssayError("The scheduler refused the job.", detail=words)
        most = self.settings()["most"]
        if most is not None and len(self.jobs()) >= most:
            raise AssayError("Job violates accounting/QOS policy.")
        script = folder / f"{request.name}.sh"
        script.write_text(self.script(request))
        number = 100 + len(list((self.folder / "jobs").iterdir()))
        home = self.folder / "jobs" / str(number)
        home.mkdir()
        order = {
            "name": request.name,
            "script": str(script),
            "walltime": request.walltime * self.settings()["walltime_factor"],
            "outputs": [str(request.output_of(task)) for task in range(request.tasks)],
            "nodes": request.nodes,
            "partition": request.options.partition,
            "begin": request.begin,
            "hosts": list(request.hosts),
        }
        (home / "order.json").write_text(json.dumps(order))
        self._set(home, "queued", "Resources")
        keeper = subprocess.Popen(
            [sys.executable, __file__, str(self.folder), str(number)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        (home / "keeper").write_text(str(keeper.pid))
        return str(number)

    def status(self, ids: Iterable[str]) -> dict[str, JobStatus]:
        self._answer()
        if self.settings()["unreadable"]:
            raise SchedulerUnreadable("The answer can't be read: invalid JSON.", fix="Look at it.")
        return {job: self._status(self.folder / "jobs" / job) for job in ids}

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        return {job: status.name for job, status in self.status(ids).items() if status.name}

    def accounting(self, ids: Iterable[str]) -> dict[str, JobAccounting] | None:
        self._answer()
        if not self.settings()["accounts"]:
            return None
        found = {}
        for job in ids:
            home = self.folder / "jobs" / job
            with contextlib.suppress(OSError):
                elapsed, cpu = json.loads((home / "account.json").read_text())
                state = self._status(home).state
                found[job] = JobAccounting(self.name, state, elapsed=elapsed, cpu=cpu)
        return found

    def array_limit(self) -> int | None:
        limit: int | None = self.settings()["array_limit"]
        return limit

    def nodes(self, partition: str | None) -> list[SchedulerNode] | None:
        listed = self.settings()["nodes"]
        return None if listed is None else [SchedulerNode(*node) for node in listed]

    def cancel(self, ids: Iterable[str]) -> None:
        self._answer()
        for job in ids:
            self.do("cancel", job)

    # ---- what a test does ------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        with contextlib.suppress(OSError):
            return {**SETTINGS, **json.loads((self.folder / "settings.json").read_text())}
        return dict(SETTINGS)

    def set(self, **changes: object) -> None:
        _write(self.folder / "settings.json", json.dumps({**self.settings(), **changes}))

    def do(self, what: str, job: str | None = None) -> None:
        """``begin``, ``cancel``, ``preempt``, ``requeue`` or ``fail`` (its node; ``fail-requeue``:
        after which it is queued again) a job, else the newest.
        """
        home = self.folder / "jobs" / (job or self.jobs()[-1])
        if home.is_dir():
            (home / what).touch()

    def jobs(self) -> list[str]:
        return sorted((path.name for path in (self.folder / "jobs").iterdir()), key=int)

    def order(self, job: str) -> dict[str, Any]:
        return dict(json.loads((self.folder / "jobs" / job / "order.json").read_text()))

    def processes(self, job: str | None = None) -> list[psutil.Process]:
        """The running processes of a job, without its keeper."""
        homes = [self.folder / "jobs" / name for name in ([job] if job else self.jobs())]
        found = []
        for home in homes:
            with contextlib.suppress(psutil.Error, OSError, ValueError):
                found += psutil.Process(int((home / "keeper").read_text())).children(recursive=True)
        return [process for process in found if _runs(process)]

    def end(self) -> None:
        """End all running processes, including keepers."""
        left = self.processes()
        for name in self.jobs():
            with contextlib.suppress(psutil.Error, OSError, ValueError):
                left.append(
                    psutil.Process(int((self.folder / "jobs" / name / "keeper").read_text()))
                )
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=10)

    # ---- within ----------------------------------------------------------------------------------

    def _answer(self) -> None:
        if self.settings()["silent"]:
            raise SchedulerSilent("Connection refused.", fix="Try again later.")

    def _status(self, home: Path) -> JobStatus:
        if not home.is_dir() or self.settings()["lost"]:
            return JobStatus("unknown")
        stored = json.loads((home / "state.json").read_text())
        status = JobStatus(
            stored["state"], stored["reason"], stored["exit"], name=self.order(home.name)["name"]
        )
        if status.state == "queued":
            now = self.settings()
            status = replace(status, reason=now["reason"], prospect=now["prospect"])
        return JobStatus("unknown") if status.ended and self.settings()["forgetful"] else status

    def _set(self, home: Path, state: str, reason: str = "", status: int | None = None) -> None:
        stored = {"state": state, "reason": reason, "exit": status}
        _write(home / "state.json", json.dumps(stored))

    def keep(self, job: str) -> None:
        """A job's keeper: queue, processes, walltime, faults, end."""
        home, order, settings = self.folder / "jobs" / job, self.order(job), self.settings()
        begin = time.monotonic() + settings["delay"]
        if order["begin"] is not None:
            begin = max(begin, time.monotonic() + order["begin"] - time.time())
        while time.monotonic() < begin and not (home / "begin").exists():
            if (home / "cancel").exists():
                self._set(home, "cancelled")
                return
            time.sleep(0.02)
        (home / "begin").unlink(missing_ok=True)
        tasks = []
        for number, output in enumerate(order["outputs"]):
            with Path(output).open("wb") as file:
                tasks.append(
                    subprocess.Popen(
                        ["/bin/sh", order["script"]],
                        stdin=subprocess.DEVNULL,
                        stdout=file,
                        stderr=subprocess.STDOUT,
                        env={**os.environ, TASK_VARIABLE: str(number)},
                        start_new_session=True,
                    )
                )
        self._set(home, "running")
        began = time.monotonic()
        why = self._until_over(home, tasks, time.monotonic() + order["walltime"])
        if why == "requeued":
            for task in tasks:
                task.wait()
            for name in ("requeue", "fail-requeue"):
                (home / name).unlink(missing_ok=True)
            self._set(home, "queued", "BeginTime")
            self.keep(job)
            return
        exits = [task.wait() for task in tasks]
        used = os.times()
        cpu = used.children_user + used.children_system
        _write(home / "account.json", json.dumps([time.monotonic() - began, cpu]))
        worst = max((128 - code if code < 0 else code for code in exits), default=0)
        state = why or ("complete" if worst == 0 else "failed")
        self._set(home, state, "", worst)

    def _until_over(
        self, home: Path, tasks: list[subprocess.Popen[bytes]], until: float
    ) -> str | None:
        """Wait for the tasks; return why they were ended, if they were."""
        asked, why = 0.0, None
        names = {"cancel": "cancelled", "preempt": "preempted", "requeue": "requeued"}
        while any(task.poll() is None for task in tasks):
            time.sleep(0.02)
            now = time.monotonic()
            if (home / "fail").exists():
                _kill(tasks)
                return "node-failed"
            if (home / "fail-requeue").exists():
                _kill(tasks)
                return "requeued"
            if why is None:
                found = next((names[n] for n in names if (home / n).exists()), None)
                why = found or ("timeout" if now > until else None)
                if why:
                    asked = now
                    for task in tasks:
                        if task.poll() is None:
                            task.terminate()
            elif now > asked + self.settings()["kill_wait"]:
                _kill(tasks)
        return why


def _kill(tasks: list[subprocess.Popen[bytes]]) -> None:
    for task in tasks:
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(task.pid)
            for process in (*root.children(recursive=True), root):
                with contextlib.suppress(psutil.Error):
                    process.kill()


def _write(path: Path, content: str | bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content.encode() if isinstance(content, str) else content)
    part.replace(path)


if __name__ == "__main__":
    ProcessScheduler(Path(sys.argv[1])).keep(sys.argv[2])
