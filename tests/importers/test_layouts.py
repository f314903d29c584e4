"""The same output in another encoding or layout gives the same results.

Mail programs, editors, shells and web pages change byte order marks, line ends, indentation and
compression; none of this changes a number.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import prepared_assay
from assay.importers.model import Result
from importing_probe import OUTPUTS, Probe, probe

NAMES = sorted(path.name for path in OUTPUTS.iterdir())


def compact(text: str) -> str:
    """JSON documents without indentation; other text as it is."""
    return json.dumps(json.loads(text), indent=0) if text.lstrip().startswith("{") else text


LAYOUTS: dict[str, Callable[[str], bytes]] = {
    "byte order mark": lambda text: ("\ufeff" + text).encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big-endian": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "two members of gzip": lambda text: (
        gzip.compress(text.encode()[:99]) + gzip.compress(text.encode()[99:])
    ),
    "bzip2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode()),
    "no indentation": lambda text: re.sub(r"^[ \t]+", "", text, flags=re.M).encode(),
    "deep indentation": lambda text: re.sub(r"^", "        ", text, flags=re.M).encode(),
    "blanks at the ends of lines": lambda text: re.sub(r"$", "  ", text, flags=re.M).encode(),
    "JSON with indent=0": lambda text: compact(text).encode(),
    "labels of srun": lambda text: re.sub(r"^", "0: ", text, flags=re.M).encode(),
}


def documents(name: str) -> str:
    """A recorded document without the text before it."""
    text = (OUTPUTS / name).read_text("utf-8")
    return text[re.search(r"^[{<]", text, re.M).start() :]


def numbers(found: Probe) -> list[object]:
    """The results without lines."""
    return [_plain(result) for result in found.results]


def _plain(result: Result) -> object:
    return (
        result.code,
        result.version,
        {name: value.value for name, value in result.parameters.items()},
        [(s.metric, s.unit, [value.value for value in s.found]) for s in result.series],
        result.verified,
        result.error,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_layout_changes_no_result(name: str, layout: str, tmp_path: Path) -> None:
    text = (OUTPUTS / name).read_text("utf-8")
    plain = probe(text, tmp_path / "plain")
    changed = read(LAYOUTS[layout](text), tmp_path / "changed")
    assert numbers(plain)
    assert numbers(changed) == numbers(plain)
    assert len(changed.skipped) == len(plain.skipped)


def read(content: bytes, path: Path) -> Probe:
    """As `probe`, for bytes that are not UTF-8: their numbers are not looked for in the text."""
    from assay.importers.channels import FileReader
    from assay.importers.lines import SourceFile

    path.write_bytes(content)
    found = Probe("")
    reader = FileReader(found)
    for line in SourceFile(str(path)).read():
        reader.feed(line)
    reader.finish()
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith((".json", ".xml"))])
@pytest.mark.parametrize(
    "between",
    ["\n", "", " ", ",\n", "\n$ module load fio\nfio: 3 warnings\n", "\x1b[0m\n\n", ";  "],
)
def test_all_documents_of_a_file_are_read(name: str, between: str, tmp_path: Path) -> None:
    """Concatenated, one per line, with text between."""
    text = documents(name).strip()
    once = numbers(probe(text + "\n", tmp_path / "once"))
    for form in (text, re.sub(r"\n\s*", " ", text)):
        found = read((between.join([form] * 3) + "\n").encode(), tmp_path / "thrice")
        assert numbers(found) == once * 3


def test_what_follows_a_document_on_its_line_is_read(tmp_path: Path) -> None:
    document = json.dumps(json.loads((OUTPUTS / "hyperfine.json").read_text("utf-8")))
    other = '{"a": 1}'
    found = probe(f"{document} {other} {document}\n", tmp_path / "line")
    assert len(found.results) == 2 * len(probe(document + "\n", tmp_path / "one").results)
    assert found.skipped == [(1, "This JSON document is not the output of a known tool.")]


def test_a_document_that_is_cut_off_is_named_and_the_next_one_read(tmp_path: Path) -> None:
    text = documents("fio-3.json")
    lines = text.splitlines(keepends=True)
    whole = numbers(probe(text, tmp_path / "whole"))
    for cut in range(2, len(lines) - 1):
        found = probe("".join(lines[:cut]) + text, tmp_path / "cut")
        assert numbers(found) == whole, lines[cut - 1]
        assert found.skipped[0] == (1, "The JSON document that begins here is incomplete.")


@pytest.mark.parametrize("cut", ['  "bw": 12', '"a": [1, 2', '"jobname" : "x"', "}"])
def test_also_without_indentation(cut: str, tmp_path: Path) -> None:
    text = compact(documents("fio-3.json"))
    found = probe('{"fio version": "fio-3.1",\n"jobs": [{\n' + cut + "\n" + text, tmp_path / "cut")
    assert numbers(found) == numbers(probe(text, tmp_path / "whole"))


# ---- documents of sloppy writers --------------------------------------------------------------

OLD_FIO = """{
  "fio version" : "fio-2.1.4",
  "jobs" : [
    {
      "jobname" : "a",
      "error" : 0,
      "read" : {
        "io_bytes" : 1024,
        "bw" : 12,
        "iops" : 3,
        "clat" : {
          "min" : 10, "max" : 40, "mean" : 20.5, "stddev" : 1.5,
          "percentile" : {
            "1.000000" : 20,
            "50.000000" : 30,
            "0.00" : 0,
            "0.00" : 0
          }
        }
      }
    }
  ]
}
"""


def test_equal_duplicates_are_one(tmp_path: Path) -> None:
    found = probe(OLD_FIO, tmp_path / "fio")
    assert found.value("fio", "bandwidth") == 12 * 1024
    assert found.value("fio", "time.completion.p50") == pytest.approx(30e-6)
    assert found.skipped == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('"iops" : 3,', '"iops" : 3,,', ""),
        ('"0.00" : 0\n', '"0.00" : 0,\n', ""),
        ('"bw" : 12,', '"bw" : 12', ""),
        ('"bw" : 12', '"bw" : 0012', ""),
        ('"mean" : 20.5', '"mean" : 20.5, "extra" : -nan, "more" : inf', ""),
        ('"jobname" : "a"', '"jobname" : "a",\n"desc" : "C:\\dir\tx"', ""),
        ('"iops" : 3', '"iops" : -nan', "'-nan' is not a number"),
        ('"iops" : 3', '"iops" : ', "'' is not a number"),
        ('"iops" : 3', '"iops" : 3, "iops" : 4', "'iops' occurs twice with different values"),
        ('"iops" : 3', '"iops" : 1.#INF', "'1.#INF' is not a number"),
    ],
)
def test_only_what_is_ambiguous_is_left_out(old: str, new: str, named: str, tmp_path: Path) -> None:
    found = probe(OLD_FIO.replace(old, new, 1), tmp_path / "fio")
    assert found.value("fio", "bandwidth") == 12 * 1024
    assert found.values("fio", "rate") == ([] if named else [3])
    assert found.value("fio", "time.completion") == pytest.approx(20.5e-6)
    assert [what for _, what in found.skipped if named and named in what] or not named
    assert len(found.skipped) == bool(named)


@pytest.mark.parametrize(
    "content", ["{]", '{"a": }}', '{"a" 1}', '{"fio version": [}', "{,", "[:]"]
)
def test_lost_structure_is_named(content: str, tmp_path: Path) -> None:
    found = probe(content + "\n", tmp_path / "bad")
    assert found.results == [] and len(found.skipped) <= 2


# ---- the command ------------------------------------------------------------------------------


def imported(folder: Path, *files: str) -> dict[str, object]:
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "import", *files, "--runs", "runs", "--json"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_the_command_reads_files_of_any_layout(tmp_path: Path) -> None:
    fio = documents("fio-3.json")
    hpl = (OUTPUTS / "hpl-2.3.out").read_text("utf-8")
    (tmp_path / "once").write_text(fio + hpl)
    (tmp_path / "twice.xz").write_bytes(lzma.compress((compact(fio) + compact(fio)).encode()))
    (tmp_path / "windows").write_bytes(("\ufeff" + hpl.replace("\n", "\r\n")).encode("utf-16-le"))
    once = imported(tmp_path, "once")["sources"][0]["tools"]
    files = imported(tmp_path, "twice.xz", "windows")["sources"]
    results = {tool["tool"]: tool["results"] for tool in once}
    assert files[0]["tools"][0]["results"] == 2 * results["fio"]
    assert files[1]["tools"][0]["results"] == results["HPL"]
