"""The machine under test: what it is, and what about it will hurt a measurement."""

from assay.system.detect import detect
from assay.system.model import System

__all__ = ["System", "detect"]
