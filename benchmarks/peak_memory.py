"""Runs a program as one rank and writes its peak memory.

    python -S peak_memory.py FOLDER PROGRAM [ARGUMENT …]

FOLDER gets one file per process, named after its pid, with the peak of its resident memory in
bytes. The exit status is the program's. Its start from this interpreter counts as some 10 MB.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    folder, *command = sys.argv[1:]
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    _, status, usage = os.wait4(child, 0)
    with open(os.path.join(folder, str(child)), "w") as file:  # noqa: PTH118, PTH123 - starts fast
        file.write(str(usage.ru_maxrss * 1024))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
