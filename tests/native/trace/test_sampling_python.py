"""Functions of Python before 3.12, whose frames the sampler reads, in programs of known shares."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from assay.trace.samples.naming import PYTHON
from native_build import NATIVE
from sampled_programs import (
    SAMPLING,
    assert_share,
    compiled,
    counts,
    places_of,
    run_sampled,
    samples_in,
)

pytestmark = pytest.mark.slow

PROGRAM = SAMPLING / "functions.py"
SHARES = {"half": 0.5, "third": 0.3, "seventh": 0.15, "ordered": 0.05}
VERSIONS = ("3.8", "3.9", "3.10", "3.11")
# What the numbers of kPythonLayouts are, in their order. `frame` and `frame_of` differ by version.
_HEADERS = """
#define Py_BUILD_CORE
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
typedef struct _PyInterpreterFrame Frame;
#define NAMES(X) X(PyThreadState, thread_id) X(None, none) X(PyThreadState, cframe) \\
  X(_PyCFrame, previous) X(_PyCFrame, current_frame) X(Frame, f_code) X(Frame, previous) \\
  X(Frame, is_entry) X(PyCodeObject, co_firstlineno) X(PyCodeObject, co_filename) \\
  X(PyCodeObject, co_qualname)
#else
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030a0000
#define CFRAME(X) X(PyThreadState, cframe) X(CFrame, previous)
#else
#define CFRAME(X) X(None, none) X(None, none)
#endif
#define NAMES(X) X(PyThreadState, thread_id) X(PyThreadState, frame) CFRAME(X) X(None, none) \\
  X(PyFrameObject, f_code) X(PyFrameObject, f_back) X(None, none) \\
  X(PyCodeObject, co_firstlineno) X(PyCodeObject, co_filename) X(PyCodeObject, co_name)
#endif
#include <stddef.h>
#include <stdio.h>
typedef struct { int none; } None;
#define SHOW(type, field) printf("%zu ", offsetof(type, field));
int main(void) {
  NAMES(SHOW)
  printf("%zu %zu %zu %zu %zu", offsetof(PyObject, ob_type), offsetof(PyASCIIObject, length),
         offsetof(PyASCIIObject, state), sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject));
}
"""


@cache
def _python(version: str) -> str | None:
    """The path of an interpreter of that version; None if there is none."""
    show = "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    kept = [str(one) for one in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for name in ("/usr/bin/python3", f"python{version}", *kept):
        path = shutil.which(name)
        if path is None:
            continue
        done = subprocess.run([path, "-c", show], capture_output=True, text=True, check=False)
        words = done.stdout.split()
        if done.returncode == 0 and words[1:] == [version]:
            return words[0]
    return None


def _need_python(version: str) -> str:
    path = _python(version)
    if path is None:
        pytest.skip(f"there is no Python {version}")
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_the_layouts_are_those_of_cpythons_headers(tmp_path: Path, version: str) -> None:
    python = _need_python(version)
    show = "import sysconfig; print(sysconfig.get_paths()['include'])"
    done = subprocess.run([python, "-c", show], capture_output=True, text=True, check=True)
    headers = Path(done.stdout.strip())
    if not (headers / "Python.h").exists():
        pytest.skip(f"the headers of Python {version} aren't installed")
    (tmp_path / "shows.c").write_text(_HEADERS)
    words = ["cc", f"-I{headers}", "shows.c", "-o", "shows"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=120)
    shown = subprocess.run([tmp_path / "shows"], capture_output=True, text=True, check=True)
    text = (NATIVE / "trace" / "sampling" / "python_layout.hpp").read_text("utf-8")
    (layout,) = re.findall(rf"^    {{{version.partition('.')[2]}, (.*)}},$", text, re.MULTILINE)
    (objects,) = re.findall(r"uint32_t (kType.*);", text)
    known = layout.replace("kNone", "0").split(", ") + re.findall(r"= (\d+)", objects)
    assert shown.stdout.split() == known


@pytest.mark.parametrize(
    "version",
    [pytest.param("3.8", marks=pytest.mark.long), pytest.param("3.9", marks=pytest.mark.long),
     pytest.param("3.10", marks=pytest.mark.long), "3.11"],
)  # fmt: skip
def test_functions_before_3_12_have_names_and_shares(tmp_path: Path, version: str) -> None:
    python = _need_python(version)
    done = run_sampled(tmp_path, [python, PROGRAM, "250"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    samples = samples_in(tmp_path)
    main, second = (next(one for one in samples.threads if one.thread == n) for n in (0, 1))
    found = counts(samples, list(SHARES), main)
    every = sum(found[name] for name in SHARES)
    assert every > 60
    for name, share in SHARES.items():
        assert_share(found[name], every, share)
    # Each thread has its own functions alone.
    beside = counts(samples, ["beside", *SHARES], second)
    assert beside["beside"] > 20 and not any(beside[name] for name in SHARES)
    assert counts(samples, ["beside"], main)["beside"] == 0
    method = "Größe.rechne" if version == "3.11" else "rechne"
    callers = {"half": method, "third": method, "seventh": method, "ordered": method}
    callers |= {"steps_of": "seventh", "compare": "ordered"}
    for stack in set(main.stacks.tolist()):
        places = places_of(samples, stack)
        own = [one for one in places if one.module == PYTHON and one.file == str(PROGRAM)]
        for outer, inner in itertools.pairwise(own):
            if inner.function in callers:
                assert outer.function == callers[inner.function]
        names = [one.function for one in places]
        if "compare" in names:  # the C library and its callers lie between functions of Python
            between = places[names.index("ordered") + 1 : names.index("compare")]
            assert any("_ctypes" in one.module for one in between), between
            assert all(one.module != PYTHON for one in between)
    assert samples.doubts == () or all("lost" in one for one in samples.doubts)


def test_names_of_python_can_be_switched_off(tmp_path: Path) -> None:
    python = _need_python("3.11")
    done = run_sampled(tmp_path, [python, PROGRAM, "20"], more={"ASSAY_PROFILE_PYTHON": "off"})
    assert (done.returncode, done.stdout) == (0, "done\n")
    samples = samples_in(tmp_path)
    assert all(one.module != PYTHON for one in samples.places)
    assert any(one.module.startswith(("python", "libpython")) for one in samples.places)


def test_where_memory_cannot_be_read_a_sentence_says_so(tmp_path: Path) -> None:
    python = _need_python("3.11")
    hostile = compiled("hostile.c", "-O2", "-g", "-pthread")
    done = run_sampled(tmp_path, [hostile, "without-reads", python, PROGRAM, "20"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    doubts = samples_in(tmp_path).doubts
    (unnamed,) = (one for one in doubts if one.startswith("Functions of Python 3.11"))
    assert "have no names: Operation not permitted" in unnamed


def test_an_interpreter_without_a_known_layout_is_named_in_a_sentence(tmp_path: Path) -> None:
    """A program with CPython's names, which says that it is version 3.7."""
    source = tmp_path / "old.c"
    source.write_text(
        'const char* Py_GetVersion(void) { return "3.7.1 (main)"; }\n'
        "void* PyGILState_GetThisThreadState(void) { return (void*)8; }\n"
        "long PyCode_Type, PyUnicode_Type;\n"
        "int main(void) { for (volatile long i = 0; i < 300000000; ++i) {} }\n"
    )
    program = tmp_path / "old"
    subprocess.run(["cc", "-rdynamic", source, "-o", program], check=True, timeout=120)
    assert run_sampled(tmp_path, [program]).returncode == 0
    doubts = samples_in(tmp_path).doubts
    assert any(
        one.startswith("Functions of Python 3.7 have no names: this version") for one in doubts
    )


def test_structures_that_are_not_those_of_cpython_are_noticed(tmp_path: Path) -> None:
    """A program that says that it is Python 3.11, and whose structures hold anything."""
    source = tmp_path / "strange.c"
    source.write_text(
        "#include <string.h>\n"
        'const char* Py_GetVersion(void) { return "3.11.9 (main)"; }\n'
        "static long state[400];\n"
        "void* PyGILState_GetThisThreadState(void) { return state; }\n"
        "long PyCode_Type, PyUnicode_Type;\n"
        "int main(void) {\n"
        "  memset(state, 0x5a, sizeof state);\n"
        "  for (volatile long i = 0; i < 300000000; ++i) {}\n"
        "}\n"
    )
    program = tmp_path / "strange"
    subprocess.run(["cc", "-rdynamic", source, "-o", program], check=True, timeout=120)
    assert run_sampled(tmp_path, [program]).returncode == 0
    samples = samples_in(tmp_path)
    assert counts(samples, ["main"])["main"] > 10
    (doubt,) = samples.doubts
    assert "3.11 have no names: its structures differ from those of CPython" in doubt
