"""Which kernels OpenBLAS should run: newer ones are asked for only where the processor has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.kernels import openblas
from assay.kernels.openblas import better_core, core_environment

AVX512 = {"fma", "avx2", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


@pytest.mark.parametrize(
    ("chosen", "flags", "better"),
    [
        ("Haswell", AVX512, "SkylakeX"),
        ("Zen", AVX512, "SkylakeX"),
        ("Haswell", AVX512 - {"avx512vl"}, None),
        ("Haswell", {"avx2", "fma"}, None),
        ("SkylakeX", AVX512, None),
        ("Cooperlake", AVX512, None),
        ("NEOVERSEN1", set(), None),
    ],
)
def test_better_core(chosen: str, flags: set[str], better: str | None) -> None:
    assert better_core(chosen, flags) == better


def test_a_persons_own_choice_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert core_environment(Path("/nowhere.so")) == {}


def test_no_library_no_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    assert core_environment(Path("/nowhere.so")) == {}


def test_the_embedded_library_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    scipy_openblas32 = pytest.importorskip("scipy_openblas32")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    library = Path(scipy_openblas32.get_lib_dir()) / "libscipy_openblas.so"
    monkeypatch.setattr(openblas, "_processor_flags", lambda: AVX512)
    monkeypatch.setattr(openblas, "_AVX2_CORES", _every_core())
    assert core_environment(library, "scipy_") == {"OPENBLAS_CORETYPE": "SkylakeX"}
    monkeypatch.setattr(openblas, "_AVX2_CORES", frozenset())
    assert core_environment(library, "scipy_") == {}


class _every_core(frozenset[str]):
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.isalnum()
