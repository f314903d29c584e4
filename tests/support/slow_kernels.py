"""``assay`` whose kernels take seconds to compile: stand-ins of cmake and ninja.

The stand-in of ninja compiles ``ASSAY_TEST_FILES`` files, each in ``ASSAY_TEST_SECONDS``, unless
they are there, and links by copying ``ASSAY_TEST_KERNELS``. It logs what it compiles.
"""

from __future__ import annotations

import os
from pathlib import Path

CMAKE = """\
#!/bin/sh
while [ "$1" != -B ]; do shift; done
mkdir -p "$2"
echo configured >"$2/build.ninja"
"""
NINJA = """\
#!/bin/bash
work=$2
trap 'echo "ninja: build stopped: interrupted by user."; exit 2' TERM INT
[ -e "$work/build.ninja" ] || { echo "no build.ninja"; exit 1; }
missing=()
for number in $(seq 1 "$ASSAY_TEST_FILES"); do
  [ -e "$work/$number.cpp.o" ] || missing+=("$number")
done
total=$((${#missing[@]} + 1))
done=0
for number in "${missing[@]}"; do
  echo "$number" >>"$ASSAY_TEST_LOG"
  sleep "$ASSAY_TEST_SECONDS" & wait $!
  if [ "$(cat "$ASSAY_TEST_LOG.fail" 2>/dev/null)" = "$number" ]; then
    echo "$number.cpp:1:1: error: no such thing"; exit 1
  fi
  echo "object $number" >"$work/$number.cpp.o"
  done=$((done + 1))
  echo "[$done/$total] Building CXX object $number.cpp.o"
done
for number in $(seq 1 "$ASSAY_TEST_FILES"); do
  [ "$(cat "$work/$number.cpp.o")" = "object $number" ] || { echo "ld: bad $number"; exit 1; }
done
cp "$ASSAY_TEST_KERNELS" "$work/assay-kernels"
echo "[$total/$total] Linking CXX executable assay-kernels"
"""


def stand_in() -> None:
    """Use the stand-ins in this process."""
    from assay.kernels import building

    folder = Path(os.environ["ASSAY_TEST_TOOLS"])
    building._tool = lambda name: str(folder / name)
    building._GRACE = 1.0


def put_tools(folder: Path, kernels: Path, files: int, seconds: float) -> dict[str, str]:
    """Write the stand-ins; returns the variables for processes that use them."""
    folder.mkdir()
    for name, text in (("cmake", CMAKE), ("ninja", NINJA)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {
        "ASSAY_TEST_TOOLS": str(folder),
        "ASSAY_TEST_KERNELS": str(kernels),
        "ASSAY_TEST_FILES": str(files),
        "ASSAY_TEST_SECONDS": str(seconds),
        "ASSAY_TEST_LOG": str(folder / "compiled"),
    }


def compiled(folder: Path) -> list[int]:
    """The files that were compiled, in this order."""
    log = folder / "compiled"
    return [int(word) for word in log.read_text().split()] if log.exists() else []


if __name__ == "__main__":
    from assay.cli.app import main

    stand_in()
    main()
