"""Starting a module of this assay by Python without importing from the current folder.

``python -I isolated.py MODULE ARGUMENT …`` runs a module as ``python -m`` does. Commands of job
scripts and on other hosts run in the user's folder, which others may write to, and with whatever
PYTHONPATH the site's modules leave behind; an empty or relative entry of it means that folder. A
``random.py`` there would be imported in place of Python's. So Python starts isolated. Only then
does this module add the absolute entries of PYTHONPATH and the folder of this assay. The variable
itself is unchanged, for programs that are started from here.
"""

from __future__ import annotations

import os
import runpy
import site
import sys


def python_words(module: str, *words: str) -> tuple[str, ...]:
    """The command that runs a module of assay with its arguments, here or on another host."""
    return (sys.executable, "-I", os.path.abspath(__file__), module, *words)  # noqa: PTH100


def _complete_path(path: str) -> None:
    """Add to ``sys.path`` the entries that isolation leaves out and that are safe."""
    added = [entry for entry in path.split(os.pathsep) if entry.startswith("/")]
    sys.path[:0] = [entry for entry in added if entry not in sys.path]
    plain = sys.prefix == sys.base_prefix  # virtual environments have no packages of the user
    if plain and not os.environ.get("PYTHONNOUSERSITE"):
        own = site.getusersitepackages()
        if os.path.isdir(own):  # noqa: PTH112
            site.addsitedir(own)
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # noqa: PTH120
    if folder not in map(os.path.realpath, sys.path):
        sys.path.append(folder)


if __name__ == "__main__":
    _complete_path(os.environ.get("PYTHONPATH", ""))
    sys.argv[:] = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
