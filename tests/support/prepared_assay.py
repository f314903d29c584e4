"""Runs of ``assay`` as processes that begin with its modules loaded, for tests of what it does.

Importing NumPy, Polars, SciPy and the questions takes most of the CPU time of a short command. A
server imports them once and forks a process for each command: with the own environment, folder,
input and output of the command, and an end of its own. ``run`` takes the place of
``subprocess.run``. Tests of how a process starts or ends (signals, limits, planted modules) start
the interpreter themselves.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from assay.launch.warden import processes_below

_LIBRARIES = (
    *("numpy", "polars", "scipy.linalg", "scipy.special", "cyclopts", "msgspec", "psutil"),
    *("rich.console", "rich.table", "rich.progress", "rich.emoji", "rich.text", "cyclopts.help"),
    *("threadpoolctl", "jinja2", "asyncio"),
)
# Modules of assay whose import depends on the process: the help has the width of the terminal.
_ITS_OWN = ("assay.cli", "assay.manual", "assay.__main__")
# Variables that the interpreter and the libraries read when they start, except what is preloaded:
# that is for the ranks.
_READ_AT_START = (
    *("PYTHON", "LC_", "LANG", "LD_", "MALLOC", "OPENBLAS", "GOTO", "OMP_", "MKL", "BLIS"),
    *("POLARS", "RAYON", "RUST", "VIRTUAL_ENV", "COVERAGE"),
)
_SUPPORT = Path(__file__).parent  # ``assay`` with other settings: scripts in this folder
_LONGEST = 1 << 17  # bytes of a request
# For how long the outputs of a command that was killed are read, s.
_READING = 10.0
cpu_seconds = 0.0  # of all processes so far


def run(
    command: Sequence[str],
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    capture_output: bool = False,
    text: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """As ``subprocess.run``; other programs, and what can't be prepared, start as usual.

    Raises subprocess.CalledProcessError with ``check``, and subprocess.TimeoutExpired.
    """
    started = _started(command)
    environment = dict(os.environ if env is None else env)
    unusual = more.keys() - {"input", "stdin"}
    if started is None or unusual or not capture_output or not _server().fits(environment):
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=capture_output, text=text, timeout=timeout,
            check=check, **more,
        )  # fmt: skip
    given = more.get("input")
    request = {
        **started,
        "command": [str(word) for word in command],
        "cwd": os.path.abspath(cwd or "."),  # noqa: PTH100 - links in it stay
        "env": environment,
    }
    done = _server().run(
        request, given.encode() if isinstance(given, str) else given, more.get("stdin"), timeout
    )
    status, *outputs = done
    texts = [part.decode().replace("\r\n", "\n") if text else part for part in outputs]
    if status is None:
        raise subprocess.TimeoutExpired(command, timeout or 0.0, *outputs)
    finished = subprocess.CompletedProcess(command, status, *texts)
    if check:
        finished.check_returncode()
    return finished


def _started(command: Sequence[str]) -> dict[str, Any] | None:
    """The script (None: ``-m assay``) and the words after it; None for other programs."""
    if command[0] != sys.executable:
        return None
    begin = 2 if command[1] == "-P" else 1
    rest = [str(word) for word in command[begin:]]
    if rest[:2] == ["-m", "assay"]:
        return {"script": None, "safe": begin == 2, "words": rest[2:]}
    if begin == 1 and Path(rest[0]).parent == _SUPPORT:
        return {"script": rest[0], "safe": False, "words": rest[1:]}
    return None


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name not in ("PYTHONPATH", "LD_PRELOAD")
    }


def _searched(environment: Mapping[str, str]) -> list[str]:
    return [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]


class _Server:
    """The process that forks, and a lock: one command at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel, self._lock = ours, threading.Lock()
        self._started_with = _at_start(os.environ)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()], cwd="/",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        atexit.register(self.end)

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Whether a process that starts in this environment would have loaded the same."""
        return (
            self._process.poll() is None
            and _at_start(environment) == self._started_with
            and set(_searched(environment)) <= {*sys.path}
            and len(json.dumps(environment)) < _LONGEST // 2
        )

    def run(
        self, request: dict[str, Any], given: bytes | None, stdin: Any, timeout: float | None
    ) -> tuple[int | None, bytes, bytes]:
        """The exit status (None: out of time), and both outputs."""
        request |= {"umask": _umask(), "cpus": sorted(os.sched_getaffinity(0))}
        with self._lock, contextlib.ExitStack() as stack:
            out, out_end = _pipe(stack)
            error, error_end = _pipe(stack)
            theirs = [out_end, error_end]
            if given is not None:
                in_end, feed = _pipe(stack)
                theirs.append(in_end)
                source = in_end.fileno()
            elif stdin == subprocess.DEVNULL:
                theirs.append(stack.enter_context(Path(os.devnull).open("rb")))
                source = theirs[-1].fileno()
            else:
                source = 0 if stdin is None else stdin if isinstance(stdin, int) else stdin.fileno()
            message = json.dumps(request).encode("utf-8", "surrogateescape")
            socket.send_fds(
                self._channel, [message], [source, out_end.fileno(), error_end.fileno()]
            )
            for file in theirs:
                file.close()
            outputs: list[bytes] = [b"", b""]
            threads = [
                threading.Thread(target=_read, args=(file, outputs, k), daemon=True)
                for k, file in enumerate((out, error))
            ]
            if given is not None:
                threads.append(threading.Thread(target=_write, args=(feed, given), daemon=True))
            for thread in threads:
                thread.start()
            status = self._ended(timeout)
            return status, *_all(threads, outputs, None if status is not None else _READING)

    def _ended(self, timeout: float | None) -> int | None:
        global cpu_seconds
        pid = json.loads(self._channel.recv(_LONGEST))["pid"]
        self._channel.settimeout(timeout)
        late = False
        try:
            answer = self._channel.recv(_LONGEST)
        except TimeoutError:
            late = True
            _kill_with_all_below(pid)
            self._channel.settimeout(None)
            answer = self._channel.recv(_LONGEST)
        self._channel.settimeout(None)
        end = json.loads(answer)
        cpu_seconds += end["cpu_s"]
        return None if late else os.waitstatus_to_exitcode(end["status"])

    def end(self) -> None:
        """Close the channel, at which the server ends."""
        self._channel.close()
        self._process.wait()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _pipe(stack: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return (
        stack.enter_context(os.fdopen(reading, "rb", 0)),
        stack.enter_context(os.fdopen(writing, "wb", 0)),
    )


def _read(file: IO[bytes], outputs: list[bytes], place: int) -> None:
    while part := file.read(1 << 16):
        outputs[place] += part


def _write(file: IO[bytes], given: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(file.fileno(), "wb", closefd=False) as stream:
        stream.write(given)
    file.close()


def _kill_with_all_below(pid: int) -> None:
    """Programs that it has started would otherwise go on, and keep its outputs open."""
    for each in (pid, *processes_below(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _all(
    threads: Sequence[threading.Thread], outputs: list[bytes], seconds: float | None
) -> list[bytes]:
    """The outputs to their end, or what comes in this time (s)."""
    for thread in threads:
        thread.join(seconds)
    return outputs


_servers: list[_Server] = []


def _server() -> _Server:
    if not _servers:
        _servers.append(_Server())
    return _servers[0]


def _serve(channel: socket.socket) -> None:
    """Answer requests until the channel is closed; returns in each process that was forked."""
    kept = _drawing_engine()
    while True:
        message, files, *_ = socket.recv_fds(channel, _LONGEST, 3)
        if not message:
            kept.end()
            os._exit(0)
        kept.start()
        pid = os.fork()
        if pid == 0:
            channel.close()
            drawing_process = importlib.import_module("assay.charts.drawing_process")
            drawing_process._engine = kept.inherited  # type: ignore[attr-defined]
            _become(json.loads(message.decode("utf-8", "surrogateescape")), files)
            return
        for file in files:
            os.close(file)
        channel.send(json.dumps({"pid": pid}).encode())
        _, status, used = os.wait4(pid, 0)
        drawing_s = kept.cpu_seconds()
        if os.WIFSIGNALED(status):  # perhaps while it drew
            kept.end()
        end = {"status": status, "cpu_s": used.ru_utime + used.ru_stime + drawing_s}
        channel.send(json.dumps(end).encode())


def _drawing_engine() -> Any:
    """The engine that all commands share; the folder of its module isn't searched by commands."""
    sys.path.append(str(_SUPPORT))
    module = importlib.import_module("one_drawing_engine")
    sys.path.remove(str(_SUPPORT))
    return module.KEPT


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Take on the environment, folder, streams and arguments of a command."""
    for place, file in enumerate(files):
        os.dup2(file, place)
    for file in files:
        os.close(file)
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        _reopen(place, name)
    os.umask(request["umask"])
    os.sched_setaffinity(0, request["cpus"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.path[:0] = [path for path in _searched(os.environ) if path not in sys.path]
    script = request["script"]
    if not request["safe"]:
        sys.path.insert(0, str(_SUPPORT) if script else os.getcwd())  # noqa: PTH109
    sys.orig_argv[:] = request["command"]
    sys.argv[:] = [script or "assay", *request["words"]]


def _reopen(place: int, name: str) -> None:
    """A stream as the interpreter opens it: only one of a file can be positioned."""
    old: io.TextIOWrapper = getattr(sys, name)
    stream = io.TextIOWrapper(
        os.fdopen(place, "wb" if place else "rb", closefd=False),
        encoding=old.encoding,
        errors=old.errors,
        line_buffering=place == 2 or os.isatty(place),
    )
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _modules() -> list[str]:
    """All modules of assay except those of its commands."""
    import assay

    found = pkgutil.walk_packages(assay.__path__, "assay.")
    return [module.name for module in found if not module.name.startswith(_ITS_OWN)]


def _main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    for name in (*_LIBRARIES, *_modules()):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _serve(channel)
    # In a process of its own.
    try:
        if Path(sys.argv[0]).is_absolute():
            runpy.run_path(sys.argv[0], run_name="__main__")
        else:
            runpy.run_module("assay", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            _end(end.code)
        raise
    _end(0)


def _end(status: int) -> None:
    """End as the interpreter ends, without taking the modules apart: this would copy all pages that
    are shared with the server, which takes 60 ms. Returns if a stream can't be written.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


if __name__ == "__main__":
    _main()
