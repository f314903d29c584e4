"""Run directories: created, found, locked, sealed; full and read-only file systems."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import polars as pl
import pytest

from assay.errors import AssayError
from assay.records.creation import run_stem
from assay.records.directory import RunDirectory, find_run, list_runs
from assay.records.files import OUT, OUTPUT, append_line, cannot_write, write_atomically
from assay.records.model import system_in_name, system_name
from assay.records.reading import read_run
from assay.records.tables import measurement_table, write_tables
from records_builder import make_cell, make_launch, make_plan, make_record, make_run, make_stream

CELLS = [make_cell("network.pingpong", bytes=size) for size in (0, 8)]


@pytest.fixture
def small_filesystem(tmp_path: Path):
    """A file system of 64 KiB; read-only with the word ``remount``. Needs root."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("mounting a small file system needs root")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_run_reads_back_as_written(tmp_path: Path) -> None:
    plan = make_plan(CELLS, precision=0.02)
    run = make_run(tmp_path / "runs", plan)
    records = [make_record(cell, r, [1.0, 2.0]) for cell in CELLS for r in range(2)]
    (run.raw / "0000-a.jsonl").write_bytes(make_stream("0000-a", records))
    run.append_launch(make_launch("0000-a"))
    data = read_run(run.path)
    assert data.manifest.plan == plan
    assert [m.record for m in data.measurements] == records
    assert [m.replicate for m in data.measurements] == [0, 1, 0, 1]
    assert data.launches == (make_launch("0000-a"),)
    assert not data.complete


def test_a_replicate_counts_once_and_the_first_counts(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    first, second = make_record(CELLS[0], 0, [1.0]), make_record(CELLS[0], 0, [9.0])
    (run.raw / "0001-b.jsonl").write_bytes(make_stream("0001-b", [second]))
    (run.raw / "0000-a.jsonl").write_bytes(make_stream("0000-a", [first]))
    assert [m.record for m in read_run(run.path).measurements] == [first]


def test_interrupted_and_foreign_measurements_do_not_count(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    interrupted = msgspec.structs.replace(make_record(CELLS[0], 0, [1.0]), status="interrupted")
    foreign = make_record(make_cell("npb.ep"), 0, [1.0])
    (run.raw / "0000-a.jsonl").write_bytes(make_stream("0000-a", [interrupted, foreign]))
    assert read_run(run.path).measurements == ()


def test_two_runs_of_one_second_get_two_names(tmp_path: Path) -> None:
    plan = make_plan(CELLS)
    names: list[str] = []
    threads = [
        threading.Thread(target=lambda: names.append(make_run(tmp_path, plan).name))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 8
    assert sorted(run.name for run in list_runs(tmp_path)) == sorted(names)
    assert [p for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_run_is_found_by_part_of_its_name_and_errors_say_the_fix(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="assay run quick"):
        find_run(tmp_path)
    first, second = make_run(tmp_path, make_plan(CELLS)), make_run(tmp_path, make_plan(CELLS))
    assert find_run(tmp_path).name == list_runs(tmp_path)[-1].name
    assert find_run(tmp_path, first.name).path == first.path
    assert find_run(tmp_path, str(second.path)).path == second.path
    with pytest.raises(AssayError, match="2 runs"):
        find_run(tmp_path, "box-test")
    with pytest.raises(AssayError, match="no run 'nothing'"):
        find_run(tmp_path, "nothing")
    list_runs(tmp_path)[-1].seal()
    assert find_run(tmp_path, incomplete=True).path == list_runs(tmp_path)[0].path


def test_the_lock_excludes_others_and_ends_with_its_holder(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    program = (
        "import sys; from pathlib import Path; from assay.records.directory import RunDirectory\n"
        "with RunDirectory(Path(sys.argv[1])).locked():\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(run.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    with pytest.raises(AssayError, match="Another assay"), run.locked():
        pass
    holder.kill()
    holder.wait()
    holder.communicate()
    with run.locked():
        pass


def test_the_seal_shows_what_changed(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    stream = run.raw / "0000-a.jsonl"
    stream.write_bytes(make_stream("0000-a", [make_record(CELLS[0], 0, [1.0])]))
    (run.path / "report.html").write_text("made again at will")
    run.seal()
    assert run.complete
    assert run.broken_seal() == []
    (run.path / "report.html").write_text("changed")
    assert run.broken_seal() == []
    assert RunDirectory(run.path / ".." / run.path.name).broken_seal() == []
    stream.write_bytes(stream.read_bytes().replace(b"1.0", b"0.9"))
    assert run.broken_seal() == ["raw/0000-a.jsonl"]


def test_other_manifest_versions_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    manifest = run.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema": 1', '"schema": 7', 1))
    with pytest.raises(AssayError, match="schema version 7; this assay reads 1"):
        run.manifest()
    manifest.write_text("{")
    with pytest.raises(AssayError, match=r"manifest\.json"):
        run.manifest()


def test_a_partial_launch_line_loses_that_line_only(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    run.append_launch(make_launch("0000-a"))
    with (run.path / "launches.jsonl").open("ab") as stream:
        stream.write(b'{"launch":"0001-b","too')
    run.append_launch(make_launch("0002-c"))
    assert [record.launch for record in run.launches()] == ["0000-a", "0002-c"]


def test_tables_hold_every_sample_once(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan(CELLS))
    record = msgspec.structs.replace(
        make_record(CELLS[0], 0, [5.0, 1.0, 2.0]), warmup=1, covariates={"steal_seconds": 0.25}
    )
    failed = msgspec.structs.replace(
        make_record(CELLS[1], 0, []), status="failed", error="no memory", series=[], verified=None
    )
    (run.raw / "0000-a.jsonl").write_bytes(make_stream("0000-a", [record, failed]))
    write_tables(read_run(run.path))
    measurements = pl.read_parquet(run.path / "measurements.parquet")
    assert measurements["status"].to_list() == ["ok", "failed"]
    assert measurements["covariate.steal_seconds"].to_list() == [0.25, None]
    samples = pl.read_parquet(run.path / "samples.parquet")
    assert samples["value"].to_list() == [5.0, 1.0, 2.0]
    assert samples["warmup"].to_list() == [True, False, False]
    assert samples["measurement"].unique().to_list() == [record.measurement]


def test_an_empty_run_has_tables(tmp_path: Path) -> None:
    data = read_run(make_run(tmp_path, make_plan(CELLS)).path)
    assert measurement_table(data).height == 0
    write_tables(data)
    assert pl.read_parquet(data.path / "samples.parquet").height == 0


def test_a_full_disk_keeps_existing_files(small_filesystem: Path) -> None:
    run = make_run(small_filesystem, make_plan(CELLS))
    run.append_launch(make_launch("0000-a"))
    manifest = (run.path / "manifest.json").read_bytes()
    with pytest.raises(AssayError, match="No space left on device"):
        write_atomically(run.path / "manifest.json", b"x" * 200_000)
    assert (run.path / "manifest.json").read_bytes() == manifest
    filler = run.path / "filler"
    with pytest.raises(OSError), filler.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(AssayError, match="assay run --resume"):
        for _ in range(100):
            run.append_launch(make_launch("0001-b", error="long " * 100))
    filler.unlink()
    run.append_launch(make_launch("0002-c"))
    assert run.launches()[0] == make_launch("0000-a")
    assert run.launches()[-1] == make_launch("0002-c")


def test_full_disk_while_tables_are_written(small_filesystem: Path) -> None:
    run = make_run(small_filesystem, make_plan(CELLS))
    (run.raw / "0000-a.jsonl").write_bytes(
        make_stream("0000-a", [make_record(CELLS[0], 0, [0.1 * i for i in range(100)])])
    )
    data = read_run(run.path)
    with pytest.raises(OSError), (run.path / "filler").open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    with pytest.raises(AssayError, match="No space left on device"):
        write_tables(data)
    assert not (run.path / "measurements.parquet").exists()
    assert len(read_run(run.path).measurements) == 1


def test_no_root_is_needed_to_see_a_full_device() -> None:
    with pytest.raises(AssayError, match="No space left on device"):
        append_line(Path("/dev/full"), b"{}")


def test_a_read_only_file_system_gives_the_remedy(small_filesystem: Path) -> None:
    run = make_run(small_filesystem, make_plan(CELLS))
    subprocess.run(["mount", "-o", "remount,ro", str(small_filesystem)], check=True)
    with pytest.raises(AssayError, match="Read-only file system") as caught:
        make_run(small_filesystem, make_plan(CELLS))
    assert "--runs DIR" in caught.value.fix
    assert read_run(run.path).measurements == ()


def test_the_remedy_names_the_option_of_the_file(tmp_path: Path) -> None:
    full, forbidden = OSError(errno.ENOSPC, "full"), OSError(errno.EACCES, "forbidden")
    assert "--runs DIR" in (cannot_write(tmp_path, forbidden).fix or "")
    assert "--resume" in (cannot_write(tmp_path, full).fix or "")
    for option in (OUT, OUTPUT):
        for error in (full, forbidden, OSError(errno.EIO, "damaged")):
            fix = cannot_write(tmp_path, error, option).fix or ""
            assert f"ame another place with {option}" in fix
            assert "--runs" not in fix
            assert "--resume" not in fix
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(AssayError, match="Correct the path"):
        write_atomically(file / "below", b"", option=OUT)


@pytest.mark.parametrize("suite", ["quick", "my-own-plan", "a b", "plan-2"])
@pytest.mark.parametrize("system", ["fritz", "fritz-2", "my cluster"])
def test_the_system_is_read_from_any_runs_name(suite: str, system: str) -> None:
    stem = run_stem(1000.0, system, suite)
    written = {"fritz": "fritz", "fritz-2": "fritz_2", "my cluster": "my_cluster"}[system]
    assert [system_in_name(run, suite) for run in (stem, f"{stem}-2")] == [written] * 2
    # In anonymous output names of suites and systems have hyphens.
    assert system_in_name(f"19700101T001640Z-system-1-{suite}", suite) == "system-1"
    assert system_in_name("a run", suite) == ""


def test_a_run_of_a_plan_with_a_hyphen_has_its_systems_name(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(make_plan(CELLS), name="my-own-plan")
    assert system_name(make_run(tmp_path, plan).manifest()) == "box"


def test_a_systems_name_is_stated_else_in_the_runs_name_else_the_hostname(tmp_path: Path) -> None:
    manifest = make_run(tmp_path, make_plan(CELLS)).manifest()
    assert system_name(manifest) == "box"
    suite = manifest.plan.name
    host = {"os": {"hostname": "n001"}}
    member = msgspec.structs.replace(manifest, run="00000", system=host)
    assert system_name(member) == "n001"
    assert system_name(member, f"20260101T000000Z-fritz-{suite}-2") == "fritz"
    assert system_name(msgspec.structs.replace(member, system={})) == "00000"
    stated = msgspec.structs.replace(manifest, system={"name": "my cluster", **host})
    assert system_name(stated) == "my cluster"
    anonymous = msgspec.structs.replace(manifest, run=f"20260101T000000Z-system-1-{suite}")
    assert system_name(anonymous) == "system-1"
    # No part of another name is taken for a system's.
    assert system_name(msgspec.structs.replace(member, run="my-best-run")) == "n001"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_forbidden_directory_gives_the_remedy(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(AssayError, match="--runs DIR"):
        make_run(tmp_path / "runs", make_plan(CELLS))


def test_an_incomplete_run_directory_is_not_a_run(tmp_path: Path) -> None:
    (tmp_path / ".20260101T000000Z-box-test.abc").mkdir()
    (tmp_path / "stray").mkdir()
    assert list_runs(tmp_path) == []
    with pytest.raises(AssayError, match="no run here"):
        RunDirectory(tmp_path / "stray").manifest()
