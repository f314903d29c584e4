"""What makes a site's pages: a change of it rebuilds all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.version import VERSION

# Packages and templates whose content decides on pages, below the package.
_PARTS = (
    "report/site",
    "report/templates",
    "report/terms",
    "subjects/history",
    "subjects/nodes",
    "stats",
    "charts",
)
_SUFFIXES = {".toml", ".py", ".j2", ".css", ".js"}


def site_version() -> str:
    """The digest of the version, and of the templates and modules that make pages."""
    digest = hashlib.sha256(VERSION.encode())
    root = Path(__file__).parents[2]
    for part in _PARTS:
        for path in sorted((root / part).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file():
                digest.update(str(path.relative_to(root)).encode() + b"\0")
                digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
