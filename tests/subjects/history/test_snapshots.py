"""Snapshots of machines compared: differences, coincidences, alternating values."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from assay.subjects.history.snapshots import difference_text, differences, fact_name, snapshot
from assay.system.files import Tree
from assay.system.processor import detect_processor
from assay.system.surroundings import detect_firmware, detect_mounts
from report_builder import SYSTEM

PLAIN = SYSTEM.to_dict()


def shot(**facts: str) -> dict[str, str]:
    return dict(facts)


def changes_between(
    before: str, between: str, after: str
) -> list[tuple[str | None, str | None, bool]]:
    """One letter per run: the value of its only fact."""
    found = differences(
        *([shot(x=value) if value != "-" else {} for value in part]
          for part in (before, between, after))
    )  # fmt: skip
    return [(d.before, d.after, d.coincides) for d in found]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (("aaa", "", "bbb"), [("a", "b", True)]),
        (("aaa", "aab", "bbb"), [("a", "b", True)]),
        (("aaa", "aba", "bbb"), [("a", "b", False)]),
        (("aba", "", "bbb"), [("a", "b", False)]),
        (("aaa", "", "bab"), [("a", "b", False)]),
        (("aaa", "", "bbc"), [("a", "b", False)]),
        (("aaa", "bbb", "aaa"), []),
        (("--", "", "bb"), [(None, "b", True)]),
        (("aa", "", "--"), [("a", None, True)]),
        (("", "", "bb"), []),
        (("aa", "", ""), []),
    ],
)
def test_what_coincides(runs: tuple[str, str, str], expected: list[object]) -> None:
    assert changes_between(*runs) == expected


def test_coincident_changes_come_first() -> None:
    found = differences([shot(a="1", z="1"), shot(a="2", z="1")], [], [shot(a="3", z="2")])
    assert [(d.path, d.coincides) for d in found] == [("z", True), ("a", False)]


def test_a_value_that_always_changes_is_no_fact() -> None:
    later = copy.deepcopy(PLAIN)
    later["os"] |= {"uptime": 5.0, "load": [3.0, 2.0, 1.0]}
    later["memory"] |= {"available": 1 << 30, "swap_free": 7}
    later["processor"]["frequency"]["current"] = 1.1e9
    later["virtualisation"]["steal"] = 0.5
    one, two = (snapshot(each, None, assay="1") for each in (PLAIN, later))
    assert one == two
    later["processor"]["frequency"]["governors"] = ["powersave"]
    (found,) = differences([one], [], [snapshot(later, None, assay="1")])
    assert difference_text(found) == "frequency governor performance → powersave"


def test_facts_are_named_and_toolchains_are_the_cell_s() -> None:
    old = snapshot(PLAIN, {"blas": {"name": "OpenBLAS", "version": "0.3.1"}}, assay="1", hosts="n1")
    new = snapshot(PLAIN, {"blas": {"name": "OpenBLAS", "version": "0.3.2"}}, assay="2", hosts="n2")
    texts = [difference_text(each) for each in differences([old], [], [new])]
    assert texts == ["assay 1 → 2", "hosts n1 → n2", "BLAS 0.3.1 → 0.3.2"]
    assert fact_name("tuning.OMP_NUM_THREADS") == "OMP_NUM_THREADS"
    assert fact_name("mounts./scratch") == "mounts /scratch"
    assert fact_name("toolchain.environment.UCX_TLS") == "toolchain's environment UCX TLS"


def test_parts_of_a_list_are_distinguished_by_name_and_not_by_position() -> None:
    one = copy.deepcopy(PLAIN)
    one["adapters"] = [{"name": "a", "speed": 1e9}, {"name": "b", "speed": 2e9}]
    two = copy.deepcopy(one)
    two["adapters"].reverse()
    assert snapshot(one, None, assay="1") == snapshot(two, None, assay="1")


def test_the_setup_of_devices_is_compared_and_their_load_is_not() -> None:
    one = copy.deepcopy(PLAIN)
    device = {"address": "0000:3b:00.0", "name": "X", "power": 70.0, "driver": "550", "xids": [1]}
    other = {**device, "address": "0000:3c:00.0"}
    one["devices"] = [device, other]
    two = copy.deepcopy(one)
    two["devices"] = [other, {**device, "power": 300.0, "throttle": ["idle"], "driver": "560"}]
    before, after = (snapshot(each, None, assay="1") for each in (one, two))
    (found,) = differences([before], [], [after])
    assert found.path == "devices.0000:3b:00.0.driver" and found.after == "560"


def test_firmware_microcode_and_mounts_are_found(tmp_path: Path) -> None:
    dmi = tmp_path / "sys/class/dmi/id"
    dmi.mkdir(parents=True)
    for name, text in (("bios_vendor", "Dell Inc."), ("bios_version", "2.19.1")):
        (dmi / name).write_text(f"{text}\n")
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "cpuinfo").write_text("processor\t: 0\nmicrocode\t: 0x2b0005d1\n\n")
    (proc / "self" / "mounts").write_text(
        "overlay / overlay rw,lowerdir=/x/abc 0 0\n"
        "proc /proc proc rw 0 0\n"
        "mds1:/fs /scratch lustre rw,flock,stripe=4 0 0\n"
        "server:/home /home nfs4 rw,vers=4.2 0 0\n"
    )
    tree = Tree(tmp_path)
    assert detect_firmware(tree) == "Dell Inc. 2.19.1"
    assert detect_processor(tree).microcode == "0x2b0005d1"
    assert detect_mounts(tree) == {
        "/": "overlay rw",
        "/scratch": "mds1:/fs lustre rw,flock,stripe=4",
        "/home": "server:/home nfs4 rw,vers=4.2",
    }
    assert detect_firmware(Tree(tmp_path / "none")) is None
    assert detect_mounts(Tree(tmp_path / "none")) == {}
