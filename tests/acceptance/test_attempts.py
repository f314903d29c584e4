"""Attempts at a contract: runs that were not judged, runs that are gone, runs that changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from acceptance_runs import BEGIN
from archives import bundled, files_in, stored_run, written_contract
from assay.acceptance.archive.layout import ABOUT, FINDINGS
from assay.acceptance.reading.contracts import read_contract
from assay.records.chain.previous import PREVIOUS, newest_of, read_previous
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.report.acceptance.judging import judge
from assay.report.acceptance.verify import verify
from assay.report.subject import build_subject
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.subjects.acceptance.subject import SUBJECT
from records_builder import make_cell, make_plan


def found_of(folder: Path, *runs: RunDirectory) -> AcceptanceFindings:
    contract = read_contract(written_contract(folder))
    return judge(contract, folder, [str(run.path) for run in runs]).found


def test_all_attempts_are_listed_with_their_medians(tmp_path: Path) -> None:
    """Aborted and damaged runs, too; not those of other cells or other machines."""
    store = tmp_path / "runs"
    best = stored_run(store, 0.9e-3, utc=BEGIN + 200.0)
    worse = stored_run(store, 1.2e-3, utc=BEGIN + 100.0)
    aborted = stored_run(store, 1.1e-3, 2, sealed=False, utc=BEGIN)
    damaged = stored_run(store)
    (damaged.path / "manifest.json").write_bytes(b"x")
    (damaged.path / "seal.json").unlink()
    stored_run(store, cells=[make_cell("network.barrier")])
    create_run(
        store, plan=make_plan([make_cell("network.pingpong", bytes=8)]), system_name="other",
        system={"os": {"hostname": "other"}}, toolchains={"fake": {}}, command=["assay"],
    )  # fmt: skip
    found = found_of(tmp_path, best)
    assert [(each.name, each.state, each.judged) for each in found.attempts] == [
        (damaged.name, "damaged", False),
        (aborted.name, "unfinished", False),
        (worse.name, "complete", False),
        (best.name, "complete", True),
    ]
    medians = [each.cells[0].median for each in found.attempts[1:]]
    assert medians == pytest.approx([1.1e-3, 1.2e-3, 0.9e-3])
    assert [each.cells[0].launches for each in found.attempts[1:]] == [2, 6, 6]
    assert found.attempts[0].problem != ""
    caveats = " ".join(SUBJECT.answer(found).caveats)
    assert "3 runs of this machine measured cells of the contract and were not judged" in caveats
    assert f"{aborted.name} (unfinished)" in caveats
    report = build_subject(SUBJECT, found)
    (table,) = [each for each in report.provenance if each.id == "acceptance-attempts"]
    assert [row[0].text for row in table.rows] == [each.name for each in found.attempts]


def test_without_other_attempts_nothing_is_said(tmp_path: Path) -> None:
    found = found_of(tmp_path, stored_run(tmp_path / "runs"))
    assert (len(found.attempts), found.gaps) == (1, [])
    assert "not judged" not in " ".join(SUBJECT.answer(found).caveats)
    assert len(build_subject(SUBJECT, found).provenance) == 1


def test_the_archive_states_the_store(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    best, aborted = stored_run(store), stored_run(store, 1.1e-3, 2, sealed=False)
    other = stored_run(store, cells=[make_cell("network.barrier")])
    archive = bundled(tmp_path, best)
    listed = {each["name"]: each for each in json.loads(files_in(archive)[ABOUT])["store"]}
    assert listed.keys() == {best.name, aborted.name, other.name}
    assert [listed[run.name]["attempt"] for run in (best, aborted, other)] == [True, True, False]
    assert listed[aborted.name]["state"] == "unfinished"
    assert listed[aborted.name]["digest"] != ""
    found = verify(archive, None, None)
    assert (found.verified, found.not_judged) == (True, [aborted.name])
    assert json.loads(files_in(archive)[FINDINGS])["attempts"][1]["cells"][0]["median"] > 1e-3


def test_a_removed_run_leaves_its_name(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    runs = [stored_run(store, seed=seed) for seed in range(5)]
    assert [read_previous(run.path).number for run in runs] == [1, 2, 3, 4, 5]  # type: ignore[union-attr]
    shutil.rmtree(runs[1].path)
    (gap,) = found_of(tmp_path, runs[4]).gaps
    assert gap == (
        f"Run {runs[1].name} is missing: it was the newest of its store when run {runs[2].name} "
        "began."
    )
    shutil.rmtree(runs[2].path)
    first, further = found_of(tmp_path, runs[4]).gaps
    assert f"Run {runs[2].name} is missing" in first
    assert further == "The numbers of the runs show that at least 1 further run is missing."
    # What no later run has recorded leaves no trace.
    shutil.rmtree(runs[4].path)
    assert len(found_of(tmp_path, runs[0]).gaps) == 2
    assert "is missing" in " ".join(SUBJECT.answer(found_of(tmp_path, runs[0])).caveats)
    archive = bundled(tmp_path, runs[0])
    assert verify(archive, None, None).notes[0] == first


def test_a_run_that_changed_after_its_successor_began_is_named(tmp_path: Path) -> None:
    store = tmp_path / "runs"
    one, other = stored_run(store), stored_run(store, seed=9)
    (one.path / "raw" / "more.jsonl").write_bytes(b"")
    summary = one.summary()
    (one.path / "seal.json").unlink()
    one.seal(summary)
    assert found_of(tmp_path, other).gaps == [
        f"File seal.json of run {one.name} changed after run {other.name} had begun."
    ]


def test_the_chain_needs_no_order_of_names(tmp_path: Path) -> None:
    """A clock that was ahead gave a run a name that stays the newest."""

    def begun(name: str) -> RunDirectory:
        return create_run(
            tmp_path, plan=make_plan([make_cell()]), system_name="box", system={}, toolchains={},
            command=["assay"], name=name,
        )  # fmt: skip

    names = ["2030", "2020", "2021", "2022"]
    runs = [begun(name) for name in names]
    chain = [read_previous(run.path) for run in runs]
    assert [each.run for each in chain if each] == [None, "2030", "2020", "2021"]
    # A run of a version without the file has no number; the next one follows it.
    for run in runs:
        (run.path / PREVIOUS).unlink()
    assert (newest_of(tmp_path).run, newest_of(tmp_path).number) == ("2030", 2)
    assert read_previous(runs[0].path) is None


def test_a_member_of_a_group_has_no_chain(tmp_path: Path) -> None:
    group = tmp_path / "group"
    (group / "members").mkdir(parents=True)
    (group / "request.json").write_bytes(b"{}")
    run = create_run(
        group / "members", plan=make_plan([make_cell()]), system_name="box", system={},
        toolchains={}, command=["assay"], name="00000",
    )  # fmt: skip
    assert not (run.path / PREVIOUS).exists()


def test_the_seal_covers_the_chain(tmp_path: Path) -> None:
    run = stored_run(tmp_path)
    previous = read_previous(run.path)
    assert previous is not None
    changed = msgspec.structs.replace(previous, number=7)
    (run.path / PREVIOUS).write_bytes(msgspec.json.encode(changed))
    assert run.broken_seal() == [PREVIOUS]
