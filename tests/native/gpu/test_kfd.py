"""What the Linux driver for AMD's devices tells: architecture, and the cache before memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from check_program import SANITIZABLE, CheckProgram

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]
PROGRAM = CheckProgram("kfd_check.cpp", ("device/kfd.cpp",), SANITIZABLE)
MIB = 1 << 20


def add(
    nodes: Path, number: int, *, version: int = 0, address: str = "0:0:0.0", simds: int = 0, **kib
) -> None:
    """A node of the topology; ``kib``: sizes of its caches by level, such as l3=[262144]."""
    domain, bus, slot = address.split(":")
    slot, function = slot.split(".")
    location = int(bus, 16) << 8 | int(slot, 16) << 3 | int(function, 16)
    caches = [(int(level[1:]), size) for level, sizes in kib.items() for size in sizes]
    folder = nodes / str(number)
    for index, (level, size) in enumerate(caches):
        (folder / "caches" / str(index)).mkdir(parents=True)
        (folder / "caches" / str(index) / "properties").write_text(
            f"processor_id_low 0\nlevel {level}\nsize {size}\ncache_line_size 128\n"
        )
    folder.mkdir(exist_ok=True)
    (folder / "properties").write_text(
        f"cpu_cores_count 0\nsimd_count {simds}\ngfx_target_version {version}\n"
        f"location_id {location}\ndomain {int(domain, 16)}\nunique_id 17906871264129870932\n"
    )


def asked(nodes: Path, *addresses: str) -> list[tuple[str, int]]:
    answers = PROGRAM.ask(*(f"node {address} {nodes}" for address in addresses))
    return [(name, int(cache)) for name, cache in answers]


def test_devices_are_found_by_their_address(tmp_path: Path) -> None:
    add(tmp_path, 0, address="0000:c1:00.0")  # a processor with the same numbers
    add(tmp_path, 1, version=90010, address="0000:c1:00.0", simds=440, l1=[16, 16], l2=[8192])
    add(tmp_path, 2, version=90402, address="0000:0c:00.0", simds=1216,
        l1=[32] * 4, l2=[4096] * 8, l3=[262144])  # fmt: skip
    add(tmp_path, 3, version=110001, address="0001:0c:02.1", simds=96, l2=[6144], l3=[98304])
    assert asked(tmp_path, "0000:c1:00.0", "0000:0c:00.0", "0001:0c:02.1") == [
        ("gfx90a", 8 * MIB),
        ("gfx942", 256 * MIB),
        ("gfx1101", 96 * MIB),
    ]


def test_what_is_unknown_stays_so(tmp_path: Path) -> None:
    add(tmp_path, 1, version=90010, address="0000:c1:00.0", simds=440)
    (tmp_path / "2").mkdir()  # without properties
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "properties").write_text("simd_count many\n")
    assert asked(tmp_path, "0000:c1:00.0", "0000:c2:00.0", "here") == [
        ("gfx90a", 0),
        ("-", 0),
        ("-", 0),
    ]
    assert asked(tmp_path / "absent", "0000:c1:00.0") == [("-", 0)]
