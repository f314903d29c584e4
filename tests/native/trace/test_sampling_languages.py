"""Functions of other languages, sampled: their names as in the source, and their shares."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sampled_programs import assert_share, compiled, counts, places_of, run_sampled, samples_in

pytestmark = pytest.mark.slow

RUST = {"shares::solver::advance": 0.6, "<shares::solver::Grid<u32>>::total": 0.3,
        "shares::applied::<shares::main::{closure#1}>": 0.1}  # fmt: skip
# The older names have no parameters of types.
OLDER = {"shares::solver::advance": 0.6, "shares::solver::Grid<T>::total": 0.3,
         "shares::applied": 0.1}  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "shares"),
    [
        pytest.param(("-Csymbol-mangling-version=v0",), RUST, id="v0"),
        pytest.param(("-Zunstable-options", "-Csymbol-mangling-version=legacy"), OLDER, id="legacy",
                     marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_functions_of_rust_have_names_and_shares(
    tmp_path: Path,
    scheme: tuple[str, ...],
    shares: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("rustc isn't installed")
    if subprocess.run(["rustc", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("rustc has no toolchain")
    monkeypatch.setenv("RUSTC_BOOTSTRAP", "1")  # a released compiler takes -Z then
    program = compiled("shares.rs", "-O", "-g", *scheme, compiler="rustc")
    done = run_sampled(tmp_path, [program, "1000"])
    assert (done.returncode, done.stderr) == (0, "")
    samples = samples_in(tmp_path)
    found = counts(samples, list(shares))
    every = sum(found[name] for name in shares)
    assert every > 50 and found[""] <= 0.05 * sum(found.values()) + 2
    for name, share in shares.items():
        assert_share(found[name], every, share)
    inner = {places_of(samples, stack)[-1] for stack in samples.threads[0].stacks.tolist()}
    lines = {(Path(one.file).name, one.inlined) for one in inner if one.function == "shares::work"}
    assert lines == {("shares.rs", True)}
