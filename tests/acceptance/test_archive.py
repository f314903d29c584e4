"""Archives of acceptances: what they hold, and that every change of one is found."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives import (
    CONTRACT,
    Files,
    bundled,
    files_in,
    other_tar,
    packed,
    plain_tar,
    restated,
    rewritten,
    stored_run,
    written_contract,
)
from assay.acceptance.archive import stream, unpacking
from assay.acceptance.archive.entries import DamagedArchive, header, parse_header
from assay.acceptance.archive.layout import ABOUT, FINDINGS, SUMS, sha256_of
from assay.acceptance.archive.unpacking import unpacked_archive
from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.report.acceptance.verify import VerifiedArchive, verify

NAMES = st.text(st.sampled_from("ab/._-é"), min_size=1, max_size=240)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of two runs, beside a third that was not judged."""
    folder = tmp_path_factory.mktemp("archive")
    runs = [stored_run(folder / "runs", seed=seed) for seed in range(3)]
    return bundled(folder, *runs[:2])


def whats(found: VerifiedArchive) -> str:
    return "\n".join(each.what for each in found.differences)


def checked(path: Path) -> VerifiedArchive:
    return verify(path, None, None)


def named(archive: Path) -> list[str]:
    return checked(archive).judged


def test_an_archive_holds_everything_and_verifies(archive: Path) -> None:
    found = checked(archive)
    assert (found.verified, found.outcome, len(found.judged)) == (True, "undecided", 2)
    assert found.signature.state == "unsigned"
    files = files_in(archive)
    assert files["contract.toml"].decode() == CONTRACT
    one = f"runs/{found.judged[0]}"
    assert {f"{one}/seal.json", f"{one}/previous.json", f"{one}/manifest.json"} < files.keys()
    assert sum(name.startswith(f"{one}/raw/") for name in files) == 6
    listed = dict(line.split("  ")[::-1] for line in files[SUMS].decode().splitlines())
    assert listed == {n: sha256_of(c) for n, c in files.items() if n != SUMS}
    assert found.digest == sha256_of(files[SUMS])
    with tarfile.open(archive) as tar:
        assert {(e.mtime, e.uid, e.mode, e.isfile()) for e in tar} == {(0, 0, 0o644, True)}


def test_the_same_input_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    """Also from another folder, at another time."""
    store = archive.parent / "runs"
    again = tmp_path / "elsewhere"
    shutil.copytree(store, again)
    runs = [RunDirectory(again / name) for name in named(archive)]
    assert bundled(tmp_path, *runs).read_bytes() == archive.read_bytes()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_found_or_changes_nothing(archive: Path, data: st.DataObject) -> None:
    """A compressed byte may have no effect on the content: only then the archive verifies."""
    content = bytearray(archive.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    changed = archive.with_name("changed.tar.gz")
    changed.write_bytes(content)
    try:
        found = checked(changed)
    except AssayError as error:
        assert error.what.endswith(".")
        assert isinstance(error, DamagedArchive) or place < 10
        return
    if found.verified:
        assert plain_tar(changed) == plain_tar(archive)
    else:
        assert all(each.what for each in found.differences)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_changed_byte_of_the_content_is_found(archive: Path, data: st.DataObject) -> None:
    """The compression is right again, so that no checksum of gzip helps."""
    content = bytearray(plain_tar(archive))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    changed = archive.with_name("changed.tar.gz")
    changed.write_bytes(packed(bytes(content)))
    try:
        found = checked(changed)
    except DamagedArchive:
        return
    assert not found.verified
    assert found.differences[0].kind == "file"


@pytest.mark.long
def test_each_byte_of_the_content_is_covered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every one, by its form or by its digest; without judging the runs again."""
    memory = Path("/dev/shm")  # thousands of folders come and go
    if memory.is_dir():
        monkeypatch.setattr("tempfile.tempdir", str(memory))
    content = plain_tar(bundled(tmp_path, stored_run(tmp_path / "runs", launches=1)))
    changed = tmp_path / "changed.tar.gz"
    for place in range(len(content)):
        one = bytearray(content)
        one[place] ^= 1
        changed.write_bytes(packed(bytes(one)))
        try:
            with unpacked_archive(changed) as found:
                assert found.listed != found.found, place
        except DamagedArchive:
            continue


def left_out(files: Files, run: str) -> None:
    for name in [each for each in files if each.startswith(f"runs/{run}/")]:
        del files[name]


def test_a_run_left_out_is_named(archive: Path) -> None:
    run = named(archive)[0]
    found = checked(rewritten(archive, lambda files: left_out(files, run)))
    assert not found.verified
    assert f"Run {run} was left out." in whats(found)
    assert "runs is a list of 2 in findings.json, and a list of 1 by the records." in whats(found)


def test_a_file_left_out_added_or_changed_without_new_digests_is_named(archive: Path) -> None:
    files = files_in(archive)
    run = named(archive)[0]
    stream_name = next(n for n in files if n.startswith(f"runs/{run}/raw/"))
    path = archive.with_name("changed.tar.gz")
    for change, what in (
        ({stream_name: None}, f"{stream_name} of run {run} was left out."),
        ({stream_name: b"{}\n"}, f"{stream_name} of run {run} was changed."),
        ({f"{stream_name}x": b"{}"}, f"{stream_name}x of run {run} was added."),
    ):
        new = {n: c for n, c in sorted({**files, **change}.items()) if c is not None and n != SUMS}
        path.write_bytes(packed({SUMS: files[SUMS], **new}))
        found = checked(path)
        assert what in whats(found)
        assert {(e.file, e.run) for e in found.differences} >= {(what.split()[0], run)}


def test_an_added_run_is_named(archive: Path) -> None:
    def add(files: Files) -> None:
        for name in [each for each in files if each.startswith(f"runs/{run}/")]:
            files[name.replace(run, "added-run")] = files[name]

    run = named(archive)[0]
    found = checked(rewritten(archive, add))
    assert "belongs to no judged run: it was added." in whats(found)
    assert "added-run" in {each.run for each in found.differences}


def edited(files: Files, name: str, old: bytes, new: bytes) -> None:
    assert old in files[name]
    files[name] = files[name].replace(old, new, 1)


def test_edited_findings_differ_from_the_records(archive: Path) -> None:
    def accept(files: Files) -> None:
        edited(files, FINDINGS, b'"outcome": "undecided"', b'"outcome": "accepted"')

    found = checked(rewritten(archive, accept))
    assert whats(found) == (
        "outcome is 'accepted' in findings.json, and 'undecided' by the records."
    )
    assert found.outcome == "undecided"


def test_the_last_digit_of_a_number_counts(archive: Path) -> None:
    value = json.loads(files_in(archive)[FINDINGS])["commitments"][0]["value"]
    other = msgspec.json.encode(value + 2.0**-62)
    assert other != msgspec.json.encode(value)
    found = checked(
        rewritten(archive, lambda f: edited(f, FINDINGS, msgspec.json.encode(value), other))
    )
    assert f"commitments[0].value is {other.decode()}" in whats(found)


def faster(files: Files, run: str) -> str:
    """Halve the times of a launch; returns its stream."""
    name = next(each for each in files if each.startswith(f"runs/{run}/raw/"))
    record = files[name]
    start = record.index(b'"values":[') + len(b'"values":[')
    end = record.index(b"]", start)
    halves = [float(each) / 2.0 for each in record[start:end].split(b",")]
    files[name] = record[:start] + msgspec.json.encode(halves)[1:-1] + record[end:]
    return name


def test_an_edited_stream_is_not_as_sealed_and_gives_other_numbers(archive: Path) -> None:
    run = named(archive)[0]
    changed: list[str] = []
    found = checked(rewritten(archive, lambda files: changed.append(faster(files, run))))
    assert f"{changed[0].removeprefix(f'runs/{run}/')} of run {run} isn't as it was sealed." in (
        whats(found)
    )
    assert f"The files of run {run} aren't those that were judged." in whats(found)
    assert {"run", "store", "number"} <= {each.kind for each in found.differences}


def test_a_stream_edited_with_its_seal_gives_other_numbers(archive: Path, tmp_path: Path) -> None:
    """Also where the seal and each list are made to fit."""
    run = named(archive)[0]

    def forge(files: Files) -> None:
        faster(files, run)
        for name, content in files.items():
            if name.startswith(f"runs/{run}/"):
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        directory = RunDirectory(tmp_path / "runs" / run)
        summary = directory.summary()
        directory.seal(summary)
        files[f"runs/{run}/seal.json"] = (directory.path / "seal.json").read_bytes()
        restated(files, lambda about: about)

    found = checked(rewritten(archive, forge))
    kinds = {each.kind for each in found.differences}
    # The next run recorded the seal, which leaves a gap that the archive doesn't state.
    assert kinds == {"number", "store"}
    assert "commitments[0].value" in whats(found)


def test_a_run_removed_from_every_list_leaves_a_gap(archive: Path) -> None:
    """The next run names it, and its own seal covers this."""
    first, second = named(archive)

    def hide(files: Files) -> None:
        left_out(files, first)
        restated(
            files,
            lambda about: msgspec.structs.replace(
                about,
                runs=[each for each in about.runs if each.name != first],
                store=[each for each in about.store if each.name != first],
            ),
        )

    found = checked(rewritten(archive, hide))
    assert "The list of runs has other gaps than the archive states." in whats(found)
    assert second in found.judged


def test_an_archive_about_another_contract_is_named(archive: Path, tmp_path: Path) -> None:
    assert verify(archive, written_contract(tmp_path), None).verified
    other = written_contract(tmp_path, CONTRACT.replace("1 ms", "2 ms"))
    found = verify(archive, other, None)
    assert [each.kind for each in found.differences] == ["contract"]
    assert "The archive is about another contract" in whats(found)

    def exchange(files: Files) -> None:
        files["contract.toml"] = other.read_bytes()

    found = checked(rewritten(archive, exchange))
    assert "contract.toml isn't the contract that was judged." in whats(found)
    assert "digest" in whats(found)


def test_a_changed_run_is_not_archived(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "runs")
    (run.path / "launches.jsonl").write_bytes(b"{}\n")
    with pytest.raises(AssayError, match=r"isn't as it was sealed: launches\.jsonl"):
        bundled(tmp_path, run)
    assert not (tmp_path / "archive.tar.gz").exists()


def test_a_run_that_changes_meanwhile_is_not_archived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unfinished run may still be measured."""
    run = stored_run(tmp_path / "runs", sealed=False)

    def later(*_: object) -> list[str]:
        with (run.path / "launches.jsonl").open("ab") as file:
            file.write(b"{}\n")
        return []

    monkeypatch.setattr("assay.report.acceptance.judging.attempts_of", later)
    with pytest.raises(AssayError, match="changed while the archive was written"):
        bundled(tmp_path, run)
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "contract.toml"}


def test_an_unfinished_run_is_archived_as_unfinished(tmp_path: Path) -> None:
    archive = bundled(tmp_path, stored_run(tmp_path / "runs", sealed=False))
    assert json.loads(files_in(archive)[ABOUT])["runs"][0]["complete"] is False
    assert checked(archive).verified


def link(kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo("runs/x")
    entry.type, entry.linkname = kind, "/etc/passwd"
    return entry


@pytest.mark.parametrize(
    ("tar", "what"),
    [
        (other_tar(link(tarfile.SYMTYPE)), "'runs/x' is a symbolic link"),
        (other_tar(link(tarfile.LNKTYPE)), "'runs/x' is a hard link"),
        (other_tar(link(tarfile.CHRTYPE)), "'runs/x' is a device"),
        (other_tar(link(tarfile.FIFOTYPE)), "'runs/x' is a named pipe"),
        (other_tar(link(tarfile.DIRTYPE)), "'runs/x/' is a folder"),
        (other_tar(tarfile.TarInfo("../x")), "its name leads out of the archive"),
        (other_tar(tarfile.TarInfo("/etc/x")), "its name leads out of the archive"),
        (other_tar(tarfile.TarInfo("a/./x")), "its name leads out of the archive"),
        (other_tar(tarfile.TarInfo("a\nb")), "its name has characters that aren't allowed"),
        (b"", "ends too early"),
        (bytes(1024), f"has no {SUMS}"),
        (bytes(1536), "has bytes after its end"),
        (b"x" * 1024, "its size is impossible"),
        (other_tar(tarfile.TarInfo("a")).replace(b"ustar", b"USTAR"), "isn't as assay writes it"),
    ],
)
def test_what_no_archive_has_is_refused(tmp_path: Path, tar: bytes, what: str) -> None:
    """Nothing is written outside the temporary folder, which needs no test of each path: names
    that lead out of it are refused before anything is written."""
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed(tar))
    with pytest.raises(DamagedArchive, match=what) as caught:
        checked(path)
    assert caught.value.status == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda files: {n: files[n] for n in [ABOUT, *files]}, f"'{SUMS}' isn't at the beginning"),
        (lambda files: dict(reversed(files.items())), "isn't in its place"),
        (lambda files: {**files, "runs": b""}, "both a file and a folder"),
        (lambda files: {**files, "SHA256SUM": b""}, "isn't in its place"),
    ],
)
def test_files_in_another_order_are_refused(
    archive: Path, change: Callable[[Files], Files], what: str
) -> None:
    path = archive.with_name("changed.tar.gz")
    files = change(files_in(archive))
    if "both" in what:
        files = {SUMS: files.pop(SUMS), **dict(sorted(files.items()))}
    path.write_bytes(packed(files))
    with pytest.raises(DamagedArchive, match=what):
        checked(path)


@pytest.mark.parametrize("cut", [0, 5, 9, 10, 11, 400, -9, -8, -4, -1])
def test_a_cut_archive_is_refused(archive: Path, cut: int) -> None:
    path = archive.with_name("changed.tar.gz")
    path.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(AssayError) as caught:
        checked(path)
    assert caught.value.status == (2 if 0 <= cut < 10 else 1)


def test_bytes_after_the_end_are_refused(archive: Path) -> None:
    path = archive.with_name("changed.tar.gz")
    path.write_bytes(archive.read_bytes() + b"\0")
    with pytest.raises(DamagedArchive, match="bytes follow its end"):
        checked(path)


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_FREE", 1 << 20)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed({"runs/x": bytes(8 << 20)}))
    with pytest.raises(DamagedArchive, match="unpacks to more than its size permits"):
        checked(path)
    monkeypatch.setattr(stream, "MOST_BYTES", 1 << 12)
    path.write_bytes(packed({"runs/x": bytes(1 << 13)}))
    with pytest.raises(DamagedArchive, match="unpacks to more than its size permits"):
        checked(path)
    monkeypatch.undo()
    monkeypatch.setattr(unpacking, "_MOST_FILES", 3)
    path.write_bytes(packed({f"runs/{k}": b"" for k in range(4)}))
    with pytest.raises(DamagedArchive, match="more than 3 files"):
        checked(path)


def test_names_in_the_lists_lead_nowhere(archive: Path, tmp_path: Path) -> None:
    """A run's name in archive.json is a path that somebody else chose."""
    (tmp_path / "secret").mkdir()
    shutil.copytree(archive.parent / "runs" / named(archive)[0], tmp_path / "secret" / "run")

    def lead_out(files: Files) -> None:
        about = json.loads(files[ABOUT])
        about["runs"][0]["name"] = f"../../../{'../' * 8}{tmp_path}/secret/run"
        files[ABOUT] = json.dumps(about).encode()

    found = checked(rewritten(archive, lead_out))
    assert "was left out" in whats(found)
    assert "/secret/run was left out." in whats(found)
    assert "is a list of 2 in findings.json, and a list of 1 by the records." in whats(found)


def test_another_schema_is_named(archive: Path) -> None:
    def later(files: Files) -> None:
        edited(files, ABOUT, b'"schema": 1,\n  "assay"', b'"schema": 2,\n  "assay"')

    with pytest.raises(AssayError, match="schema version 2; this assay reads 1") as caught:
        checked(rewritten(archive, later))
    assert caught.value.status == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 5000, b"null", b'{"schema": "x"}'])
@pytest.mark.parametrize("name", [ABOUT, FINDINGS, "contract.toml"])
def test_foreign_content_is_a_sentence(archive: Path, name: str, content: bytes) -> None:
    def exchange(files: Files) -> None:
        files[name] = content

    try:
        found = checked(rewritten(archive, exchange))
    except AssayError as error:
        assert "isn't as assay writes it" in error.what
    else:
        assert not found.verified


def test_another_version_is_said(archive: Path) -> None:
    def older(files: Files) -> None:
        about = json.loads(files[ABOUT])
        about["assay"], about["versions"]["numpy"] = "0.9.0", "1.0"
        files[ABOUT] = json.dumps(about).encode()

    found = checked(rewritten(archive, older))
    assert found.verified
    assert "assay 0.9.0 made the archive" in " ".join(found.notes)
    assert "numpy 1.0 there" in " ".join(found.notes)


@given(name=NAMES, size=st.integers(0, 8**11 - 1))
def test_a_header_is_read_as_it_was_written(name: str, size: int) -> None:
    try:
        block = header(name, size)
    except ValueError:
        return
    assert parse_header(block) == (name, size)
    info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    assert (info.name, info.size, info.isreg()) == (name, size, True)


def test_results_are_plain_data(archive: Path) -> None:
    found = json.loads(msgspec.json.encode(checked(archive)))
    assert found.keys() == {each.name for each in dataclasses.fields(VerifiedArchive)}
