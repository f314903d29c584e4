"""The version of assay, and the folder of its package.

Modules import both from here, since importing ``assay`` leads to the public interface, which
imports most of the package.
"""

from __future__ import annotations

from pathlib import Path

VERSION = "1.0.0"
PACKAGE = Path(__file__).resolve().parent
