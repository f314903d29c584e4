"""A vendor's library that compiles kernels, for a program of its own: some end their process.

The order is JSON on stdin: ``library``, ``prefix`` and ``code`` of its functions' names,
``options``, ``text``. The code goes to stdout. What the compiler says of errors goes to stderr,
with status 1. Without a text the version is printed.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any


class RuntimeCompiler:
    """NVRTC or HIPRTC."""

    def __init__(self, library: str, prefix: str, code: str) -> None:
        self.library, self.prefix, self.code = ctypes.CDLL(library), prefix, code

    def call(self, name: str, *arguments: Any) -> int:
        """The status of a function of the library."""
        return int(getattr(self.library, self.prefix + name)(*arguments))

    def version(self) -> str:
        """Such as 12.9."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("Version", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def compile(self, text: str, options: list[str]) -> tuple[bytes, str]:
        """Code and errors; one of them is empty."""
        program = ctypes.c_void_p()
        made = self.call(
            "CreateProgram", ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None
        )
        if made:
            return b"", f"status {made}"
        words = (ctypes.c_char_p * len(options))(*(word.encode() for word in options))
        if self.call("CompileProgram", program, len(options), words):
            return b"", self._bytes(program, "GetProgramLog").decode().strip("\0\n") or "failed"
        return self._bytes(program, f"Get{self.code}"), ""

    def _bytes(self, program: ctypes.c_void_p, name: str) -> bytes:
        size = ctypes.c_size_t()
        self.call(f"{name}Size", program, ctypes.byref(size))
        found = ctypes.create_string_buffer(max(size.value, 1))
        self.call(name, program, found)
        return found.raw[: size.value]


if __name__ == "__main__":
    order = json.load(sys.stdin)
    compiler = RuntimeCompiler(order["library"], order["prefix"], order["code"])
    if "text" not in order:
        sys.exit(print(compiler.version()))
    code, errors = compiler.compile(order["text"], order["options"])
    sys.stdout.buffer.write(code)
    sys.exit(errors or None)
