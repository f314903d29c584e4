"""Names in the source of linkage names, as the compilers' documents and their outputs have them."""

from __future__ import annotations

import shutil

import pytest

from assay.trace.sites.demangle import all_demangled, demangled


@pytest.mark.parametrize(
    ("linkage", "source"),
    [
        ("main", "main"),
        ("exchange", "exchange"),
        ("snake_case", "snake_case"),
        # C++ and Rust
        ("_ZN6solver4GridIdE5totalEd", "solver::Grid<double>::total(double)"),
        ("_ZN6solver12_GLOBAL__N_111synchroniseEv", "solver::(anonymous namespace)::synchronise()"),
        ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
        ("_Znot_a_name", "_Znot_a_name"),
        # Fortran: GNU, Intel, NAG, Cray, LLVM; an external procedure
        ("__halo_MOD_exchange", "halo::exchange"),
        ("__my_halo_MOD_exchange_all", "my_halo::exchange_all"),
        ("halo_mp_exchange_", "halo::exchange"),
        ("halo_MP_exchange", "halo::exchange"),
        ("exchange$halo_", "halo::exchange"),
        ("_QMhaloPexchange", "halo::exchange"),
        ("_QMhaloFexchangePinner", "halo::exchange::inner"),
        ("_QPtotal", "total"),
        ("total_", "total"),
        ("send_all__", "send_all"),
        ("MAIN__", "main program"),
        ("_QQmain", "main program"),
        # Parts and variants of functions
        ("inner.0", "inner"),
        ("exchange.constprop.0.isra.0", "exchange"),
        ("__halo_MOD_exchange.part.0", "halo::exchange"),
        ("_ZN6solver12_GLOBAL__N_111synchroniseEv.cold",
         "solver::(anonymous namespace)::synchronise()"),
        ("main._omp_fn.0", "main [OpenMP]"),
        ("__halo_MOD_exchange._omp_fn.1", "halo::exchange [OpenMP]"),
        ("total_.omp_outlined", "total [OpenMP]"),
        ("", ""),
    ],
)  # fmt: skip
def test_names_are_those_of_the_source(linkage: str, source: str) -> None:
    assert demangled(linkage) == source


# Pairs of the tests of rustc-demangle (its src/v0.rs and src/legacy.rs), hashes left out.
RUST = {
    "_RNvCskwGfYPst2Cb_3foo16example_function": "foo::example_function",
    "_RINvNtC3std3mem8align_offE": "std::mem::align_of::<f32>",
    "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_": "cc::spawn::{closure#0}::{closure#0}",
    "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y":
        "utf8_idents::საჭმელად_გემრიელი_სადილი",
    "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rposition"
    "NCNgNpB9_6memchr7memrchrs_0E0Bb_":
        "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
        "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}",
    "_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std":
        "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>",
    "_RMC0INtC8arrayvec8ArrayVechKj7b_E": "<arrayvec::ArrayVec<u8, 123: usize>>",
    "_RNvCskwGfYPst2Cb_3foo16example_function.llvm.12345": "foo::example_function",
    "_ZN3foo17h05af221e174051e9E": "foo",
    "_ZN3foo17h05af221e174051e9E.llvm.9D1C9369": "foo",
    "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h0123456789abcdefE":
        "<Test + 'static as foo::Bar<Test>>::bar",
    "_ZN28_$u7b$$u7b$closure$u7d$$u7d$17h05af221e174051e9E": "{{closure}}",
}  # fmt: skip


def test_rust_names_of_both_schemes_are_those_of_the_source() -> None:
    if shutil.which("c++filt") is None:
        pytest.skip("there is no c++filt")
    others = {"_ZN6solver4GridIdE5totalEd": "solver::Grid<double>::total(double)", "_Rnot": "_Rnot",
              "_RNvC": "_RNvC", "__halo_MOD_exchange": "halo::exchange"}  # fmt: skip
    assert all_demangled([*RUST, *others]) == {**RUST, **others}


def test_rust_names_without_a_tool_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert demangled("_RNvCs1234_7mycrate3foo") == "_RNvCs1234_7mycrate3foo"
    assert demangled("_ZN7mycrate3foo17h05af221e17405000E") == "mycrate::foo"
