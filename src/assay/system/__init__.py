"""The machine under test: its facts, and properties of it that disturb measurements."""

from assay.system.detect import detect
from assay.system.model import System

__all__ = ["System", "detect"]
