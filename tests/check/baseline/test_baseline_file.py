"""The file of a baseline: trusted only if nobody else can have written it."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from assay.check.baseline.file import baseline_path, read_baseline, write_baseline
from assay.errors import AssayError
from check_baselines import baseline, normal_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = baseline_path(tmp_path, "epyc")
    found.parent.mkdir()
    return found


def refused(path: Path, kind: str = "epyc") -> str:
    with pytest.raises(AssayError) as error:
        read_baseline(path, kind)
    assert str(path) in str(error.value)
    return error.value.what


def test_it_reads_what_it_wrote(path: Path) -> None:
    write_baseline(path, baseline(gap=True))
    assert read_baseline(path, "epyc") == baseline(gap=True)
    assert path.stat().st_mode & 0o022 == 0


def test_no_baseline(path: Path) -> None:
    assert refused(path) == "There is no baseline of epyc."


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"schema": 3}', b"[" * 10**5])
def test_a_damaged_one(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert refused(path) == "The baseline is damaged."


def test_every_truncation_is_damaged(path: Path) -> None:
    write_baseline(path, baseline("stream"))
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 97):
        path.write_bytes(whole[:length])
        assert refused(path) == "The baseline is damaged."


def test_another_schema(path: Path) -> None:
    write_baseline(path, msgspec.structs.replace(baseline(), schema="assay-check-baseline-9"))
    assert "'assay-check-baseline-9'" in refused(path)


def test_another_kind(path: Path) -> None:
    write_baseline(path, baseline())
    assert refused(path, "xeon") == "The baseline describes 'epyc' nodes, and this node is 'xeon'."


def test_one_that_others_can_write(path: Path) -> None:
    write_baseline(path, baseline())
    path.chmod(0o666)
    assert "may be written by all users" in refused(path)


def test_a_link_to_one_that_others_can_write(path: Path, tmp_path: Path) -> None:
    write_baseline(tmp_path / "real.json", baseline())
    (tmp_path / "real.json").chmod(0o666)
    path.symlink_to(tmp_path / "real.json")
    assert "may be written by all users" in refused(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fleet": []}, "0 entries"),
        ({"within": list(reversed(normal_table(0.01)))}, "does not increase"),
        ({"hours": [0.0]}, "1 hours"),
        ({"check_scatter": 0.0}, "not positive"),
        ({"gap": -0.1}, "not positive"),
    ],
)
def test_absurd_ones(path: Path, changes: dict[str, object], said: str) -> None:
    write_baseline(path, baseline("stream", changes=changes))
    assert said in refused(path)


def test_numbers_that_are_not_finite(path: Path) -> None:
    write_baseline(path, baseline("stream", changes={"level": math.nan}))
    assert refused(path) == "The baseline is damaged."  # JSON has null in its place


def test_an_older_version_doesnt_replace_a_newer_one(path: Path) -> None:
    write_baseline(path, baseline())
    with pytest.raises(AssayError, match="Version 3 of the baseline"):
        write_baseline(path, baseline())
    write_baseline(path, msgspec.structs.replace(baseline(), version=4))
    assert read_baseline(path, "epyc").version == 4
    path.write_bytes(b"damaged")
    write_baseline(path, baseline())
    assert read_baseline(path, "epyc").version == 3
