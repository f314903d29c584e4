"""Fixtures of the tests of the native harness."""

from launching import kernels, launch

__all__ = ["kernels", "launch"]
