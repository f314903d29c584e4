"""HPL's input file for one matrix: the site's own file with other sizes, or a file with usual
settings.

Lines are known by their position (HPL's TUNING document). The output device, the numbers and values
of N and NB, and the process grids are replaced; all other lines are unchanged.
"""

from __future__ import annotations

from pathlib import Path

from assay.kernels.linpack import USUAL_NB
from assay.kernels.outside import HPL_INPUT

_USUAL = """\
HPLinpack benchmark input file
written by assay
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
0            Ns
1            # of NBs
0            NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
1            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""
_LINES = len(_USUAL.splitlines())
_DEVICE, _N, _NB, _GRID = 3, 4, 6, 9


def hpl_input(program: Path, n: int, nb: int, p: int, q: int) -> str:
    """The input for one matrix of order ``n`` on a grid of ``p`` × ``q`` ranks.

    With ``nb`` 0, the block size is the first one of the HPL.dat beside ``program``, or assay's if
    there is none.
    """
    lines = _own(program)
    block = nb or _first_number(lines[_NB + 1]) or USUAL_NB
    values = {_DEVICE: 6, _N: 1, _N + 1: n, _NB: 1, _NB + 1: block, _GRID: 1}
    values |= {_GRID + 1: p, _GRID + 2: q}
    for place, value in values.items():
        lines[place] = f"{value:<12} {_comment(lines[place])}".rstrip()
    return "\n".join(lines) + "\n"


def _own(program: Path) -> list[str]:
    """The lines of the site's HPL.dat; the usual lines if it is missing or too short."""
    try:
        lines = (program.parent / HPL_INPUT).read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    return lines if len(lines) >= _LINES else _USUAL.splitlines()


def _first_number(line: str) -> int:
    words = line.split()
    return int(words[0]) if words and words[0].isdecimal() else 0


def _comment(line: str) -> str:
    """The words after the values."""
    words = line.split()
    while words and words[0].lstrip("-").isdecimal():
        words.pop(0)
    return " ".join(words)
