"""What a thread did when it was sampled, and which of the places on its stack are the program's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.trace.samples.model import Activity, Place
from assay.trace.samples.naming import PYTHON

# The libraries that sample and count, whose functions are not the program's.
_OWN = re.compile(r"libassay-(?:sampler|trace)\.so")
# The C library: it begins programs and threads, and enters the kernel for other libraries.
_C_LIBRARY = re.compile(r"(?:libc|libpthread|ld-linux[\w-]*)[.-].*|\[vdso\]")
_OPENMP = re.compile(r"lib(?:gomp|omp|iomp5|nvomp|craymp)\b.*")
# Functions of these run-time libraries in which a thread waits for others (GNU, LLVM and Intel).
_WAITS = re.compile(
    r"(?:gomp|GOMP)_.*(?:barrier|wait|team_end|parallel|thread_start|critical|mutex|lock).*"
    r"|__kmp.*(?:barrier|wait|suspend|fork_call|join_call|launch|critical|lock|yield).*"
    r"|do_(?:spin|wait)|futex_wait|cpu_relax|omp_set_(?:nest_)?lock"
)
_RUNTIME = re.compile(r"(?:gomp|GOMP)_\w+|__kmp\w+")
_MPI = re.compile(r"lib(?:mpi|pmpi|open-pal|open-rte|pmix|ucp|ucs|uct|fabric|psm2)[\w+-]*\.so.*")
# Functions of the standard by which a program enters these libraries, in C and Fortran. A library
# of the program's own can be named like one of MPI's. A static one is known by the functions of its
# start and end, of which programs have none of their own.
_MPI_CALL = re.compile(r"P?MPI_[A-Z]\w+|p?mpi_[a-z]\w+")
_MPI_ENDS = re.compile(r"P?MPI_(?:Init|Init_thread|Finalize)")
_INTERPRETER = re.compile(r"(?:lib)?python3?[\d.]*(?:\.so.*)?")
_STARTS = {"_start", "__libc_start_main", "start_thread", "clone", "clone3"}


def activity_of(places: Sequence[Place], *, inside: bool) -> Activity:
    """The activity of a stack, innermost place last. ``inside``: the thread was in a call of the
    program to MPI that is recorded."""
    if inside:
        return Activity.MPI
    outer = next((one for one in places if not _C_LIBRARY.fullmatch(one.module)), None)
    if outer is not None and _MPI.fullmatch(outer.module):
        return Activity.MPI  # a thread of MPI's own
    if any(map(_enters_mpi, places)):
        return Activity.MPI  # in a function that isn't recorded
    inner = next((one for one in reversed(places) if not _C_LIBRARY.fullmatch(one.module)), None)
    if inner is None:
        return Activity.COMPUTING
    if _OPENMP.fullmatch(inner.module):
        # Libraries of distributions name only what they export.
        waits = not inner.function or _WAITS.fullmatch(inner.function) is not None
        return Activity.WAITING if waits else Activity.COMPUTING
    return Activity.WAITING if _waits_inside(places) else Activity.COMPUTING


def _enters_mpi(place: Place) -> bool:
    if _MPI.fullmatch(place.module):
        return _MPI_CALL.fullmatch(place.function) is not None
    return _MPI_ENDS.fullmatch(place.function) is not None


def _waits_inside(places: Sequence[Place]) -> bool:
    """In a run-time library that is linked statically, or inlined functions of one."""
    for one in reversed(places):
        if _RUNTIME.fullmatch(one.function):
            return _WAITS.fullmatch(one.function) is not None
        if not (_C_LIBRARY.fullmatch(one.module) or _WAITS.fullmatch(one.function)):
            return False
    return False


def shown(places: Sequence[Place]) -> tuple[Place, ...]:
    """The places of the program and its libraries, outermost first.

    Without assay's own, those that begin a program or a thread, and those of Python's interpreter
    between functions of Python: its time belongs to these functions.
    """
    found = [one for one in places if not _OWN.fullmatch(one.module)]
    first = 0
    while first < len(found) - 1 and (
        _C_LIBRARY.fullmatch(found[first].module) or found[first].function in _STARTS
    ):
        first += 1
    found = found[first:]
    if any(one.module == PYTHON for one in found):
        found = [
            one for one in found if not _INTERPRETER.fullmatch(one.module) or one.module == PYTHON
        ]
    return tuple(found)
