"""Reading of profiles: damaged and missing files get one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.errors import AssayError
from assay.subjects.profile.findings import find
from assay.trace.reading import RUN_FILE, read_profile
from profiles import RUN, header, kind, two_ranks, write_profile

MUTATIONS = 3000


def _refusal(folder: Path) -> str:
    with pytest.raises(AssayError) as refused:
        read_profile(folder)
    return str(refused.value)


def test_ranks_are_in_order_and_those_without_a_file_are_named(tmp_path: Path) -> None:
    folder = write_profile(tmp_path, {str(rank): [header(rank, ranks=12)] for rank in (10, 2, 0)})
    (folder / "rank-5.jsonl.part").write_text("{")
    profile = read_profile(folder)
    assert [one.header.rank for one in profile.ranks] == [0, 2, 10]
    assert profile.absent == [1, 3, 4, 5, 6, 7, 8, 9, 11]
    assert profile.cut == ["rank-5.jsonl.part"]


def test_fields_that_are_not_known_are_no_error(tmp_path: Path) -> None:
    folder = write_profile(tmp_path, {"0": [header(0, 1.0, 1, later="x")]})
    assert read_profile(folder).ranks[0].header.wall == 1.0


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        (1, '{"type":"kind","kind":"point","calls":-4,"time":1}', ":2: 'calls' is -4, below 0."),
        (1, '{"type":"kind","kind":"point","calls":1}', ":2: The record is damaged"),
        (1, '{"type":"novel"}', ":2: The record is damaged"),
        (1, '{"type":"kin', ":2: The record is damaged"),
        (2, "", "incomplete: its first record must be 'profile' and its last 'end'"),
        (0, json.dumps(header(0, version=2)), ":1: The file has version 2; this assay reads 1."),
        (0, json.dumps(header(0, wall=-1.0)), ":1: 'wall' is -1.0, below 0."),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_line(
    tmp_path: Path, line: int, text: str, expected: str
) -> None:
    folder = write_profile(tmp_path, {"0": [header(0, ranks=1), kind("point", 1, 1.0)]})
    path = folder / "rank-0.jsonl"
    lines = path.read_text().splitlines()
    lines[line] = text
    path.write_text("\n".join(lines).rstrip("\n") + "\n")
    told = _refusal(folder)
    assert told.startswith(f"{path}") and expected in told


def test_a_folder_without_a_profile_is_refused(tmp_path: Path) -> None:
    assert "This is not the folder of a profile" in _refusal(tmp_path)
    assert "This is not the folder of a profile" in _refusal(tmp_path / "none")
    (tmp_path / RUN_FILE).write_text("{}")
    assert "The file is damaged" in _refusal(tmp_path)
    (tmp_path / RUN_FILE).write_bytes(msgspec.json.encode(msgspec.structs.replace(RUN, schema=9)))
    assert "The profile has schema 9; this assay reads 1." in _refusal(tmp_path)
    (tmp_path / RUN_FILE).write_bytes(msgspec.json.encode(RUN))
    assert "No process of the program wrote a profile." in _refusal(tmp_path)


def test_mutated_files_give_findings_or_one_sentence(tmp_path: Path) -> None:
    folder = two_ranks(tmp_path)
    path = folder / "rank-0.jsonl"
    whole = path.read_bytes()
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(MUTATIONS):
        data = bytearray(whole)
        for at in random.integers(0, len(data), random.integers(1, 4)):
            data[at] = random.choice(list(b'0123456789-.e{}",:\x00\xffn'))
        path.write_bytes(bytes(data[: random.integers(1, len(data) + 1)])
                         if random.random() < 0.2 else bytes(data))  # fmt: skip
        try:
            find(read_profile(folder))
        except AssayError as error:
            assert str(folder) in str(error) or RUN.folder in str(error)
            refused += 1
    assert 0 < refused < MUTATIONS
