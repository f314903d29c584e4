"""Files with any content, and with the content of damaged hardware, raise nothing."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.check.facts.fleet import compare_facts, learn_facts
from assay.check.facts.groups import NAMES, PREFIXES, dimms, reader
from assay.check.facts.groups.mounts import lasting_mounts, unescaped
from assay.check.facts.kind import kind_of
from assay.check.facts.reading import group_of
from assay.check.facts.texts import ascii_text, line, title, value_text
from assay.check.model import Fact
from node_trees import GIB, SLOTS, firmware_table, memory_device, server_files, write_tree

_ODD = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"", b"-1", b"0", b"99999999999999999999", b"0x", b"\0", b"nan", b"1e400", b"[x]",
            b"unknown", b"Unknown GT/s", b"4:", b": ", b"0-99999999", b"7-3", b"1 (a) S", b"()",
            "²".encode(), "٣".encode(), b"\xff\xfe", b"0 0", b"max max", b"a b c d\n" * 5,
        ]
    ),
)  # fmt: skip


def facts_below(root):
    tree = write_tree(root, {})
    return [fact for name in NAMES for fact in reader(name)(tree)]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32), st.lists(_ODD, min_size=1, max_size=8))
def test_files_of_any_content_raise_nothing(seed, contents):
    draw = random.Random(seed)
    files = server_files()
    damaged = {
        name: draw.choice(contents) if draw.random() < 0.3 else content
        for name, content in files.items()
        if draw.random() < 0.9
    }
    root = Path(tempfile.mkdtemp())
    try:
        write_tree(root, damaged)
        facts = facts_below(root)
    finally:
        shutil.rmtree(root)
    assert all(group_of(fact.name) in NAMES for fact in facts)
    kind_of(facts)
    learned = learn_facts({"a": [facts], "b": [facts]})
    for finding in compare_facts(facts, learned):
        assert len(finding.text) <= 100 and finding.text.isascii() and finding.text.isprintable()


def test_each_group_has_its_own_names(tmp_path):
    tree = write_tree(tmp_path, server_files())
    for name in NAMES:
        facts = list(reader(name)(tree))
        assert facts or name in ("clock", "devices"), name
        for fact in facts:
            assert fact.name.startswith(PREFIXES[name]), (name, fact.name)
            assert group_of(fact.name) == name
            assert fact.look_at or fact.rule == "shown" or fact.value is None, fact
    folder = Path(dimms.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(NAMES)


@given(st.binary(max_size=400))
def test_tables_of_any_bytes(table):
    for structure in dimms.split(table):
        dimms.memory_module(structure)


@given(st.data())
def test_a_damaged_table_of_the_firmware(data):
    table = bytearray(firmware_table())
    for _ in range(data.draw(st.integers(1, 20))):
        table[data.draw(st.integers(0, len(table) - 1))] = data.draw(st.integers(0, 255))
    for structure in dimms.split(bytes(table[: data.draw(st.integers(0, len(table)))])):
        dimms.memory_module(structure)


def test_memory_devices_of_the_firmware():
    modules = [dimms.memory_module(each) for each in dimms.split(firmware_table(lost=SLOTS[:1]))]
    found = [module for module in modules if module is not None]
    assert len(found) == 12
    assert found[0] == ("BANK 0/P0_DIMM_A1", 0, None)
    assert found[1] == ("BANK 0/P0_DIMM_B1", 16 * GIB, 3200 * 10**6)
    # From 32 GiB on the size is in a field of its own.
    (large,) = dimms.split(memory_device("A", 64 * GIB, 4800))
    assert dimms.memory_module(large) == ("A", 64 * GIB, 4800 * 10**6)
    # The table of an old firmware ends before the configured speed.
    (old,) = dimms.split(memory_device("A", 4 * GIB, 1333, length=0x1B))
    assert dimms.memory_module(old) == ("A", 4 * GIB, 1333 * 10**6)
    # 0xFFFF: unknown size; bit 15: KiB.
    unknown = bytearray(old)
    unknown[0x0C:0x0E] = b"\xff\xff"
    assert dimms.memory_module(bytes(unknown)).size is None
    unknown[0x0C:0x0E] = (0x8000 | 512).to_bytes(2, "little")
    assert dimms.memory_module(bytes(unknown)).size == 512 << 10


def test_the_entries_of_a_kernel_without_the_whole_table(tmp_path):
    files = {
        f"/sys/firmware/dmi/entries/17-{number}/raw": memory_device(slot, 16 * GIB)
        for number, slot in enumerate(SLOTS[:3])
    }
    tree = write_tree(tmp_path, files)
    values = {fact.name: fact.value for fact in dimms.facts(tree)}
    assert values["dimm.count"] == 3
    assert values[f"dimm.{SLOTS[2]}.size"] == 16 * GIB
    assert list(dimms.facts(write_tree(tmp_path / "none", {}))) == []


def test_lasting_mounts(tmp_path):
    text = (
        "a /data\\040one nfs rw 0 0\nb /data\\040one nfs4 ro 0 0\nshort line\n"
        "tmpfs /tmp tmpfs rw 0 0\ntmpfs /tmp/job17 tmpfs rw 0 0\nx /dev/shm tmpfs rw 0 0\n"
        "y /home autofs rw 0 0\nz /home/ann nfs4 rw 0 0\nlustre /lustre lustre rw 0 0\n"
        "q /var/spool/slurmd/job tmpfs rw 0 0\n"
    )
    tree = write_tree(tmp_path, {"/proc/self/mounts": text})
    assert [(mount.point, mount.kind, mount.writable) for mount in lasting_mounts(tree)] == [
        ("/data one", "nfs4", False),
        ("/tmp", "tmpfs", True),
        ("/lustre", "lustre", True),
    ]
    assert unescaped("/a\\134b\\011") == "/a\\b\t"


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_a_line_always_fits(parts):
    text = line(*parts)
    assert len(text) <= 100 and text.isascii() and (text.isprintable() or not text)


@given(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    st.sampled_from(["", "B", "Hz", "bit/s", "T/s", "CPU", "s", "°C"]),
    st.text(max_size=30),
)
def test_any_value_is_text(value, unit, name):
    assert ascii_text(value_text(value, unit, name)) or value == "" or isinstance(value, str)
    title(name)


def test_values_as_text():
    assert value_text(188.6 * GIB, "B") == "189 GiB"
    assert value_text(1007.4 * GIB, "B") == "1007 GiB"
    assert value_text(100 * 10**9, "bit/s") == "100 Gbit/s"
    assert value_text(2_666_000_000, "T/s") == "2.67 GT/s"
    assert value_text(1.6, "CPU") == "1.6 CPUs"
    assert value_text(8, "", "pci.x.width") == "x8"
    assert value_text(0.0, "B") == "0 B"
    assert (value_text(True, ""), value_text(False, ""), value_text(None, "")) == (
        "on", "off", "unknown",
    )  # fmt: skip
    assert line("a" * 150) == "a" * 97 + "..."
    assert line("a" * 90, ", not this one", "; b") == "a" * 90 + "; b"
    assert Fact(name="x", value=1).rule == "same"
