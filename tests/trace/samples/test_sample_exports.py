"""Samples in the formats of other viewers, read back."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.trace.exports import parse_target
from assay.trace.samples.exports import NAMES, sample_exports, write_samples
from assay.trace.samples.exports.model import SampleExport
from assay.trace.samples.model import Activity, Place, ProgramSamples
from known_samples import PERIOD, place, solver, thread

HOSTILE = Place("</script><img src=x>;\n\x00\udcff", "mod;ule\n", file="/a\tb.c", line=3)
ODD = ProgramSamples(
    PERIOD, "cpu-clock", (HOSTILE, place("plain", 4)), ((), (0,), (0, 1)),
    (thread(0, [0, 1, 2, 2]), thread(1, [], name="\x1b[2J")),
)  # fmt: skip


def names_of(samples: ProgramSamples) -> Counter[tuple[str, ...]]:
    """Number of samples by names of the stack, outermost first."""
    counts: Counter[tuple[str, ...]] = Counter()
    for one in samples.threads:
        for stack in one.stacks:
            places = [samples.places[at] for at in samples.stacks[stack]]
            counts[tuple(p.function or f"{p.module}+{p.address:#x}" for p in places)] += 1
    return counts


def written(name: str, samples: ProgramSamples, folder: Path) -> bytes:
    path = folder / sample_exports()[name].example
    write_samples(samples, sample_exports()[name], path)
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def fields(message: bytes) -> dict[int, list[int | bytes]]:
    """The fields of a protocol buffer by number: varints, and bytes of a length."""
    found: dict[int, list[int | bytes]] = defaultdict(list)
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            found[tag >> 3].append(varint())
        else:
            assert tag & 7 == 2
            length = varint()
            assert at + length <= len(message)
            found[tag >> 3].append(message[at : at + length])
            at += length
    return found


def packed(content: bytes) -> list[int]:
    return [int(value) for value in fields(b"".join(b"\x08" + one for one in _split(content)))[1]]


def _split(content: bytes) -> list[bytes]:
    parts, begin = [], 0
    for at, byte in enumerate(content):
        if byte < 128:
            parts.append(content[begin : at + 1])
            begin = at + 1
    return parts


def test_pprof(tmp_path) -> None:
    samples = solver(ranks=2, samples=200)
    profile = fields(written("pprof", samples, tmp_path))
    strings = [one.decode() for one in profile[6]]
    assert strings[0] == ""
    types = [[strings[int(fields(t)[n][0])] for n in (1, 2)] for t in profile[1]]
    assert types == [["samples", "count"], ["cpu", "nanoseconds"]]
    assert profile[12] == [10_000_000]
    functions = {int(fields(one)[1][0]): fields(one) for one in profile[5]}
    locations = {int(fields(one)[1][0]): fields(one) for one in profile[4]}
    counts: Counter[tuple[str, ...]] = Counter()
    labels: Counter[tuple[str, str]] = Counter()
    for one in profile[2]:
        sample = fields(one)
        number, spent = packed(sample[2][0])
        assert spent == number * 10_000_000
        stack = []
        for location in packed(sample[1][0]):
            line = fields(locations[location][4][0])
            stack.append(strings[int(functions[int(line[1][0])][2][0])])
        counts[tuple(reversed(stack))] += number
        for label in map(fields, sample[3]):
            labels[strings[int(label[1][0])], strings[int(label[2][0])]] += number
    assert counts == names_of(samples)
    total = sum(counts.values())
    assert labels["rank", "0"] + labels["rank", "1"] == total
    mpi = sum(int((one.activities == Activity.MPI).sum()) for one in samples.threads)
    assert labels["activity", "MPI"] == mpi > 0


def test_folded(tmp_path) -> None:
    samples = solver(ranks=2, samples=200)
    counts: Counter[tuple[str, ...]] = Counter()
    for line in written("folded", samples, tmp_path).decode().splitlines():
        stack, _, number = line.rpartition(" ")
        rank, *names = stack.split(";")
        assert rank in ("rank 0", "rank 1")
        counts[tuple(name for name in names if not name.startswith("["))] += int(number)
    assert counts == names_of(samples)


def test_speedscope(tmp_path) -> None:
    samples = solver(ranks=2, samples=200)
    document = json.loads(written("speedscope", samples, tmp_path))
    frames = document["shared"]["frames"]
    counts: Counter[tuple[str, ...]] = Counter()
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == pytest.approx(profile["endValue"])
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            counts[tuple(frames[at]["name"] for at in stack)] += round(weight / PERIOD)
    assert counts == names_of(samples)
    assert frames[2] == {"name": "relax", "file": "/src/relax.c", "line": 88}


def test_firefox(tmp_path) -> None:
    samples = solver(ranks=2, samples=200)
    document = json.loads(written("firefox", samples, tmp_path))
    counts: Counter[tuple[str, ...]] = Counter()
    categories: Counter[str] = Counter()
    for one in document["threads"]:
        for name in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable"):
            table = one[name]
            lengths = {len(column) for column in table.values() if isinstance(column, list)}
            assert lengths == {table["length"]}
        assert one["samples"]["time"] == sorted(one["samples"]["time"])
        strings, stacks = one["stringArray"], one["stackTable"]
        for stack in one["samples"]["stack"]:
            names, at = [], stack
            categories[document["meta"]["categories"][stacks["category"][stack]]["name"]] += 1
            while at is not None:
                frame = stacks["frame"][at]
                names.append(strings[one["funcTable"]["name"][one["frameTable"]["func"][frame]]])
                at = stacks["prefix"][at]
            counts[tuple(reversed(names))] += 1
    assert counts == names_of(samples)
    assert set(categories) == {"Computing", "MPI", "Waiting for threads"}


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_and_empty_threads(tmp_path, name) -> None:
    content = written(name, ODD, tmp_path)
    assert b"\x1b[2J" not in content
    assert b"plain" in content
    if name == "folded":
        lines = content.decode().splitlines()
        assert sorted(int(line.rpartition(" ")[2]) for line in lines) == [1, 1, 2]
        assert all(line.count(";") <= 2 for line in lines)
    elif name != "pprof":
        json.loads(content)
    else:
        assert fields(content)[2]
    empty = ProgramSamples(PERIOD, "cpu-clock", (), (), ())
    (tmp_path / "empty").mkdir()
    written(name, empty, tmp_path / "empty")


def test_the_command_lines_targets() -> None:
    export, path = parse_target("pprof:a/b.pb.gz")
    assert isinstance(export, SampleExport)
    assert path == Path("a/b.pb.gz")
    with pytest.raises(AssayError, match="'pproff' is not a known format"):
        parse_target("pproff:x")
    with pytest.raises(AssayError, match="The file to write is missing"):
        parse_target("folded:")


def test_an_export_that_cannot_be_written_leaves_the_old_one(tmp_path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(AssayError, match="can't be written"):
        write_samples(ODD, sample_exports()["folded"], tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "old"
