"""assay measures clusters and answers questions about them, with an uncertainty for each number.

The public interface in Python::

    import assay

    run = assay.open_run("runs/20260315T083012Z-box-quick")
    run.cells                        # a Polars frame: a row per metric of each cell
    run.answers["speed"].verdict     # as the report states it
    run.findings["speed"]            # the numbers behind it
    run.figures["stream"].svg()

``docs/python.md`` documents this interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.version import VERSION

if TYPE_CHECKING:
    from assay.api import StoredRun as StoredRun
    from assay.api import open_run as open_run
    from assay.api import open_runs as open_runs

__version__ = VERSION
__all__ = ["StoredRun", "__version__", "open_run", "open_runs"]


def __getattr__(name: str) -> object:
    """The public interface is imported on first use, since commands must start fast."""
    if name in __all__:
        import assay.api as api

        return getattr(api, name)
    raise AttributeError(f"module 'assay' has no attribute '{name}'")
