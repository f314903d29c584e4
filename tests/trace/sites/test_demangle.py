"""Names in the source of linkage names, as the compilers' documents and their outputs have them."""

from __future__ import annotations

import pytest

from assay.trace.sites.demangle import demangled


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
