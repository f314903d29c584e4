"""Files of samples that are whole, cut or damaged, and the names of their addresses."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.errors import AssayError
from assay.trace.samples.activities import activity_of, shown
from assay.trace.samples.files import read_process
from assay.trace.samples.inlined import inlined_lines
from assay.trace.samples.mapped import RUN_TIME_CODE, MappedAddress, read_map
from assay.trace.samples.model import Activity, Place
from assay.trace.samples.names_file import NAMES_FILE, find_names, read_names, sampled_processes
from assay.trace.samples.reading import read_samples

MAP = (
    "1000-3000 r-xp 00000400 fe:00 7    /opt/a program\n"
    "5000-6000 r-xp 00000000 00:00 0\n"
    "7000-8000 r-xp 00000000 00:00 0    [vdso]\n"
    "not a line\n"
)
HEADER = {
    "type": "samples", "version": 1, "process": 5, "parent": 4, "host": "n1", "period": 10_000_000,
    "signal": 63, "begin": 1_000_000_000, "begin_wall": 2_000_000_000, "command": "./a",
}  # fmt: skip


def _block(kind: bytes, payload: bytes) -> bytes:
    head, value = kind, len(payload)
    while value > 0x7F:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    total = 0x811C9DC5
    for byte in payload:
        total = (total ^ byte) * 0x01000193 & 0xFFFFFFFF
    return head + bytes([value]) + struct.pack("<I", total) + payload


def _stack(number: int, *addresses: int, cut: bool = False) -> bytes:
    return struct.pack(f"<II{len(addresses)}Q", number, len(addresses) | cut << 31, *addresses)


def _sample(time: int, stack: int, thread: int, inside: int) -> bytes:
    return struct.pack("<QII", time, stack, thread | inside << 24)


def _metadata(*records: dict[str, object]) -> bytes:
    return _block(b"M", b"".join(msgspec.json.encode(one) + b"\n" for one in records))


BODY = [
    _metadata(HEADER, {"type": "clock", "clock": "cpu-clock"}),
    _block(b"P", MAP.encode()),
    _block(b"K", _stack(0, 0x1500, 0x5100) + _stack(1, 0x2500, 0x5100, cut=True)),
    _block(b"S", _sample(1_010_000_000, 0, 0, 0) + _sample(1_020_000_000, 1, 1, 1)),
    _block(b"J", b"5000 200 py::solve:/home/a.py\n"),
    _metadata(
        {"type": "thread", "number": 0, "id": 5, "name": "a", "cpu": 40_000_000, "samples": 1,
         "lost": 3},
        {"type": "end", "ended": "exit", "end": 1_030_000_000, "cost": 20_000},
    ),
]  # fmt: skip


def _written(folder: Path, *parts: bytes) -> Path:
    path = folder / "process-n1-5.samples"
    path.write_bytes(b"assay-samples 1\n" + b"".join(parts))
    return path


def test_a_whole_file(tmp_path: Path) -> None:
    found = read_process(_written(tmp_path, *BODY))
    assert found.times.tolist() == [1_010_000_000, 1_020_000_000]
    assert found.thread.tolist() == [0, 1] and found.inside.tolist() == [False, True]
    assert [stack.cut for stack in found.stacks] == [False, True]
    assert found.end is not None and found.end.cost == 20_000


def test_samples_of_a_program_have_names_times_and_doubts(tmp_path: Path) -> None:
    _written(tmp_path, *BODY)
    samples = read_samples(tmp_path)
    assert samples is not None
    assert samples.period == pytest.approx(0.01) and samples.cost == pytest.approx(2e-5)
    first, second = samples.threads
    assert first.times.tolist() == pytest.approx([0.01])
    assert (first.name, first.lost, first.cpu_time) == ("a", 3, pytest.approx(0.04))
    assert second.activities.tolist() == [Activity.MPI]
    places = [samples.places[index] for index in samples.stacks[int(first.stacks[0])]]
    assert places == [
        Place("solve", "python", "/home/a.py"), Place("", "a program", address=0x900),
    ]  # fmt: skip
    text = " ".join(samples.doubts)
    assert "a program has no names" in text
    assert "1 sample has only the innermost" in text


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_cut_file_has_its_whole_blocks(tmp_path: Path, cut: int) -> None:
    path = _written(tmp_path, *BODY)
    path.write_bytes(path.read_bytes()[:-cut])
    found = read_process(path)
    assert len(found.times) == 2 and found.end is None


def test_damaged_files_are_refused_with_their_place(tmp_path: Path) -> None:
    missing = _block(b"S", _sample(1, 7, 0, 0))
    for parts, what in [
        ([*BODY[:3], missing], "names a stack that is missing"),
        ([_metadata({**HEADER, "version": 9})], "version 9"),
        ([_metadata({"type": "clock", "clock": "x"})], "first record"),
        ([_metadata({"type": "nothing"})], "damaged"),
        ([BODY[0], _block(b"K", _stack(4, 1))], "stack is damaged"),
        ([], "no header"),
    ]:
        path = _written(tmp_path, *parts)
        with pytest.raises(AssayError) as error:
            read_process(path)
        assert what in str(error.value.what) and error.value.where == str(path)
    path.write_bytes(b"something else")
    with pytest.raises(AssayError, match="not a file of samples of this version"):
        read_process(path)


def test_kept_names_are_used_although_the_program_is_gone(tmp_path: Path) -> None:
    _written(tmp_path, *BODY)
    names = find_names(sampled_processes(tmp_path))
    renamed = msgspec.structs.replace(
        names, places=[msgspec.structs.replace(one, function="kept") for one in names.places]
    )
    (tmp_path / NAMES_FILE).write_bytes(msgspec.json.encode(renamed))
    assert read_names(tmp_path) == renamed
    samples = read_samples(tmp_path)
    assert samples is not None and {one.function for one in samples.places} == {"kept"}
    (tmp_path / NAMES_FILE).write_bytes(b"{}")
    with pytest.raises(AssayError, match="damaged"):
        read_samples(tmp_path)


def test_addresses_are_found_in_the_map() -> None:
    found = read_map(MAP)
    assert found.find(0x1500) == MappedAddress("/opt/a program", 0x900)
    assert found.find(0x5010) == MappedAddress(RUN_TIME_CODE, 0x5010)
    assert found.find(0x7010) == MappedAddress("[vdso]", 0x10)
    assert found.find(0x3000) is None and found.find(0) is None


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([Place("main", "a"), Place("solve", "a")], Activity.COMPUTING),
        ([Place("main", "a"), Place("GOMP_parallel", "libgomp.so.1"), Place("", "libgomp.so.1")],
         Activity.WAITING),
        ([Place("main", "a"), Place("GOMP_loop_dynamic_next", "libgomp.so.1")], Activity.COMPUTING),
        ([Place("__kmp_launch_worker", "libomp.so.5"), Place("sched_yield", "libc.so.6")],
         Activity.WAITING),
        ([Place("main", "a"), Place("gomp_team_barrier_wait_end", "a"), Place("do_wait", "a")],
         Activity.WAITING),
        ([Place("main", "a"), Place("nanosleep", "libc.so.6")], Activity.COMPUTING),
        ([Place("", "libc.so.6"), Place("progress", "libopen-pal.so.40")], Activity.MPI),
        ([Place("main", "a"), Place("MPI_Init", "libmpich.so.12"), Place("", "libhwloc.so.15"),
          Place("read", "libc.so.6")], Activity.MPI),
        ([Place("MAIN__", "a"), Place("mpi_cart_create_", "libmpi_mpifh.so.40"),
          Place("PMPI_Cart_create", "libmpi.so.40")], Activity.MPI),
        ([Place("main", "a"), Place("MPI_Finalize", "a"), Place("yield", "a")], Activity.MPI),
        ([Place("main", "a"), Place("MPI_Exchange", "a"), Place("pack", "a")], Activity.COMPUTING),
        ([Place("main", "a"), Place("solve", "libmpi_solver.so")], Activity.COMPUTING),
    ],
)  # fmt: skip
def test_waiting_is_told_from_computing(places: list[Place], expected: Activity) -> None:
    assert activity_of(places, inside=False) == expected
    assert activity_of(places, inside=True) == Activity.MPI


def test_shown_are_the_places_of_the_program() -> None:
    native = [
        Place("", "libc.so.6"), Place("__libc_start_main", "libc.so.6"), Place("_start", "a"),
        Place("main", "a"), Place("MPI_Send", "libassay-trace.so"), Place("f", "b.so"),
    ]  # fmt: skip
    assert shown(native) == (Place("main", "a"), Place("f", "b.so"))
    python = [
        Place("main", "python3.12"), Place("run", "python"),
        Place("_PyEval", "libpython3.12.so.1.0"), Place("loop", "_umath.so"),
    ]  # fmt: skip
    assert shown(python) == (Place("run", "python"), Place("loop", "_umath.so"))


def test_lines_without_a_tool_are_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert inlined_lines(Path("/bin/sh"), [4096]) == {}


def _counted(*rows: tuple[int, ...]) -> bytes:
    return _block(b"C", b"".join(struct.pack(f"<{len(row)}Q", *row) for row in rows))


def _with_counters(*rows: tuple[int, ...]) -> list[bytes]:
    first = _metadata(
        HEADER,
        {"type": "uncounted", "event": "cycles", "error": 2, "problem": "No such file"},
        {"type": "counter", "event": "page-faults", "user": False},
        {"type": "counter", "event": "task-clock", "user": False},
    )
    return [first, *BODY[1:3], _counted(*rows), *BODY[3:]]


def test_counted_events_are_scaled_to_the_time_for_which_they_were_asked_for(
    tmp_path: Path,
) -> None:
    _written(tmp_path, *_with_counters((8, 2, 100, 7), (8, 0, 0, 0)))
    samples = read_samples(tmp_path)
    assert samples is not None and samples.counters == ("page-faults", "task-clock")
    first, second = samples.threads
    assert first.events.tolist() == [[400.0, 28.0]] and first.counted == 0.25
    assert np.isnan(second.events).all() and second.counted == 0.0
    (doubt,) = [one for one in samples.doubts if "counters of" in one]
    assert doubt.startswith("No counters of cycles: this machine has no such hardware counter")


def test_samples_without_their_counters_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="no counters"):
        read_process(_written(tmp_path, *_with_counters((8, 2, 100, 7))))


def _family(folder: Path, **of: tuple[int, int, int, int]) -> None:
    """Files of processes: number, parent, ancestor by fork, and begin (s)."""
    for name, (process, parent, forked, begin) in of.items():
        header = HEADER | {
            "process": process, "parent": parent, "forked": forked, "begin": begin * 10**9,
            "begin_wall": (begin + 1) * 10**9,
        }  # fmt: skip
        content = b"assay-samples 1\n" + b"".join([_metadata(header), *BODY[1:]])
        (folder / f"process-n1-{name}.samples").write_bytes(content)


def test_forked_processes_have_the_rank_of_their_ancestor(tmp_path: Path) -> None:
    # The number of the first program is used again. The parent of one child has no file.
    _family(
        tmp_path,
        a=(5, 1, 0, 1),
        b=(6, 5, 5, 2),
        c=(7, 99, 5, 3),
        d=(5, 1, 0, 4),
        e=(8, 5, 5, 5),
    )
    samples = read_samples(tmp_path)
    assert samples is not None
    found = {(one.process, one.rank, one.thread, one.parent) for one in samples.threads}
    assert found == {
        (5, 0, 0, 0), (5, 0, 1, 0), (6, 0, 2, 5), (6, 0, 3, 5), (7, 0, 4, 99), (7, 0, 5, 99),
        (5, 3, 0, 0), (5, 3, 1, 0), (8, 3, 2, 5), (8, 3, 3, 5),
    }  # fmt: skip


def test_code_that_was_compiled_before_the_fork_has_the_names_of_the_parent(
    tmp_path: Path,
) -> None:
    _family(tmp_path, a=(5, 1, 0, 1))
    header = HEADER | {"process": 6, "parent": 5, "forked": 5, "begin": 2 * 10**9}
    content = b"assay-samples 1\n" + b"".join([_metadata(header), *BODY[1:4], BODY[5]])
    (tmp_path / "process-n1-b.samples").write_bytes(content)
    names = find_names(sampled_processes(tmp_path))
    stacks = [names.stacks[at] for at in names.processes["process-n1-b.samples"]]
    assert {names.places[stack[0]].function for stack in stacks} == {"solve"}
