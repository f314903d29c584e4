"""Reports conditions of the operating system as errors with a fix: full disks, limits, lost
folders.

They are not defects of assay, so their messages never ask for a report. Only ``condition`` maps
exceptions to conditions. The command line and messages on failed launches use it.
"""

from __future__ import annotations

import errno
import io
import os
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STDOUT = "standard output"
_ELSEWHERE = "name another place"


def _limit(kind: int) -> str:
    """A soft limit of this process, as text."""
    value = resource.getrlimit(kind)[0]
    return "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}"


def _processes() -> str:
    return (
        "No more processes or threads can be started: your limit is "
        f"{_limit(resource.RLIMIT_NPROC)} (ulimit -u), and a container or job may have a lower "
        "limit."
    )


def _files() -> str:
    return f"Too many files are open: the limit is {_limit(resource.RLIMIT_NOFILE)} (ulimit -n)."


def _file_size() -> str:
    value = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if value == resource.RLIM_INFINITY:
        return "The file would be larger than its file system allows."
    return f"The file would exceed the limit on files, {value >> 10:,} KiB (ulimit -f)."


_MEMORY = "There is not enough memory."
_MORE_MEMORY = "Free some memory, raise its limit (`ulimit -v`), or request less."
# The sentence and the fix for each error number.
_CONDITIONS: dict[int, tuple[str | Callable[[], str], str]] = {
    errno.ENOSPC: ("The file system is full.", f"Free some space, or {_ELSEWHERE}."),
    errno.EDQUOT: ("Your disk quota is used up.", f"Free some space, or {_ELSEWHERE}."),
    errno.EFBIG: (_file_size, f"Raise the limit (`ulimit -f unlimited`), or {_ELSEWHERE}."),
    errno.EROFS: ("The file system is read-only.", "N" + _ELSEWHERE[1:] + "."),
    errno.EACCES: (
        "You don't have the required permission.",
        f"Change the permissions of the file or of a folder above it, or {_ELSEWHERE}.",
    ),
    errno.EPERM: (
        "You don't have the required permission.",
        f"Change the owner or the permissions, or {_ELSEWHERE}.",
    ),
    errno.EMFILE: (_files, "Raise the limit: ulimit -n 1024."),
    errno.ENFILE: (
        "The machine has too many open files.",
        "End programs with many open files, or raise fs.file-max.",
    ),
    errno.EAGAIN: (_processes, "Raise the limit, or end some of your processes."),
    errno.ENOMEM: (_MEMORY, _MORE_MEMORY),
    errno.EIO: (
        "The device or the file server reports an input/output error.",
        f"Check the kernel's messages (`dmesg`), and {_ELSEWHERE} until it is repaired.",
    ),
    errno.ESTALE: (
        "The file server no longer knows this file: it was removed or moved there.",
        "Change to the folder again (`cd`), and rerun the command.",
    ),
    errno.ENOTCONN: (
        "The file system's connection is lost.",
        f"Mount it again, or {_ELSEWHERE}.",
    ),
    errno.ETIMEDOUT: ("The file server doesn't answer.", f"Try again later, or {_ELSEWHERE}."),
    errno.ENAMETOOLONG: ("This name is too long for the file system.", "Choose a shorter name."),
    errno.ELOOP: ("Symbolic links form a loop.", "Remove one of the links."),
    errno.ENOTDIR: ("A part of this path is a file, not a folder.", "Correct the path."),
    errno.EISDIR: ("This is a folder, not a file.", "Name a file."),
    errno.ENOENT: ("There is no such file or folder.", "Correct the path, or create it."),
    errno.EEXIST: ("Another file has this name.", f"Remove it, or {_ELSEWHERE}."),
    errno.ENOTEMPTY: ("This folder is not empty.", f"Empty it, or {_ELSEWHERE}."),
    errno.EBUSY: ("Another program or mount is using this.", "Wait for it to end, and try again."),
    errno.ETXTBSY: ("This program is being written.", "Wait until it is complete, and try again."),
    errno.ENOEXEC: (
        "The machine can't run this program.",
        "Check that it was built for this processor. A script must begin with #!.",
    ),
    errno.ENXIO: ("The device is missing.", "Connect it, or name another place."),
    errno.ENODEV: ("The device is missing.", "Connect it, or name another place."),
    errno.ENOLCK: ("The file system can't lock files.", "Use another file system for the runs."),
}
# Texts of exceptions without an error number, from Python's threads and from libraries in C and
# Rust.
_TEXTS = (
    ("can't start new thread", errno.EAGAIN),
    ("failed to spawn thread", errno.EAGAIN),
    ("could not spawn threads", errno.EAGAIN),
    ("ThreadPoolBuildError", errno.EAGAIN),
    ("cannot allocate memory", errno.ENOMEM),
    ("failed to map segment", errno.ENOMEM),
    ("memory allocation of", errno.ENOMEM),
)
_LONGEST_CHAIN = 8


def condition(error: BaseException) -> AssayError | None:
    """The error for a condition of the operating system; None for any other exception.

    Its causes are also searched, since libraries wrap the system's errors.
    """
    for each in _chain(error):
        if isinstance(each, MemoryError):
            return AssayError(_MEMORY, fix=_MORE_MEMORY)
        if isinstance(each, UnicodeEncodeError):
            continue
        number = number_of(each)
        if number is not None:
            return condition_of(number, _place(each))
    return None


def condition_of(number: int, where: str = "", elsewhere: str = "") -> AssayError | None:
    """The error for an error number of the system; None if the number is not a condition.

    ``elsewhere``: how the user can name another place, such as "name another place with -o".
    """
    if number == errno.ENOENT and not _has_folder():
        return _no_folder()
    if number not in _CONDITIONS:
        return None
    what, fix = _CONDITIONS[number]
    if elsewhere:
        fix = fix.replace(_ELSEWHERE, elsewhere).replace(_ELSEWHERE.capitalize(), _first(elsewhere))
    if where == _STDOUT:
        fix = "Redirect the output to another place."
    return AssayError(what if isinstance(what, str) else what(), where=where, fix=fix)


def _first(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def number_of(error: BaseException) -> int | None:
    """The system's error number in an exception, even if only its text has it."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if not isinstance(error, OSError | ImportError | RuntimeError) and not _foreign(error):
        return None
    return number_in(str(error))


def number_in(text: str) -> int | None:
    """The error number whose message is part of ``text``, such as a program's output."""
    for words, number in _TEXTS:
        if words.lower() in text.lower():
            return number
    found = [n for n in _CONDITIONS if n != errno.ENOENT and os.strerror(n).lower() in text.lower()]
    # "Too many open files in system" contains "Too many open files".
    return max(found, key=lambda number: len(os.strerror(number)), default=None)


def check_surroundings() -> None:
    """Raise AssayError if the working folder is missing or standard output is closed.

    Closed streams are replaced by the null device, since files would otherwise receive their
    numbers.
    """
    closed = _reopened()
    if not _has_folder():
        raise _no_folder()
    if 1 in closed:
        raise AssayError(
            "The stream is closed.",
            where=_STDOUT,
            fix="Redirect it to a file or to /dev/null.",
        )


def discard_output() -> None:
    """Discard buffered standard output, so that the end of the program can't fail."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    except OSError:
        return


def _chain(error: BaseException) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CHAIN):
        yield error
        further = error.__cause__ or error.__context__
        if further is None:
            return
        error = further


def _foreign(error: BaseException) -> bool:
    """Whether an exception comes from a library that reports system errors as text."""
    return type(error).__module__.partition(".")[0] in ("polars", "pyo3_runtime", "msgspec", "zlib")


def _place(error: BaseException) -> str:
    """The path that an error names, if any."""
    names = (getattr(error, "filename2", None), getattr(error, "filename", None))
    return next((os.fsdecode(name) for name in names if isinstance(name, str | bytes)), "")


class _Output(io.FileIO):
    """Standard output. Its errors name standard output as their place."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = _STDOUT
            raise


def name_output() -> None:
    """Make errors of standard output name their origin, and print ``?`` for characters that its
    encoding lacks. If another program has replaced the stream, it stays.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        return
    if stream is not sys.__stdout__:
        stream.reconfigure(errors="replace")
        return
    stream.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False)),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering or stream.write_through,
    )


def _has_folder() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _no_folder() -> AssayError:
    return AssayError(
        "The working folder was removed.",
        where=os.environ.get("PWD", ""),
        fix="Change to another folder: cd ~.",
    )


def _reopened() -> list[int]:
    """The numbers of the standard streams that were closed. They now refer to the null device."""
    closed = []
    for number, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            closed.append(number)
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for the process
            setattr(sys, name, stream)
    return closed
