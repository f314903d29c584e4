"""Functions of ELF files, against those that nm (binutils) lists."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.trace.sites.elf import read_functions

SOURCE = """
static int hidden(int x) { return 3 * x; }
int (*kept)(int) = hidden;
int shown(int x) { return kept(x) + 1; }
int main(void) { return shown(1); }
"""


@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-no-pie",), ("-shared", "-fPIC")], ids=str)
def test_functions_are_found_by_any_address_inside(tmp_path: Path, flags: tuple[str, ...]) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) isn't installed")
    source, file = tmp_path / "a.c", tmp_path / "a"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O0", *flags, source, "-o", file], check=True, timeout=60)
    listed = subprocess.run(["nm", "-S", file], capture_output=True, text=True, check=True).stdout
    functions = read_functions(file)
    assert functions is not None
    assert functions.base == (0 if "-no-pie" not in flags else 0x400000)
    found = 0
    for line in listed.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "Tt" and words[3] in ("hidden", "shown", "main"):
            start, size = int(words[0], 16), int(words[1], 16)
            assert functions.at(start) == functions.at(start + size - 1) == words[3]
            assert functions.at(start + size) != words[3]
            found += 1
    assert found == 3


def test_what_lies_behind_a_function_has_no_name(tmp_path: Path) -> None:
    """A stripped program has the functions that it exports only, which end somewhere."""
    source, file = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O0", "-shared", "-fPIC", source, "-o", file], check=True, timeout=60)
    whole = read_functions(file)
    assert whole is not None
    hidden = int(whole.starts[whole.names.index("hidden")])
    subprocess.run(["strip", file], check=True, timeout=60)
    stripped = read_functions(file)
    assert stripped is not None
    assert "shown" in stripped.names and stripped.at(hidden) == ""


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" * 40]
)
def test_other_files_have_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    functions = read_functions(file)
    assert functions is None or functions.names == []
    assert read_functions(tmp_path / "none") is None


def test_of_several_names_the_public_one_is_taken(tmp_path: Path) -> None:
    """As in a C library, whose functions have private names too."""
    source = tmp_path / "names.c"
    aliases = ("__GI_work", "work", "__work", "_work", "worker")
    source.write_text(
        "int __internal_work(int x) { return x + 1; }\n"
        + "".join(
            f'int {name}(int) __attribute__((alias("__internal_work")));\n' for name in aliases
        )
        + "int other(int x) { return work(x) + __work(x); }\n"
    )
    library = tmp_path / "names.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", library], check=True)
    functions = read_functions(library)
    assert functions is not None
    first = next(k for k, name in enumerate(functions.names) if name == "work")
    start, end = int(functions.starts[first]), int(functions.ends[first])
    assert {functions.at(address) for address in range(start, end)} == {"work"}
    assert set(functions.names) >= {*aliases, "__internal_work", "other"}
