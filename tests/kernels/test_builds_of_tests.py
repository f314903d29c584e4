"""Executables built for tests are rebuilt when a source changes, wherever the project lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_build import APART, NATIVE, source_names


def test_every_shared_source_is_found() -> None:
    names = source_names(NATIVE)
    assert {Path("CMakeLists.txt"), Path("harness/kernel.cpp")} <= set(names)
    assert not APART & {name.parts[0] for name in names}


@pytest.mark.parametrize("above", sorted(APART))
def test_the_folder_above_may_have_any_name(tmp_path: Path, above: str) -> None:
    native = tmp_path / above / "native"
    for name in ("harness/kernel.cpp", f"{above}/apart.cpp"):
        (native / name).parent.mkdir(parents=True)
        (native / name).touch()
    assert source_names(native) == [Path("harness/kernel.cpp")]
