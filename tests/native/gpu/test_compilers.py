"""Every kernel of devices is compiled to the end by the vendors' compilers, where there are any.

They need no device. docs/methods/devices.md says which ones compiled the kernels.
"""

from __future__ import annotations

import pytest

from device_compilers import (
    Clang,
    RuntimeCompiler,
    Text,
    clang,
    hiprtc,
    knows,
    nvrtc,
    recorded_texts,
    written_functions,
)

pytestmark = [pytest.mark.slow, pytest.mark.long]
NVIDIA, AMD = ("sm_80", "sm_90", "sm_100"), ("gfx90a", "gfx942")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[Text]:
    with pytest.MonkeyPatch.context() as patch:
        return recorded_texts(tmp_path_factory.mktemp("cuda"), patch)


def assert_compiled(compiler: RuntimeCompiler | Clang, texts: list[Text], target: str) -> None:
    for text in texts:
        code = compiler.compile(text, target)
        for name in text.functions:
            assert name.encode() in code, (name, text.macros, target)
    print(f"{len(texts)} texts for {target} by {compiler.version}")


def test_the_texts_are_those_of_all_kernels(texts: list[Text]) -> None:
    compiled = {name for text in texts for name in text.functions}
    assert compiled == written_functions()


@pytest.mark.parametrize("target", NVIDIA)
def test_by_nvrtc(texts: list[Text], target: str) -> None:
    compiler = nvrtc()
    if compiler is None:
        pytest.skip("There is no libnvrtc.so; the wheel nvidia-cuda-nvrtc has one.")
    assert_compiled(compiler, texts, target)


@pytest.mark.parametrize("target", AMD)
def test_by_hiprtc(texts: list[Text], target: str) -> None:
    compiler = hiprtc()
    if compiler is None:
        pytest.skip("There is no libhiprtc.so; ROCm has one.")
    if not knows(compiler, target):
        pytest.skip(f"{compiler.version} doesn't know {target}.")
    assert_compiled(compiler, texts, target)


@pytest.mark.parametrize("target", (*NVIDIA, *AMD))
def test_by_clang(texts: list[Text], target: str) -> None:
    compiler = clang()
    if compiler is None:
        pytest.skip("There is no clang.")
    if not knows(compiler, target):
        pytest.skip(f"{compiler.version} doesn't know {target}.")
    assert_compiled(compiler, texts, target)


def test_a_text_with_an_error_is_refused() -> None:
    wrong = Text('extern "C" __global__ void f(int* a) { a[0] = undefined_name; }', ())
    found = [(each, target) for each, target in ((nvrtc(), "sm_80"), (clang(), "gfx90a")) if each]
    if not found:
        pytest.skip("There is neither libnvrtc.so nor clang.")
    for compiler, target in found:
        with pytest.raises(AssertionError, match="undefined_name"):
            compiler.compile(wrong, target)
