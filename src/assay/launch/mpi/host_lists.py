"""The hosts of a launch as options of each launcher: a word, or a file if the word would be too
long.

Linux limits a word of a command line to 128 KiB (execve(2), MAX_ARG_STRLEN): about 4,500 names of
28 characters.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.launch.kept_script import kept_script

# Characters above which a list is a file: well below the limit, and readable in a log.
LONGEST = 16_384


def hydra_hosts(hosts: Sequence[str]) -> list[str]:
    """For the mpiexec of MPICH and Intel MPI: ``-hosts LIST``, or ``-f FILE``, a name per line."""
    return _list_or_file(["-hosts"], ",".join(hosts), ["-f"], hosts)


def open_mpi_hosts(hosts: Sequence[str], ppn: int) -> list[str]:
    """For mpirun(1) of Open MPI: ``--host NAME:SLOTS,…``, or ``--hostfile FILE``."""
    slots = ",".join(f"{_bracketed(host)}:{ppn}" for host in hosts)
    lines = [f"{host} slots={ppn}" for host in hosts]
    return _list_or_file(["--host"], slots, ["--hostfile"], lines)


def srun_hosts(hosts: Sequence[str]) -> list[str]:
    """For srun(1): ``--nodelist=``, whose value is a file's name if it contains a slash."""
    text = ",".join(hosts)
    if len(text) <= LONGEST:
        return [f"--nodelist={text}"]
    return [f"--nodelist={_file(hosts)}"]


def _list_or_file(
    option: list[str], text: str, file_option: list[str], lines: Sequence[str]
) -> list[str]:
    if len(text) <= LONGEST:
        return [*option, text]
    return [*file_option, _file(lines)]


def _file(lines: Sequence[str]) -> str:
    return str(kept_script("hosts", "hosts", "".join(f"{line}\n" for line in lines)))


def _bracketed(host: str) -> str:
    """Open MPI parses text after a colon as the number of slots, unless it is in brackets."""
    return f"[{host}]" if ":" in host else host
