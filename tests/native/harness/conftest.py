"""Fixtures of the tests of the native harness."""

from native_launching import kernels, launch

__all__ = ["kernels", "launch"]
