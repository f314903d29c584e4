"""Classes, constants and formulas of the NPB: both languages read the same files, only those."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import chain
from pathlib import Path
from random import Random

import pytest

from assay.kernels import npb
from assay.kernels.npb import shared
from assay.kernels.npb.bt import BT_SIZES
from assay.kernels.npb.cg import CG_SIZES
from assay.kernels.npb.common import CLASS_ORDER
from assay.kernels.npb.ep import EP_LOG2_PAIRS
from assay.kernels.npb.ft import FT_SIZES
from assay.kernels.npb.is_ import IS_SIZES
from assay.kernels.npb.lu import LU_SIZES
from assay.kernels.npb.mg import MG_SIZES
from assay.kernels.npb.sp import SP_SIZES
from check_program import HARNESS, CheckProgram
from native_build import NATIVE

NPB = NATIVE / "npb"
PYTHON = sorted(Path(inspect.getfile(npb)).parent.glob("*.py"))
TABLES = {
    **{"ep": {name: (pairs,) for name, pairs in EP_LOG2_PAIRS.items()}, "cg": CG_SIZES},
    **{"mg": MG_SIZES, "ft": FT_SIZES, "is": IS_SIZES, "lu": LU_SIZES, "bt": BT_SIZES},
    "sp": SP_SIZES,
}
PROGRAM = CheckProgram("npb_shared_check.cpp", HARNESS)

# The question: files, folders of constants, ranges of inputs.
FORMULAS = {
    "grid_cost": (
        ["common/grid_cost.def"],
        [],
        {
            **{"nx": (1, 2048), "ny": (1, 2048), "nz": (1, 2048)},
            **{"x": (1, 64), "y": (1, 64), "z": (1, 64), "face_cost": (0, 3)},
        },
    ),
    "cg_memory": (
        ["cg/memory.def"],
        ["cg"],
        {"order": (1000, 9_000_000), "nonzer": (5, 30), "ranks": (1, 5000), "threads": (1, 200)},
    ),
    "is": (
        ["is/buckets.def", "is/memory.def"],
        ["is"],
        {"keys": (1 << 16, 1 << 35), "values": (1 << 11, 1 << 31)}
        | {"ranks": (1, 100_000), "threads": (1, 200), "plain": (0, 1)},
    ),
    "ft": (
        ["ft/grid.def", "ft/memory.def"],
        ["ft"],
        {"nx": (64, 4096), "ny": (64, 4096), "nz": (32, 4096)}
        | {"across": (1, 8), "ranks": (8, 5000), "threads": (1, 200)},
    ),
    "lu_message": (["lu/message.def"], ["cfd", "lu"], {"points": (5, 1100)}),
    "lu_memory": (
        ["lu/memory.def"],
        ["cfd", "lu"],
        {"points": (12, 1100), "x": (1, 30), "y": (1, 30), "threads": (1, 200), "lanes": (2, 8)},
    ),
    "adi_batch": (
        ["adi/batch.def"],
        ["cfd", "adi"],
        {"points": (12, 1100), "blocks": (1, 40), "across": (1, 1100)}
        | {"kept": (11, 30), "lanes": (2, 8)},
    ),
    "adi_memory": (
        ["adi/memory.def"],
        ["cfd", "adi"],
        {"points": (12, 1100), "y": (1, 40), "z": (1, 40), "threads": (1, 200), "lanes": (2, 8)}
        | {"kept": (11, 30), "handed": (1, 2), "rows_y": (1, 30), "vectors_y": (1, 140)}
        | {"rows_z": (1, 30), "vectors_z": (1, 140)},
    ),
    "mg_scratch": (
        ["mg/scratch.def"],
        ["mg"],
        {"extent": (4, 2048), "rows": (1, 2048), "planes": (0, 2048)},
    ),
}


# ---- Both read the same -------------------------------------------------------------------------


@pytest.mark.slow
def test_both_languages_have_the_same_classes() -> None:
    answers = PROGRAM.ask(*(f"classes {benchmark}" for benchmark in TABLES))
    for (benchmark, table), words in zip(TABLES.items(), answers, strict=True):
        assert tuple(table) == CLASS_ORDER
        flat = chain.from_iterable((name, *map(str, row)) for name, row in table.items())
        assert words == list(flat), benchmark


@pytest.mark.slow
def test_both_languages_have_the_same_constants() -> None:
    (words,) = PROGRAM.ask("constants")
    folders = sorted(path.parent.name for path in NPB.glob("*/constants.def"))
    expected: dict[str, list[float]] = {}
    for name, value in shared.constants("cfd", *folders).items():
        if isinstance(value, dict):
            expected[name] = [*value["may_cut"], value["least"], value["face_cost"]]
        else:
            expected[name] = [value]
    found: dict[str, list[float]] = {}
    for word in words:
        if word.startswith("k"):
            numbers = found.setdefault(word, [])
        else:
            numbers.append(float.fromhex(word))
    assert found == expected
    assert len(found) > 25


@pytest.mark.slow
@pytest.mark.parametrize("question", FORMULAS)
def test_both_languages_compute_the_same_terms(question: str) -> None:
    """Of 300 draws of the inputs: whole numbers exactly, others but for rounding."""
    files, folders, ranges = FORMULAS[question]
    random = Random(19)
    draws = [
        {name: random.choice([low, high, random.randint(low, high)]) for name, (low, high) in ends}
        for ends in [ranges.items()] * 300
    ]
    answers = PROGRAM.ask(*(f"{question} {' '.join(map(str, draw.values()))}" for draw in draws))
    for draw, words in zip(draws, answers, strict=True):
        terms: dict[str, float] = dict(draw)
        for file in files:
            terms = shared.formula(file, *folders)(**terms)
        native = dict(zip(words[::2], map(float.fromhex, words[1::2]), strict=True))
        known = {*draw, *shared.constants(*folders)}
        expected = {name: value for name, value in terms.items() if name not in known}
        if question in ("cg_memory", "is"):  # a rank's share of bytes is no whole number
            assert native == pytest.approx(expected, rel=1e-12)
        else:
            assert native == expected


# ---- And no others ------------------------------------------------------------------------------


def test_every_shared_file_is_read_by_both_languages() -> None:
    native = "".join(path.read_text() for path in sorted(NPB.rglob("*.?pp")))
    python = "".join(path.read_text() for path in PYTHON)
    files = sorted(path.relative_to(NPB) for path in NPB.rglob("*.def"))
    assert len(files) > 25
    for file in files:
        assert f'#include "npb/{file}"' in native
        if file.name == "classes.def":
            assert f'class_table("{file.parent}"' in python
        elif file.name == "constants.def":
            assert re.search(rf'constants\([^)]*"{file.parent}"', python)
        else:
            assert f'formula("{file}"' in python
            assert any(str(file) in files for files, _, _ in FORMULAS.values())


def test_every_constant_is_used_by_both_languages() -> None:
    native = "".join(path.read_text() for path in sorted(NPB.rglob("*.?pp")))
    formulas = "".join(p.read_text() for p in NPB.rglob("*.def"))
    python = "".join(path.read_text() for path in PYTHON)
    for path in NPB.rglob("constants.def"):
        for name in re.findall(r"NPB_CONSTANT\([\w:]+, (\w+)", path.read_text()):
            used = len(re.findall(rf"\b{name}\b", formulas)) > 1
            assert used or re.search(rf"\b{name}\b", native), name
            assert used or f'"{name}"' in python or '"k{' in python, name


def test_no_table_of_classes_is_left_in_native_code() -> None:
    """Such a table consists of elements that begin with a class's name."""
    for path in sorted(NPB.rglob("*.?pp")):
        assert not re.search(r'\{\s*(\.name\s*=\s*)?"[A-Z]"\s*,', path.read_text()), path


def test_no_table_of_classes_is_left_in_python() -> None:
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                assert not keys & set(CLASS_ORDER), path


def test_native_code_has_no_formula_of_memory_of_its_own() -> None:
    """Each function for the memory of a rank includes its shared file. That of MG adds up the sizes
    of its fields' allocations.
    """
    found = {}
    for path in sorted(NPB.rglob("*.?pp")):
        for body in re.findall(
            r"bytes_per_rank\([^;{]*\)\s*\{\n.*?\n *\}\n", path.read_text(), re.S
        ):
            found[path.parent.name] = re.findall(r'#include "npb/(\w+/memory.def)"', body)
    own = {name: [f"{name}/memory.def"] for name in ("adi", "cg", "ft", "is", "lu")}
    assert found == own | {"mg": []}


# ---- The reader ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared, "native_sources", lambda: tmp_path)
    (tmp_path / "npb/xx").mkdir(parents=True)
    return tmp_path / "npb/xx"


def test_a_table_of_classes_is_read_by_field(folder: Path) -> None:
    (folder / "classes.def").write_text(
        '// Of XX (1).\nNPB_CLASS(.name = "S", .n = 3, .rest = {{1.0 / 3, 2}, {-3}},\n'
        '          .size = {4, 5})  // small\nNPB_CLASS(.name = "W", .size = {6, 7}, .n = 8)\n'
    )
    assert shared.class_table("xx", "n", "size") == {"S": (3, (4, 5)), "W": (8, (6, 7))}
    with pytest.raises(KeyError, match="rest"):
        shared.class_table("xx", "rest")


@pytest.mark.parametrize("text", ["int x = 3;", "NPB_CLASS(1) +", "NPB_OTHER(1)"])
def test_what_is_no_macro_is_refused(folder: Path, text: str) -> None:
    (folder / "classes.def").write_text(text)
    with pytest.raises(ValueError, match="not a macro"):
        shared.class_table("xx", "n")


@pytest.mark.parametrize(
    "text", ["a // 2", "a ** 2", "a and b", "a.b", "[a]", "'a'", "a % 2", "a if b else 1", "~a"]
)
def test_expressions_with_another_meaning_in_one_language_are_refused(
    folder: Path, text: str
) -> None:
    name = f"{len(text)}{ord(text[2]) if len(text) > 2 else 0}.def"
    (folder / name).write_text(f"NPB_TERM(x, {text})\n")
    with pytest.raises((ValueError, SyntaxError)):
        shared.formula(f"xx/{name}")
